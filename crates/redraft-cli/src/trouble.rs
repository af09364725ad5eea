//! What a command says when something goes wrong: what happened, the code to look up, the next thing to type; and the
//! exit code that programs go by.

use std::io::Write;
use std::process::ExitCode;

use redraft::Failure;

/// What an exit code means. The table is in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Accepted, or done.
    Done = 0,
    /// Ran to its end; no draft was accepted.
    NotAccepted = 1,
    /// The command was typed wrong.
    Usage = 2,
    /// Configuration, spec or credentials.
    Configuration = 3,
    /// A provider or the network failed after retries.
    Provider = 4,
    /// Budget or time is spent.
    Spent = 5,
    /// A person is waited for.
    Waiting = 6,
    /// The journal cannot be replayed.
    Journal = 7,
    /// A bug in redraft.
    Bug = 70,
    /// Somebody stopped it; it can be resumed.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) exit: Exit,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Trouble {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, code: None, message: message.into(), hint: None }
    }

    pub(crate) fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says it to standard error, and returns what the program ends with.
    pub(crate) fn report(self) -> ExitCode {
        let mut err = std::io::stderr();
        let code = self.code.map(|code| format!(" [{code}]")).unwrap_or_default();
        let _ = writeln!(err, "error{code}: {}", self.message);
        if let Some(hint) = self.hint {
            let _ = writeln!(err, "  next: {hint}");
        }
        self.exit.into()
    }
}

impl From<redraft::Error> for Trouble {
    fn from(error: redraft::Error) -> Self {
        let exit = match error.code() {
            "diverged" | "definition-changed" => Exit::Journal,
            code if code.starts_with("journal-") => Exit::Journal,
            "run-not-found" | "no-such-gate" | "run-ended" => Exit::Usage,
            _ => Exit::Configuration,
        };
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            message.push_str(&format!(": {source}"));
            cause = source.source();
        }
        Self { exit, code: Some(error.code().to_owned()), message, hint: error.hint() }
    }
}

impl From<redraft::store::Error> for Trouble {
    fn from(error: redraft::store::Error) -> Self {
        redraft::Error::from(error).into()
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let exit = match failure.code.as_str() {
            "model-authentication" | "model-not-found" | "unknown-provider" | "price-unknown" => {
                Exit::Configuration
            }
            code if code.starts_with("template-") || code.starts_with("bad-") => Exit::Configuration,
            code if code.starts_with("model-") => Exit::Provider,
            "budget-spent" => Exit::Spent,
            _ => Exit::NotAccepted,
        };
        Self { exit, code: Some(failure.code), message: failure.message, hint: failure.hint }
    }
}
