//! Asking a model through a [`Ctx`]: as a step, paid from the budget of the scope, heard by whoever listens.

use std::fmt;
use std::sync::Arc;

use super::metered::pay_for;
use super::{Budget, Completion, Error, Finish, Listener, Model, PriceTable, Request};
use crate::failure::Failure;
use crate::path::Path;
use crate::run::{Call, Ctx, Step};

/// Somebody who wants to hear what models say inside a run while they say it.
pub trait Audience: Send + Sync + 'static {
    /// Takes the next piece of what is said at a step.
    fn hear(&self, step: &Path, piece: &str);
}

/// What goes along with a `Ctx` for everybody who asks a model through it.
#[derive(Clone, Default)]
struct Around {
    purse: Option<(Budget, PriceTable)>,
    audience: Option<Arc<dyn Audience>>,
}

impl fmt::Debug for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").field("purse", &self.purse).finish_non_exhaustive()
    }
}

impl Ctx {
    /// Returns a `Ctx` for the same place in which every call through [`say`] and [`ask`](super::ask) is paid from
    /// `budget`. A model that pays for itself ([`Metered`](super::Metered)) would be paid twice there.
    #[must_use]
    pub fn paying(&self, budget: Budget, prices: PriceTable) -> Self {
        let around = self.carried::<Around>().cloned().unwrap_or_default();
        self.carrying(Around { purse: Some((budget, prices)), ..around })
    }

    /// Returns the budget that pays for calls here, if one does.
    #[must_use]
    pub fn purse(&self) -> Option<&Budget> {
        self.carried::<Around>()?.purse.as_ref().map(|(budget, _)| budget)
    }

    /// Returns a `Ctx` for the same place in which somebody hears what models say.
    #[must_use]
    pub fn heard_by(&self, audience: Arc<dyn Audience>) -> Self {
        let around = self.carried::<Around>().cloned().unwrap_or_default();
        self.carrying(Around { audience: Some(audience), ..around })
    }
}

/// Asks a model, inside a run: once, and remembered. An answer that was cut off at the most it may write counts as one.
///
/// # Errors
/// Gives the failure of the model after the step's attempts; an empty answer is `model-malformed`.
pub async fn say(ctx: &Ctx, name: &str, model: &dyn Model, request: &Request) -> Result<Completion, Failure> {
    let step = Step::named(name.to_owned()).input(&model.name()).input(&model.tuned(request));
    let mut replayed = true;
    let answered = ctx
        .step_with(step, |call| {
            replayed = false;
            async move {
                let completion = call_model(ctx, &call, model, request).await?;
                if completion.text.trim().is_empty() && completion.calls.is_empty() {
                    return Err(Failure::from(Error::Malformed {
                        model: model.name().to_owned(),
                        message: match completion.finish {
                            Finish::Length => {
                                "it wrote nothing before it reached the most it may write".to_owned()
                            }
                            _ => "the answer is empty".to_owned(),
                        },
                        usage: Some(completion.usage),
                    }));
                }
                Ok(completion)
            }
        })
        .await;
    if let (true, Ok(completion)) = (replayed, &answered) {
        model.recall(Some(completion));
    }
    answered
}

/// Makes one call, for one attempt at a step.
pub(super) async fn call_model(
    ctx: &Ctx,
    call: &Call,
    model: &dyn Model,
    request: &Request,
) -> Result<Completion, Error> {
    let request = &Request { idempotency_key: Some(call.idempotency_key()), ..request.clone() };
    let Around { purse, audience } = ctx.carried::<Around>().cloned().unwrap_or_default();
    let mut listener = Relay { audience, step: &call.path };
    match purse {
        Some((budget, prices)) => pay_for(model, request, &mut listener, &budget, &prices).await,
        None => model.answer(request, &mut listener).await,
    }
}

struct Relay<'a> {
    audience: Option<Arc<dyn Audience>>,
    step: &'a Path,
}

impl Listener for Relay<'_> {
    fn hear(&mut self, piece: &str) {
        if let Some(audience) = &self.audience {
            audience.hear(self.step, piece);
        }
    }

    fn is_listening(&self) -> bool {
        self.audience.is_some()
    }
}
