//! What can go wrong with a model, sorted by whose fault it is and whether to try again.

use std::time::Duration;

use super::{BudgetError, Usage};
use crate::failure::{Fault, Retry};

/// A call that gave no completion.
///
/// No variant holds a key, a header or a whole request: what is shown and journaled is what stands here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is missing, wrong or not allowed to do this.
    #[error("`{model}` did not accept the key: {message}")]
    Authentication {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
        /// Where the key is looked for.
        key: &'static str,
    },
    /// There is no such model.
    #[error("there is no model `{model}`: {message}")]
    NotFound {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
    },
    /// Too many requests.
    #[error("`{model}` takes no more requests for now: {message}")]
    RateLimited {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The provider is overloaded or broken.
    #[error("`{model}` is overloaded or broken (status {status}): {message}")]
    Overloaded {
        /// The model.
        model: String,
        /// The status of the response.
        status: u16,
        /// The provider's words.
        message: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The conversation is longer than the model can read.
    #[error("the request is longer than `{model}` can read: {message}")]
    ContextTooLong {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
    },
    /// The provider's policy forbids the request or the answer.
    #[error("`{model}` refused: {message}")]
    Refused {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
    },
    /// The provider does not understand the request.
    #[error("`{model}` did not understand the request: {message}")]
    BadRequest {
        /// The model.
        model: String,
        /// The provider's words.
        message: String,
    },
    /// The answer cannot be read, is empty, or is not what was asked for.
    #[error("the answer of `{model}` cannot be used: {message}")]
    Malformed {
        /// The model.
        model: String,
        /// What is wrong with it.
        message: String,
        /// What it cost all the same, if the provider said so.
        usage: Option<Usage>,
    },
    /// The stream ended before the answer did.
    #[error("the answer of `{model}` broke off: {message}")]
    Truncated {
        /// The model.
        model: String,
        /// What is missing.
        message: String,
    },
    /// No answer in time.
    #[error("`{model}` did not answer within {after:?}")]
    Timeout {
        /// The model.
        model: String,
        /// How long was waited.
        after: Duration,
    },
    /// The provider could not be reached.
    #[error("`{model}` could not be reached: {message}")]
    Network {
        /// The model.
        model: String,
        /// What went wrong.
        message: String,
    },
    /// The budget does not allow the call; it was not made.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The recording does not hold this request.
    #[error("the recording of `{model}` does not hold this request")]
    NotRecorded {
        /// The model.
        model: String,
    },
    /// The file of a recording cannot be used.
    #[error("the recording of `{model}` cannot be used: {reason}")]
    Cassette {
        /// The model.
        model: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A model inside the process broke while it answered.
    #[error("`{model}` broke while it answered: {message}")]
    Local {
        /// The model.
        model: String,
        /// What broke.
        message: String,
    },
    /// The script of a scripted model has come to its end.
    #[error("the script of `{model}` has no answer number {turn}")]
    ScriptOver {
        /// The model.
        model: String,
        /// Which answer was asked for, counted from 1.
        turn: usize,
    },
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::Authentication { .. } => "model-authentication",
            Self::NotFound { .. } => "model-not-found",
            Self::RateLimited { .. } => "model-rate-limited",
            Self::Overloaded { .. } => "model-overloaded",
            Self::ContextTooLong { .. } => "model-context-too-long",
            Self::Refused { .. } => "model-refused",
            Self::BadRequest { .. } => "model-bad-request",
            Self::Malformed { .. } => "model-malformed",
            Self::Truncated { .. } => "model-truncated",
            Self::Timeout { .. } => "model-timeout",
            Self::Network { .. } => "model-network",
            Self::Budget(error) => error.code(),
            Self::NotRecorded { .. } => "model-not-recorded",
            Self::Cassette { .. } => "model-cassette",
            Self::Local { .. } => "model-local",
            Self::ScriptOver { .. } => "model-script-over",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                retry_after.map_or(Retry::Backoff, Retry::After)
            }
            Self::Malformed { .. } | Self::Truncated { .. } | Self::Timeout { .. } | Self::Network { .. } => {
                Retry::Backoff
            }
            Self::Authentication { .. }
            | Self::NotFound { .. }
            | Self::ContextTooLong { .. }
            | Self::Refused { .. }
            | Self::BadRequest { .. }
            | Self::Budget(_)
            | Self::NotRecorded { .. }
            | Self::Cassette { .. }
            | Self::Local { .. }
            | Self::ScriptOver { .. } => Retry::Never,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Authentication { key, .. } => format!("set {key}, and see what is set: redraft doctor"),
            Self::NotFound { .. } => "see which models there are: redraft models".to_owned(),
            Self::ContextTooLong { .. } => {
                "shorten the prompt, or take a model with a longer context".to_owned()
            }
            Self::Budget(error) => return error.hint(),
            Self::Network { .. } => "see whether it can be reached: redraft doctor".to_owned(),
            _ => return None,
        })
    }
}
