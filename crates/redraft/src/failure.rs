//! What a step says when it could not do its work, in the one form that the journal keeps.
//!
//! An error type says by [`Fault`] what it is and whether to try again; the engine never reads messages to decide.
//! A [`Failure`] is what remains of it: it is journaled, replayed to the workflow, and shown.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::Path;

/// Whether the same call may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// Trying again cannot help.
    #[default]
    Never,
    /// Try again after the pause that the step's policy sets.
    Backoff,
    /// Try again, but not before this much time has passed (a server's `Retry-After`).
    After(Duration),
}

/// An error that can say what it is.
///
/// Implement it for your error type and `?` works inside a step:
///
/// ```
/// use redraft::{Fault, Retry};
///
/// #[derive(Debug, thiserror::Error)]
/// enum PressError {
///     #[error("the press is out of paper")]
///     OutOfPaper,
///     #[error("the press is busy")]
///     Busy,
/// }
///
/// impl Fault for PressError {
///     fn code(&self) -> &str {
///         match self {
///             PressError::OutOfPaper => "out-of-paper",
///             PressError::Busy => "press-busy",
///         }
///     }
///     fn retry(&self) -> Retry {
///         match self {
///             PressError::OutOfPaper => Retry::Never,
///             PressError::Busy => Retry::Backoff,
///         }
///     }
/// }
/// ```
pub trait Fault: std::error::Error {
    /// Names the kind of error: stable, kebab-case.
    fn code(&self) -> &str;

    /// Says whether the same call may be tried again.
    fn retry(&self) -> Retry {
        Retry::Never
    }

    /// Says what to do next, as a command where there is one.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// Why a step, a gate or a whole run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure: stable, kebab-case.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// What to do next, where the error knew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The step that failed; several if a group failed as a whole. Empty for a failure outside any step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<Path>,
    /// Anything a program may want to know about the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<Value>>,
    /// Whether the same call may be tried again. Spent once the engine has decided, so it is not kept.
    #[serde(skip)]
    pub retry: Retry,
}

impl Failure {
    /// The code of a failure that says: this run was asked to stop.
    pub const CANCELLED: &'static str = "cancelled";

    /// Makes a failure that is not to be tried again.
    #[must_use]
    pub fn terminal(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            hint: None,
            at: Vec::new(),
            detail: None,
            retry: Retry::Never,
        }
    }

    /// Makes a failure that may pass: the step's policy decides when to try again.
    #[must_use]
    pub fn passing(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { retry: Retry::Backoff, ..Self::terminal(code, message) }
    }

    /// Adds the next thing to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what a program may want to know.
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = Some(Box::new(detail));
        self
    }

    /// Says when to try again.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Says which failure is behind this one, so that its steps are tried again when the run is resumed.
    #[must_use]
    pub fn because(mut self, cause: &Self) -> Self {
        self.at.extend(cause.at.iter().cloned());
        self
    }

    /// Says whether the work stopped because someone asked for it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.code == Self::CANCELLED
    }

    /// Turns the results of a parallel group into one: all values, or one failure that names every step that failed,
    /// so that all of them are tried again when the run is resumed.
    ///
    /// # Errors
    /// The first failure, with the places of the others.
    pub fn gather<T>(results: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let mut values = Vec::new();
        let mut failed: Option<Self> = None;
        for result in results {
            match (result, &mut failed) {
                (Ok(value), _) => values.push(value),
                (Err(failure), Some(first)) => first.at.extend(failure.at),
                (Err(failure), None) => failed = Some(failure),
            }
        }
        failed.map_or(Ok(values), Err)
    }

    pub(crate) fn cancelled(reason: &str) -> Self {
        Self::terminal(Self::CANCELLED, format!("the run was cancelled: {reason}"))
    }

    /// Returns the failure as every replay will give it: nothing is left to decide, and the detail can be read back.
    pub(crate) fn settled(mut self) -> Self {
        self.retry = Retry::Never;
        self.detail = self
            .detail
            .map(|detail| if is_deep(&detail) { Box::new(Value::from(detail.to_string())) } else { detail });
        self
    }

    pub(crate) fn at(mut self, path: &Path) -> Self {
        if self.at.is_empty() {
            self.at.push(path.clone());
        }
        self
    }
}

/// JSON that is nested deeper than this is not kept as such: it could not be read back from inside an event.
const DEEPEST: usize = 64;

/// Says whether a value is nested too deeply to be kept inside an event.
pub(crate) fn is_deep(value: &Value) -> bool {
    fn deeper_than(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(_) | Value::Object(_) if levels == 0 => true,
            Value::Array(items) => items.iter().any(|item| deeper_than(item, levels - 1)),
            Value::Object(entries) => entries.values().any(|item| deeper_than(item, levels - 1)),
            _ => false,
        }
    }
    deeper_than(value, DEEPEST)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.first() {
            Some(path) => write!(f, "`{path}`: {} ({})", self.message, self.code),
            None => write!(f, "{} ({})", self.message, self.code),
        }
    }
}

impl std::error::Error for Failure {}

impl<E: Fault> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(source) = cause {
            message.push_str(": ");
            message.push_str(&source.to_string());
            cause = source.source();
        }
        Self { hint: error.hint(), retry: error.retry(), ..Self::terminal(error.code().to_owned(), message) }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::terminal("failed", message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::terminal("failed", message)
    }
}

impl Fault for std::io::Error {
    fn code(&self) -> &str {
        "io"
    }

    fn retry(&self) -> Retry {
        use std::io::ErrorKind as Kind;
        match self.kind() {
            Kind::Interrupted | Kind::TimedOut | Kind::ConnectionReset | Kind::ConnectionRefused => {
                Retry::Backoff
            }
            _ => Retry::Never,
        }
    }
}

impl Fault for serde_json::Error {
    fn code(&self) -> &str {
        "json"
    }
}

impl Fault for std::convert::Infallible {
    fn code(&self) -> &str {
        "impossible"
    }
}
