//! What a command says when something goes wrong: what happened, the code to look up, the next thing to type; and the
//! exit code that programs go by.

use std::io::Write;
use std::process::ExitCode;

use redraft::{Failure, Fault};

use crate::terminal::{ColorChoice, tame, tame_painted};

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
    /// What is shown in the place of the message: mistakes with the lines they stand on.
    pub(crate) shown: Option<String>,
}

impl Trouble {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, code: None, message: message.into(), hint: None, shown: None }
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
        match &self.shown {
            Some(shown) => {
                let _ = write!(err, "{}", tame_painted(shown));
            }
            None => {
                let code = self.code.map(|code| format!(" [{code}]")).unwrap_or_default();
                let _ = writeln!(err, "error{code}: {}", tame(&self.message));
            }
        }
        if let Some(hint) = self.hint {
            let _ = writeln!(err, "  next: {}", tame(&hint));
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
        Self { exit, code: Some(error.code().to_owned()), message, hint: error.hint(), shown: None }
    }
}

impl From<redraft::store::Error> for Trouble {
    fn from(error: redraft::store::Error) -> Self {
        redraft::Error::from(error).into()
    }
}

impl From<redraft::spec::Error> for Trouble {
    fn from(error: redraft::spec::Error) -> Self {
        let mut message = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            message.push_str(&format!(": {source}"));
        }
        let is_mistake = !error.diagnostics().is_empty();
        let shown = is_mistake.then(|| error.render(ColorChoice::default().wanted(&std::io::stderr())));
        let hint = if is_mistake { None } else { error.hint() };
        Self { exit: Exit::Configuration, code: Some(error.code().to_owned()), message, hint, shown }
    }
}

/// How the codes of failures begin that no second try will heal.
const OF_CONFIGURATION: [&str; 8] =
    ["template-", "bad-", "spec-", "sql-", "sandbox-", "program-", "scratch-", "local-"];

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let exit = match failure.code.as_str() {
            "model-authentication" | "model-not-found" | "model-script-over" | "unknown-provider" => {
                Exit::Configuration
            }
            "price-unknown" | "provider-unusable" | "no-criteria" | "needs-evidence" => Exit::Configuration,
            code if OF_CONFIGURATION.iter().any(|prefix| code.starts_with(prefix)) => Exit::Configuration,
            code if code.starts_with("model-") => Exit::Provider,
            "budget-spent" => Exit::Spent,
            "panicked" => Exit::Bug,
            _ => Exit::NotAccepted,
        };
        Self { exit, code: Some(failure.code), message: failure.message, hint: failure.hint, shown: None }
    }
}

/// Sees to it that a bug is called one: a panic outside of a workflow's own steps says so and ends the program with 70.
pub(crate) fn on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        crate::live::screen::show_cursor();
        let mut err = std::io::stderr();
        let _ = writeln!(err, "a bug in redraft {}: {}", env!("CARGO_PKG_VERSION"), tame(&panic.to_string()));
        let _ =
            writeln!(err, "  next: please report it with what you typed; runs are safe and can be resumed");
        std::process::exit(i32::from(Exit::Bug as u8));
    }));
    // There is no bug to test with, so builds for tests have one.
    #[cfg(debug_assertions)]
    #[expect(clippy::panic, reason = "this is what it is for")]
    if std::env::var_os("REDRAFT_TEST_PANIC").is_some() {
        panic!("a bug on demand");
    }
}
