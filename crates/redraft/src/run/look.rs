//! Looking at runs without touching them.

use super::engine::Engine;
use super::error::Error;
use crate::id::RunId;
use crate::store::{Head, Query};
use crate::view::{Report, RunSummary, Tree};

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

    /// Reports what came of a run so far: its drafts, the best one, what it cost.
    ///
    /// # Errors
    /// If there is no such run, or its journal cannot be read.
    pub async fn report(&self, run: RunId) -> Result<Report, Error> {
        let state = self.core.load(run).await?;
        Ok(Report::of(&RunSummary::of(run, &state), &Tree::of(run, &state)))
    }
}
