//! Read models: what people and programs see of a run.
//!
//! Everything here is made from the fold of a journal, can be serialised, and is stable; the journal's own types do
//! not leave the crate.

mod event;
mod summary;
mod tree;

pub use self::event::Event;
pub use self::summary::{OpenGate, RunSummary, SpawnedBy};
pub use self::tree::{Attempt, Node, NodeKind, NodeStatus, Tree};
