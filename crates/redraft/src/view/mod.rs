//! Read models: what people and programs see of a run.
//!
//! Everything here can be serialised and is stable. All but [`diff`], which compares any two texts, is made from the
//! fold of a journal, whose own types do not leave the crate.

pub mod diff;

mod event;
mod refinement;
mod schema;
mod summary;
mod tree;

pub use self::diff::Diff;
pub use self::event::Event;
pub use self::refinement::{Criteria, FrozenCriterion, Refinement, Report};
pub use self::summary::{OpenGate, RunSummary, SpawnedBy};
pub use self::tree::{Attempt, Node, NodeKind, NodeStatus, Tree};
