//! Why a spec cannot be used.

use std::path::PathBuf;

use super::diagnostic::Diagnostic;
use crate::failure::Fault;

/// A spec that cannot be used, or an input that does not fit it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read at all.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// There are mistakes in it.
    #[error("{}", summary(diagnostics))]
    Invalid {
        /// All of them, in the order of the file.
        diagnostics: Vec<Diagnostic>,
    },
    /// What a run was given does not fit what the spec declares.
    #[error("{}", reasons.join("; "))]
    Input {
        /// Everything that does not fit.
        reasons: Vec<String>,
        /// What can be given.
        known: Vec<String>,
    },
    /// The settings of a kind or a protocol cannot be read.
    #[error("the settings cannot be used: {reason}")]
    Settings {
        /// What is wrong.
        reason: String,
    },
    /// The spec names something that is not known here.
    #[error("there is no {what} `{name}` here")]
    Unknown {
        /// `kind of verifier`, `protocol` or `model`.
        what: &'static str,
        /// What was named.
        name: String,
    },
}

fn summary(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "the spec is not valid".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
    }
}

impl Error {
    /// Returns the mistakes with their places, if it is about mistakes.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid { diagnostics } => diagnostics,
            _ => &[],
        }
    }

    /// Shows everything that is wrong, with the lines it stands on.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        match self {
            Self::Invalid { diagnostics } => {
                let shown: Vec<String> = diagnostics.iter().map(|found| found.render(colour)).collect();
                shown.join("\n")
            }
            other => format!("error[{}]: {other}\n", other.code()),
        }
    }
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::Unreadable { .. } => "spec-unreadable",
            Self::Invalid { .. } => "spec-invalid",
            Self::Input { .. } => "spec-input",
            Self::Settings { .. } => "spec-bad-value",
            Self::Unknown { .. } => "spec-unknown-word",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => Some("give the path of a YAML file".to_owned()),
            Self::Invalid { .. } => Some("see every mistake with its place: redraft check".to_owned()),
            Self::Input { known, .. } if known.is_empty() => Some("the spec declares no input".to_owned()),
            Self::Input { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Self::Settings { .. } | Self::Unknown { .. } => None,
        }
    }
}
