//! New runs from old ones: a fork keeps a prefix of the journal, a rerun keeps nothing but the input.
//!
//! A fork is the same thing as a crash at that point of the journal, under a new id; so whatever makes resuming
//! right makes forking right.

use serde_json::Value;

use super::engine::{Birth, Engine};
use super::error::Error;
use super::handle::RunHandle;
use crate::id::RunId;
use crate::journal::state::{Body, Entry, Run};
use crate::journal::{Event, Origin, OriginKind, Record};
use crate::path::Path;
use crate::suggest;

/// Where a fork leaves the run it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkAt {
    /// Before this step, group or gate began: it is the first thing done anew.
    Step(Path),
    /// After so many events.
    Event(u64),
}

/// What a fork would keep and what it would do again, to be looked at before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkPlan {
    /// The steps whose results are kept; they cost nothing.
    pub keeps: Vec<Path>,
    /// The steps of the old run that are not kept; as far as the new run comes to them, they are paid for again.
    pub repeats: Vec<Path>,
    /// How many events are kept.
    pub events: u64,
}

impl Engine {
    /// Says what a fork would keep and do again.
    ///
    /// # Errors
    /// If there is no such run or step.
    pub async fn plan_fork(&self, run: RunId, at: &ForkAt) -> Result<ForkPlan, Error> {
        let (state, kept) = self.cut(run, at).await?;
        let events = kept.last().map_or(1, |record| record.seq);
        let steps = state.entries.iter().filter(|entry| matches!(entry.body, Body::Step { .. }));
        let (keeps, repeats): (Vec<_>, Vec<_>) =
            steps.partition(|step| step.closed_seq.is_some_and(|closed| closed <= events));
        let paths = |entries: Vec<&Entry>| entries.into_iter().map(|entry| entry.path.clone()).collect();
        Ok(ForkPlan { keeps: paths(keeps), repeats: paths(repeats), events })
    }

    /// Starts a new run that has done what the old one had done before `at`, under the newest registered definition
    /// of the workflow. The old run is not touched. What a run did after it was asked to stop is not kept.
    ///
    /// # Errors
    /// If there is no such run or step, or its workflow is not registered.
    pub async fn fork(&self, run: RunId, at: &ForkAt) -> Result<RunHandle<Value>, Error> {
        let (state, kept) = self.cut(run, at).await?;
        self.descend(run, &state, OriginKind::Fork, kept).await
    }

    /// Reads a run and finds the events after the first that a fork keeps.
    async fn cut(&self, run: RunId, at: &ForkAt) -> Result<(Run, Vec<Record>), Error> {
        let records = self.core.records(run, 0).await?;
        let state = Run::fold(&records).map_err(|source| Error::Journal { run, source })?;
        let end = last_kept(run, &state, at)?;
        let mut kept: Vec<Record> = records
            .into_iter()
            .skip(1)
            .take_while(|record| record.seq <= end && !matches!(record.event, Event::CancelRequested { .. }))
            .collect();
        // The end of a run is not kept: a fork is there to go on.
        while kept.last().is_some_and(|record| matches!(record.event, Event::RunFinished(_))) {
            kept.pop();
        }
        Ok((state, kept))
    }

    /// Starts a new run with the input of an old one and the newest registered definition; everything is done anew.
    ///
    /// # Errors
    /// If there is no such run, or its workflow is not registered.
    pub async fn rerun(&self, run: RunId) -> Result<RunHandle<Value>, Error> {
        let state = self.core.load(run).await?;
        self.descend(run, &state, OriginKind::Rerun, Vec::new()).await
    }

    async fn descend(
        &self,
        run: RunId,
        state: &Run,
        kind: OriginKind,
        copied: Vec<Record>,
    ) -> Result<RunHandle<Value>, Error> {
        let Some(header) = &state.header else { return Err(crate::store::Error::NotFound { run }.into()) };
        let birth = Birth {
            definition: self.core.newest(&header.workflow)?,
            input: header.input.clone(),
            key: None,
            origin: Some(Origin { kind, run, copied: copied.len() as u64 }),
            copied,
        };
        match self.core.bring_up(birth).await? {
            Ok(live) => Ok(RunHandle::of_live(&self.core, &live)),
            Err((earlier, ..)) => Err(crate::store::Error::Exists { run: earlier }.into()),
        }
    }
}

/// Finds the number of the last event that may be kept.
fn last_kept(run: RunId, state: &Run, at: &ForkAt) -> Result<u64, Error> {
    match at {
        ForkAt::Event(events) => Ok((*events).clamp(1, state.seq)),
        ForkAt::Step(path) => {
            // A group of a parallel one has no entry of its own; it begins with the first thing inside it.
            let begins = state
                .entries
                .iter()
                .filter(|entry| entry.path == *path || entry.path.is_inside(path.as_str()))
                .map(|entry| entry.opened_seq)
                .min();
            match begins {
                Some(begins) if !path.as_str().is_empty() => Ok(begins - 1),
                _ => Err(Error::NoSuchStep {
                    run,
                    step: path.to_string(),
                    did_you_mean: suggest::nearest(
                        path.as_str(),
                        state.entries.iter().map(|entry| entry.path.as_str()),
                    ),
                }),
            }
        }
    }
}
