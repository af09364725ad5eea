//! Waiting for a run, and following it.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use super::engine::{Core, Engine};
use super::error::Error;
use super::live::{Live, Phase, lock};
use crate::clock::nap;
use crate::id::RunId;
use crate::journal::RunEnding;
use crate::journal::state::{Body, GateState, Run};
use crate::outcome::{Conclusion, Ending, Outcome, Status, Stop};
use crate::store;
use crate::view;

/// How often a run that another engine drives is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A run, to wait for.
pub struct RunHandle<T = Value> {
    core: Arc<Core>,
    run: RunId,
    /// Nothing if another engine drives it, or nobody does.
    phase: Option<watch::Receiver<Phase>>,
    types: PhantomData<fn() -> T>,
}

impl Engine {
    /// Returns a handle to any run in the store.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn handle(&self, run: RunId) -> Result<RunHandle<Value>, Error> {
        if let Some(live) = self.core.live(run) {
            return Ok(RunHandle::of_live(&self.core, &live));
        }
        self.core.store.head(run).await?.ok_or(store::Error::NotFound { run })?;
        Ok(RunHandle { core: Arc::clone(&self.core), run, phase: None, types: PhantomData })
    }

    /// Follows the events of a run, beginning after number `after`; 0 is the beginning.
    ///
    /// # Errors
    /// If there is no such run.
    pub async fn events(&self, run: RunId, after: u64) -> Result<Events, Error> {
        self.core.store.head(run).await?.ok_or(store::Error::NotFound { run })?;
        Ok(Events { core: Arc::clone(&self.core), run, after, ready: VecDeque::new(), ended: false })
    }
}

impl<T> RunHandle<T> {
    /// Returns the id of the run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Says in which type the output is to come.
    #[must_use]
    pub fn typed<U>(self) -> RunHandle<U> {
        RunHandle { core: self.core, run: self.run, phase: self.phase, types: PhantomData }
    }
}

impl RunHandle<Value> {
    pub(super) fn of_live(core: &Arc<Core>, live: &Live) -> Self {
        Self {
            core: Arc::clone(core),
            run: live.run,
            phase: Some(live.phase.subscribe()),
            types: PhantomData,
        }
    }
}

impl<T: DeserializeOwned> RunHandle<T> {
    /// Waits until the run has ended. A run that waits for a person is waited for.
    ///
    /// # Errors
    /// If the run is no longer driven though it has not ended (the store failed, the workflow diverged, another
    /// engine seized it, the engine was shut down): it can be resumed.
    pub async fn outcome(&self) -> Result<Outcome<T>, Error> {
        self.wait(false).await
    }

    /// Waits until the run has ended or nothing can happen before a person answers a gate.
    ///
    /// # Errors
    /// As [`outcome`](Self::outcome).
    pub async fn settled(&self) -> Result<Outcome<T>, Error> {
        self.wait(true).await
    }

    async fn wait(&self, until_waiting: bool) -> Result<Outcome<T>, Error> {
        let Some(phase) = &self.phase else { return self.wait_from_afar(until_waiting).await };
        let mut phase = phase.clone();
        let reached = phase
            .wait_for(|phase| match phase {
                Phase::Running => false,
                Phase::Waiting => until_waiting,
                Phase::Ended(_) | Phase::Broken(_) => true,
            })
            .await
            .map(|phase| phase.clone());
        match reached {
            Ok(Phase::Ended(ending)) => self.outcome_of(&ending),
            Ok(Phase::Broken(error)) => Err(error),
            Ok(Phase::Waiting | Phase::Running) => Ok(self.waiting(&self.core.load(self.run).await?)),
            Err(_) => Err(Error::ShutDown { run: self.run }),
        }
    }

    async fn wait_from_afar(&self, until_waiting: bool) -> Result<Outcome<T>, Error> {
        loop {
            if let Some(error) = lock(&self.core.refused).get(&self.run) {
                return Err(error.clone());
            }
            let head =
                self.core.store.head(self.run).await?.ok_or(store::Error::NotFound { run: self.run })?;
            let status = head.standing.status;
            if status.is_final() || (until_waiting && status == Status::Waiting) {
                let state = self.core.load(self.run).await?;
                return match &state.ending {
                    Some(ending) => self.outcome_of(ending),
                    None => Ok(self.waiting(&state)),
                };
            }
            nap(LOOK_EVERY).await;
        }
    }

    fn waiting(&self, state: &Run) -> Outcome<T> {
        let open = state.entries.iter().filter(|entry| {
            !entry.forgotten && matches!(entry.body, Body::Gate { state: GateState::Open, .. })
        });
        let gates = open.map(|entry| entry.path.clone()).collect();
        Outcome { run: self.run, ending: Ending::Waiting { gates } }
    }

    fn outcome_of(&self, ending: &RunEnding) -> Result<Outcome<T>, Error> {
        let output =
            match &ending.output {
                None => None,
                Some(output) => Some(serde_json::from_str(output.get()).map_err(|error| {
                    Error::DoesNotFit { what: "output", of: self.run.to_string(), reason: error.to_string() }
                })?),
            };
        let ending = match (ending.status, output) {
            (Status::Cancelled, output) => {
                Ending::Cancelled { reason: ending.reason.clone().unwrap_or_default(), output }
            }
            (status, Some(output)) => Ending::Done { conclusion: conclusion_of(status, ending.stop), output },
            (_, None) => Ending::Failed(ending.failure.clone().unwrap_or_else(|| "it left no word".into())),
        };
        Ok(Outcome { run: self.run, ending })
    }
}

fn conclusion_of(status: Status, stop: Option<Stop>) -> Conclusion {
    match (status, stop) {
        (Status::Accepted, _) => Conclusion::Accepted,
        (Status::Exhausted, Some(stop)) => Conclusion::Exhausted(stop),
        _ => Conclusion::Completed,
    }
}

impl<T> Clone for RunHandle<T> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), run: self.run, phase: self.phase.clone(), types: PhantomData }
    }
}

impl<T> fmt::Debug for RunHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The events of a run, as they are written; made by [`Engine::events`].
pub struct Events {
    core: Arc<Core>,
    run: RunId,
    after: u64,
    ready: VecDeque<view::Event>,
    ended: bool,
}

impl Events {
    /// Returns the next event, waiting for it if need be; nothing when the run has ended and all was returned.
    ///
    /// # Errors
    /// If the store fails or the journal cannot be read.
    pub async fn next(&mut self) -> Result<Option<view::Event>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.seq;
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            // Subscribed before reading: what is written meanwhile wakes us at once.
            let mut written = self.core.live(self.run).map(|live| live.written.subscribe());
            let records = self.core.records(self.run, self.after).await?;
            self.ready.extend(records.iter().map(view::Event::of));
            self.ended = self.ready.back().is_some_and(|event| event.kind == "run_finished");
            if !self.ready.is_empty() {
                continue;
            }
            let head = self.core.store.head(self.run).await?;
            if head.is_none_or(|head| head.standing.status.is_final() && head.seq <= self.after) {
                return Ok(None);
            }
            match &mut written {
                Some(written) => {
                    let _ = tokio::time::timeout(LOOK_EVERY, written.changed()).await;
                }
                None => nap(LOOK_EVERY).await,
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("run", &self.run).field("after", &self.after).finish_non_exhaustive()
    }
}
