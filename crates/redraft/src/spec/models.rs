//! Models as a spec names them, and who makes them. The library reads no environment: a [`Makers`] does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::Amount;
use crate::failure::Failure;
use crate::llm::{
    Answering, Completion, Error, Listener, Model, Player, Price, Request, Scripted, Tuned, Tuning, Turn,
    Usage,
};
use crate::sandbox::Environment;

/// A model as a spec describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ModelSetting {
    /// `provider:model`.
    Name(#[schemars(length(min = 1))] String),
    /// With settings.
    Table(Box<ModelTable>),
}

/// A model with settings. It is one of `model`, `scripted` and `cassette`; a cassette plays `model`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ModelTable {
    /// `provider:model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Answers that are known in advance, for tests and dry runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scripted: Option<Vec<Answer>>,
    /// A file of recorded answers that is played in the place of `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cassette: Option<String>,
    /// Whether answers are recorded into the cassette instead of played from it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub record: bool,
    /// How much is left to chance.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Asks for the same answer to the same request, where a provider can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The most it may write in one answer, in tokens.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// What it is told before anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What it costs, where the list of prices is wrong or silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceSetting>,
    /// Where its key is kept: `${NAME_OF_A_VARIABLE}`. Never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where the provider listens: an address, or `${NAME_OF_A_VARIABLE}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

/// What a model costs, per million tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PriceSetting {
    /// For what it reads.
    pub input: Amount,
    /// For what it writes.
    pub output: Amount,
    /// For what it reads from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Amount>,
}

/// One answer of a scripted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// Its words.
    Text(String),
    /// More than words.
    Table(Box<AnswerTable>),
}

/// One answer of a scripted model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AnswerTable {
    /// Its words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolUse>,
    /// What it costs; otherwise a word is a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageSetting>,
    /// Fails with these words, as a service that is overloaded does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// What it is called with.
    #[serde(default)]
    pub arguments: Value,
}

/// How many tokens an answer costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UsageSetting {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// How to reach the provider of a model, where a spec says it. References to variables are as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// The name of the variable that holds the key.
    pub key_variable: Option<String>,
    /// The address, or the name of a variable as `${NAME}`.
    pub base_url: Option<String>,
}

/// Makes what a spec names and the library cannot make alone: it knows the keys and the machine.
pub trait Makers: Send + Sync + 'static {
    /// Makes the model called `name`, which is `provider:model`.
    ///
    /// # Errors
    /// If there is no such provider, or its key is missing.
    fn model(&self, name: &str, reach: &Reach) -> Result<Arc<dyn Model>, Failure>;

    /// Returns the environment in which programs that judge are looked for; an empty one if nothing is said.
    fn environment(&self) -> Environment {
        Environment::new::<&str, &str>([])
    }
}

/// Knows scripted and recorded models only, which need nobody to make them: for tests and dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptedOnly;

impl Makers for ScriptedOnly {
    fn model(&self, name: &str, _: &Reach) -> Result<Arc<dyn Model>, Failure> {
        Err(Failure::terminal("unknown-provider", format!("nobody here can make `{name}`")))
    }
}

/// A scripted model that goes on after what it said in an earlier life of the run: every life makes its models anew.
#[derive(Debug)]
struct Canned {
    name: String,
    alias: String,
    answers: Vec<Answer>,
    /// How many were given.
    given: Mutex<usize>,
}

impl Canned {
    fn new(alias: &str, answers: &[Answer]) -> Self {
        let name = format!("scripted:{alias}");
        Self { name, alias: alias.to_owned(), answers: answers.to_vec(), given: Mutex::default() }
    }
}

impl Model for Canned {
    fn name(&self) -> &str {
        &self.name
    }

    fn recall(&self, answer: Option<&Completion>) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        // Attempts that failed are not recalled, so what comes before the answer is passed over.
        let said = |canned: &Answer| answer.is_some_and(|answer| canned.text() == answer.text);
        let passed = self.answers.iter().skip(*given).position(said).unwrap_or(0);
        *given += passed + 1;
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        let turn = {
            let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
            *given += 1;
            *given
        };
        Box::pin(async move {
            let answer = self.answers.get(turn - 1);
            let over = || Error::ScriptOver { model: self.name.clone(), turn };
            let scripted = Scripted::new(&self.alias, [answer.ok_or_else(over)?.turn(&self.alias)]);
            scripted.answer(request, listener).await
        })
    }
}

