//! What happened in a run, in order: events, their text form, and the fold that turns them into a state.
//!
//! Start with [`event`], which is the whole vocabulary. [`codec`] holds the only text form, and [`state`] the only
//! meaning: replay, the views and the tests all read a run through that fold.
//!
//! Invariants: events are append-only as a type (a variant is never removed or given another meaning; a new field
//! is optional); every variant of every version has a fixture in `fixtures/` that must still load; nothing here
//! reads a clock, does I/O or rolls dice. The types of this module do not leave the crate: strangers see `view`.

pub(crate) mod codec;
pub(crate) mod event;
pub(crate) mod state;
#[cfg(test)]
mod tests;

pub(crate) use event::{Event, GateClosed, GroupKind, Header, Origin, OriginKind, Record, RunEnding};

/// A journal that cannot be read or does not make sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of an event could not be read.
    #[error("event {seq} of the journal cannot be read: {reason}")]
    Unreadable {
        /// Which event, counted from 1.
        seq: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The event was written by a later version of redraft.
    #[error("event {seq} of the journal has version {found}; this redraft reads versions up to {known}")]
    FromTheFuture {
        /// Which event, counted from 1.
        seq: u64,
        /// The version it was written in.
        found: u32,
        /// The newest version this build knows.
        known: u32,
    },
    /// The event cannot follow the ones before it.
    #[error("event {seq} of the journal cannot stand there: {reason}")]
    Illegal {
        /// Which event, counted from 1.
        seq: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Returns the stable code of this error, see [`explain`](crate::explain).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "journal-unreadable",
            Self::FromTheFuture { .. } => "journal-from-the-future",
            Self::Illegal { .. } => "journal-illegal",
        }
    }
}
