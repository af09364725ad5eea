//! What keeps a program from being run at all. A program that ran and failed is no error here, but a
//! [`Ran`](super::Ran).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::{Fault, Retry};

/// A program that was not run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine cannot hold programs, and nobody wrote that it need not.
    #[error("this machine cannot hold an untrusted program: {missing}")]
    Unavailable {
        /// What is missing.
        missing: String,
    },
    /// There is no such program.
    #[error("there is no program `{program}`: {searched}")]
    NotFound {
        /// The program, as it was asked for.
        program: String,
        /// Where it was looked for.
        searched: String,
    },
    /// The program lies where programs in the sandbox may not look.
    #[error("`{program}` is at `{}`, where the sandbox does not let programs look", path.display())]
    OutOfSight {
        /// The program, as it was asked for.
        program: String,
        /// Where it really is.
        path: PathBuf,
    },
    /// The program could not be started.
    #[error("`{program}` could not be started: {reason}")]
    CannotStart {
        /// The program, as it was asked for.
        program: String,
        /// Why.
        reason: String,
    },
    /// The scratch folder cannot be used.
    #[error("the scratch folder `{}` cannot be used", path.display())]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Arc<io::Error>,
    },
    /// The sandbox itself broke.
    #[error("the sandbox broke: {reason}")]
    Broken {
        /// What happened.
        reason: String,
    },
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::Unavailable { .. } => "sandbox-unavailable",
            Self::NotFound { .. } => "program-not-found",
            Self::OutOfSight { .. } => "program-out-of-sight",
            Self::CannotStart { .. } => "program-not-started",
            Self::Scratch { .. } => "scratch-unusable",
            Self::Broken { .. } => "sandbox-broken",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::CannotStart { .. } | Self::Broken { .. } => Retry::Backoff,
            Self::Unavailable { .. }
            | Self::NotFound { .. }
            | Self::OutOfSight { .. }
            | Self::Scratch { .. } => Retry::Never,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unavailable { .. } => {
                "see what is missing: redraft doctor; or, if you trust every draft, write `sandbox: off`"
                    .to_owned()
            }
            Self::NotFound { program, .. } => format!("install it, or write its full path: which {program}"),
            Self::OutOfSight { path, .. } => {
                let folder = path.parent().unwrap_or(path);
                format!("if drafts may read it, add `{}` to the readable folders", folder.display())
            }
            _ => return None,
        })
    }
}