/// A model that is only named: for looking at a spec without making anything.
#[derive(Clone)]
pub(super) struct Unmade(pub(super) Arc<str>);

impl Model for Unmade {
    fn name(&self) -> &str {
        &self.0
    }

    fn answer<'a>(&'a self, _: &'a Request, _: &'a mut dyn Listener) -> Answering<'a> {
        let message = "it was named and not made".to_owned();
        Box::pin(async move { Err(Error::BadRequest { model: self.0.to_string(), message }) })
    }
}

/// Makes models that are only named.
pub(super) struct Named;

impl Makers for Named {
    fn model(&self, name: &str, _: &Reach) -> Result<Arc<dyn Model>, Failure> {
        Ok(Arc::new(Unmade(name.into())))
    }
}

impl fmt::Debug for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unmade").field(&self.0).finish()
    }
}

impl ModelSetting {
    /// Returns what the model is called by everywhere else: `provider:model`.
    #[must_use]
    pub fn name(&self, alias: &str) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Table(table) => table.model.clone().unwrap_or_else(|| format!("scripted:{alias}")),
        }
    }

    /// Makes the model.
    pub(super) fn make(&self, alias: &str, makers: &dyn Makers) -> Result<Arc<dyn Model>, Failure> {
        let table = match self {
            Self::Name(name) => return makers.model(name, &Reach::default()),
            Self::Table(table) => table,
        };
        let name = self.name(alias);
        let model: Arc<dyn Model> = match (&table.scripted, &table.cassette) {
            (Some(answers), _) => Arc::new(Canned::new(alias, answers)),
            (None, Some(path)) if !table.record => Arc::new(Player::new(&name, path)?),
            (None, Some(path)) => {
                let model = makers.model(&name, &table.reach())?;
                let recorder = crate::llm::Recorder::new(model, path);
                Arc::new(recorder.map_err(|error| Error::Cassette {
                    model: name.clone(),
                    reason: format!("`{path}` cannot be written: {error}"),
                })?)
            }
            (None, None) => makers.model(&name, &table.reach())?,
        };
        let tuning = Tuning {
            temperature: table.temperature,
            seed: table.seed,
            max_output_tokens: table.max_output_tokens,
            system: table.system.clone(),
        };
        Ok(if tuning == Tuning::default() { model } else { Arc::new(Tuned::new(model, tuning)) })
    }

    /// Returns the price that the spec gives it. Amounts that cannot be read were refused before.
    pub(super) fn price(&self) -> Option<Price> {
        let Self::Table(table) = self else { return None };
        let price = table.price.as_ref()?;
        let made = Price::per_million(price.input.0.parse().ok()?, price.output.0.parse().ok()?);
        Some(match &price.cached {
            Some(cached) => made.cached(cached.0.parse().ok()?),
            None => made,
        })
    }
}

impl ModelTable {
    fn reach(&self) -> Reach {
        let key_variable = self.key.as_deref().and_then(variable).map(str::to_owned);
        Reach { key_variable, base_url: self.base_url.clone() }
    }
}

/// Returns the name in `${NAME}`.
pub(super) fn variable(reference: &str) -> Option<&str> {
    let name = reference.trim().strip_prefix("${")?.strip_suffix('}')?;
    let good = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    good.then_some(name)
}

impl Answer {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Table(table) => &table.text,
        }
    }

    fn turn(&self, alias: &str) -> Turn {
        let table = match self {
            Self::Text(text) => return Turn::text(text),
            Self::Table(table) => table,
        };
        let mut turn = match &table.error {
            Some(message) => Turn::error(Error::Overloaded {
                model: format!("scripted:{alias}"),
                status: 503,
                message: message.clone(),
                retry_after: None,
            }),
            None => Turn::text(&table.text),
        };
        for call in &table.calls {
            turn = turn.and_call(&call.name, call.arguments.clone());
        }
        if let Some(usage) = table.usage {
            turn = turn.usage(Usage::new(usage.input, usage.output));
        }
        turn.after(Duration::from_millis(table.delay_ms.unwrap_or(0)))
    }
}
