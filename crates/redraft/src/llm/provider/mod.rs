//! Models behind HTTP: OpenAI and everything that speaks its language, Anthropic, Gemini.
//!
//! [`Provider`] is a connection with a key and limits; [`Provider::model`] gives a [`Model`] of it. What each service
//! wants to hear and what it answers are pure functions in `openai`, `anthropic` and `gemini`; `http` moves the bytes
//! and gives errors their type. Why not a client crate: `docs/decisions/0006-own-wire-adapters.md`.
//!
//! The library reads no environment: whoever builds a provider hands over the key. [`KNOWN`] says which variables
//! people keep it in.

mod anthropic;
mod gemini;
mod http;
mod limits;
mod openai;
mod sse;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::http::Connection;
use self::limits::Limits;
use self::wire::Wire;
use super::{Answering, Listener, Model, Request};
use crate::suggest;

/// A service that we know how to speak to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Known {
    /// What stands before the colon in `provider:model`.
    pub name: &'static str,
    /// Where it listens.
    pub base_url: &'static str,
    /// The environment variable that people set to reach another place that speaks the same language.
    pub base_url_variable: &'static str,
    /// The environment variable that people keep its key in; nothing for services on this machine.
    pub key_variable: Option<&'static str>,
    language: Language,
}

impl Known {
    /// Says whether its models can be held to a schema.
    fn takes_schemas(self) -> bool {
        self.language != Language::OpenAiWithoutSchemas
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    OpenAi,
    /// OpenAI's language as others speak it, without its latest words.
    OpenAiLike,
    /// The same, without schemas for answers.
    OpenAiWithoutSchemas,
    Anthropic,
    Gemini,
}

const fn known(
    name: &'static str,
    base_url: &'static str,
    base_url_variable: &'static str,
    key_variable: Option<&'static str>,
    language: Language,
) -> Known {
    Known { name, base_url, base_url_variable, key_variable, language }
}

/// Every service that can be named without a base URL. A new one that speaks a known language is one line.
#[rustfmt::skip]
pub const KNOWN: &[Known] = &[
    known("openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", Some("OPENAI_API_KEY"), Language::OpenAi),
    known("anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", Some("ANTHROPIC_API_KEY"), Language::Anthropic),
    known("gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_BASE_URL", Some("GEMINI_API_KEY"), Language::Gemini),
    known("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", Some("OPENROUTER_API_KEY"), Language::OpenAiLike),
    known("groq", "https://api.groq.com/openai/v1", "GROQ_BASE_URL", Some("GROQ_API_KEY"), Language::OpenAiWithoutSchemas),
    known("mistral", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL", Some("MISTRAL_API_KEY"), Language::OpenAiLike),
    known("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL", Some("DEEPSEEK_API_KEY"), Language::OpenAiWithoutSchemas),
    known("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL", None, Language::OpenAiLike),
    known("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", None, Language::OpenAiLike),
    known("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL", None, Language::OpenAiLike),
    known("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", Some("VLLM_API_KEY"), Language::OpenAiLike),
];

/// A provider that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// We do not know it.
    #[error("there is no provider `{name}`{}", did_you_mean.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// One that looks like it.
        did_you_mean: Option<String>,
    },
    /// The key or the base URL cannot be sent as it is.
    #[error("the {what} of `{provider}` cannot be used: {reason}")]
    Unusable {
        /// The provider.
        provider: String,
        /// `key` or `base URL`.
        what: &'static str,
        /// Why; never the value.
        reason: String,
    },
}

impl SetupError {
    /// Returns the stable code of this error, see [`explain`](crate::explain).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown-provider",
            Self::Unusable { .. } => "provider-unusable",
        }
    }
}

/// A secret. It is sent and never shown.
#[derive(Clone)]
pub struct Key(Arc<str>);

impl Key {
    /// Takes a secret, without the white space that pasting adds.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// How a provider is to be reached.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Where it listens, if not where it usually does.
    pub base_url: Option<String>,
    /// The key.
    pub key: Option<Key>,
    /// How long a whole answer may take.
    pub timeout: Duration,
    /// The largest answer that is read, in bytes.
    pub max_response: usize,
    /// How many requests may be under way at once, over all runs and models.
    pub concurrency: usize,
    /// How many requests may begin in a minute, over all runs and models.
    pub per_minute: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            timeout: Duration::from_secs(300),
            max_response: 32 << 20,
            concurrency: 32,
            per_minute: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may hold a password, so what stands before the host is left out.
        let base_url = self.base_url.as_deref().map(|url| url.rsplit_once('@').map_or(url, |(_, host)| host));
        f.debug_struct("Settings")
            .field("base_url", &base_url)
            .field("key", &self.key)
            .field("timeout", &self.timeout)
            .field("max_response", &self.max_response)
            .field("concurrency", &self.concurrency)
            .field("per_minute", &self.per_minute)
            .finish()
    }
}

/// A connection to a service, shared by all its models. Cheap to clone.
#[derive(Clone)]
pub struct Provider {
    known: Known,
    connection: Arc<Connection>,
}

impl Provider {
    /// Connects to the service called `name`; nothing is sent yet.
    ///
    /// # Errors
    /// If we do not know it, or the key or the base URL cannot be used.
    pub fn new(name: &str, settings: Settings) -> Result<Self, SetupError> {
        let Some(known) = KNOWN.iter().find(|known| known.name == name).copied() else {
            let did_you_mean = suggest::nearest(name, KNOWN.iter().map(|known| known.name));
            return Err(SetupError::Unknown { name: name.to_owned(), did_you_mean });
        };
        let wire: &'static dyn Wire = match known.language {
            Language::OpenAi => &openai::OpenAi { latest: true },
            Language::OpenAiLike | Language::OpenAiWithoutSchemas => &openai::OpenAi { latest: false },
            Language::Anthropic => &anthropic::Anthropic,
            Language::Gemini => &gemini::Gemini,
        };
        let limits = Limits::new(settings.concurrency, settings.per_minute);
        let connection = Connection::new(known, wire, settings, limits)?;
        Ok(Self { known, connection: Arc::new(connection) })
    }

    /// Returns one of its models.
    #[must_use]
    pub fn model(&self, model: &str) -> ProviderModel {
        ProviderModel {
            name: format!("{}:{model}", self.known.name).into(),
            model: model.into(),
            takes_schemas: self.known.takes_schemas(),
            connection: Arc::clone(&self.connection),
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("name", &self.known.name).finish_non_exhaustive()
    }
}

/// A model of a provider; made by [`Provider::model`].
#[derive(Clone)]
pub struct ProviderModel {
    name: Arc<str>,
    model: Arc<str>,
    takes_schemas: bool,
    connection: Arc<Connection>,
}

impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn takes_schemas(&self) -> bool {
        self.takes_schemas
    }

    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(self.connection.ask(&self.name, &self.model, request, listener))
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderModel").field("name", &self.name).finish_non_exhaustive()
    }
}
