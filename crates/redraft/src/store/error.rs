//! What can go wrong with a store, sorted by what the caller can do about it.

use std::path::PathBuf;

use crate::failure::Retry;
use crate::id::{DriverId, RunId};

/// A write or read that a store could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such run.
    #[error("there is no run `{run}` in this store")]
    NotFound {
        /// The id that was asked for.
        run: RunId,
    },
    /// The write came from a driver that no longer holds the run.
    #[error("`{run}` is driven by someone else now, so this write was refused")]
    Fenced {
        /// The run.
        run: RunId,
    },
    /// The write did not follow the last event.
    #[error("the journal of `{run}` does not end where this write continues (at event {expected})")]
    Conflict {
        /// The run.
        run: RunId,
        /// The number that the first event of the write had.
        expected: u64,
    },
    /// The run has ended, and nobody is there to be told anything.
    #[error("`{run}` has ended")]
    Ended {
        /// The run.
        run: RunId,
    },
    /// Another living driver holds the run.
    #[error("`{run}` is being driven by `{holder}`")]
    Held {
        /// The run.
        run: RunId,
        /// Who holds it.
        holder: DriverId,
    },
    /// The id is taken.
    #[error("a run `{run}` exists already")]
    Exists {
        /// The id.
        run: RunId,
    },
    /// The disk, or the size allowed for the store, is full.
    #[error("there is no space left for the store")]
    Full,
    /// The store cannot be written.
    #[error("the store `{}` cannot be written: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The store cannot be opened.
    #[error("the store `{}` cannot be opened: {reason}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is not a store, or was damaged.
    #[error("the store `{}` is damaged or is not a redraft store: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The store was made by a later version of redraft.
    #[error("the store `{}` has format {found}; this redraft knows formats up to {known}", path.display())]
    FromTheFuture {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The newest format this build knows.
        known: i64,
    },
    /// Another process kept the store locked for too long.
    #[error("the store was locked by another process for too long")]
    Busy,
    /// The disk or the database failed.
    #[error("the store failed: {reason}")]
    Io {
        /// What the system said.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Returns the stable code of this error, see [`explain`](crate::explain).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "run-not-found",
            Self::Fenced { .. } => "run-fenced",
            Self::Conflict { .. } => "journal-conflict",
            Self::Ended { .. } => "run-ended",
            Self::Held { .. } => "run-held",
            Self::Exists { .. } => "run-exists",
            Self::Full => "store-full",
            Self::ReadOnly { .. } => "store-read-only",
            Self::CannotOpen { .. } => "store-cannot-open",
            Self::Corrupt { .. } => "store-corrupt",
            Self::FromTheFuture { .. } => "store-from-the-future",
            Self::Busy => "store-busy",
            Self::Io { .. } => "store-failed",
            Self::Closed => "store-closed",
        }
    }

    /// Says whether the same call may be tried again.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Busy => Retry::Backoff,
            _ => Retry::Never,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "see which runs there are: redraft list".to_owned(),
            Self::Held { run, .. } | Self::Fenced { run } => format!("watch it instead: redraft watch {run}"),
            Self::Full => "make room on the disk; the run can then be resumed, nothing is lost".to_owned(),
            Self::ReadOnly { .. } | Self::CannotOpen { .. } => {
                "name another place with --store, or check the rights on this one".to_owned()
            }
            Self::Corrupt { .. } => {
                "move the file away and restore it from a backup; it was not changed".to_owned()
            }
            Self::FromTheFuture { .. } => {
                "use the version of redraft that made it, or a later one".to_owned()
            }
            Self::Busy => "end the other process, or try again".to_owned(),
            Self::Ended { .. }
            | Self::Conflict { .. }
            | Self::Exists { .. }
            | Self::Io { .. }
            | Self::Closed => return None,
        })
    }
}
