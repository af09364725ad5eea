//! A model with settings of its own, for whoever asks without saying.

use serde::{Deserialize, Serialize};

use super::{Answering, Completion, Listener, Model, Request};

/// How a model is to be asked, where a request does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Tuning {
    /// How much is left to chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Asks for the same answer to the same request, where a provider can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The most it may write in one answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// What it is told before anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// A model that is asked with a [`Tuning`].
#[derive(Clone, Debug)]
pub struct Tuned<M> {
    model: M,
    tuning: Tuning,
}

impl<M: Model> Tuned<M> {
    /// Gives a model settings of its own.
    pub fn new(model: M, tuning: Tuning) -> Self {
        Self { model, tuning }
    }
}

impl Tuning {
    /// Returns the request as it is to be made.
    #[must_use]
    pub fn apply(&self, request: &Request) -> Request {
        let mut request = request.clone();
        request.temperature = request.temperature.or(self.temperature);
        request.seed = match (request.seed, self.seed) {
            // Candidates ask with different seeds on purpose.
            (Some(asked), Some(own)) => Some(own.wrapping_add(asked)),
            (asked, own) => asked.or(own),
        };
        if let Some(most) = self.max_output_tokens {
            request.max_output_tokens = most;
        }
        request.system = match (self.system.clone(), request.system.take()) {
            (Some(first), Some(then)) => Some(format!("{first}\n\n{then}")),
            (first, then) => first.or(then),
        };
        request
    }
}

impl<M: Model> Model for Tuned<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn takes_schemas(&self) -> bool {
        self.model.takes_schemas()
    }

    fn tuned(&self, request: &Request) -> Request {
        self.model.tuned(&self.tuning.apply(request))
    }

    fn recall(&self, answer: Option<&Completion>) {
        self.model.recall(answer);
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move { self.model.answer(&self.tuning.apply(request), listener).await })
    }
}
