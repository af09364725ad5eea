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

use crate::id::RunId;
use crate::run::{Engine, Error};
use crate::store::{Head, Query};

impl Engine {
    /// Lists runs, newest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(&self, query: Query) -> Result<Vec<Head>, Error> {
        Ok(self.core.store.list(query).await?)
    }

    /// Tells how a run stands.
    ///
    /// # Errors
    /// If there is no such run, or its journal cannot be read.
    pub async fn summary(&self, run: RunId) -> Result<RunSummary, Error> {
        Ok(RunSummary::of(run, &self.core.load(run).await?))
    }

    /// Shows a run as a tree.
    ///
    /// # Errors
    /// If there is no such run, or its journal cannot be read.
    pub async fn tree(&self, run: RunId) -> Result<Tree, Error> {
        Ok(Tree::of(run, &self.core.load(run).await?))
    }
}
