//! Taking runs over from their journals.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::definition::Erased;
use super::engine::{Core, Engine};
use super::error::Error;
use super::handle::RunHandle;
use super::live::{Live, Standpoint};
use super::parallel::STOPPED;
use crate::id::RunId;
use crate::journal::state::{Body, Entry, GateState, Run, StepResult};
use crate::journal::{Event, GateClosed, GroupKind, Header, Record, RunEnding, codec};
use crate::outcome::{Status, Stop};
use crate::path::Path;
use crate::store::{self, Claim, Claimed, Epoch, Which};

/// How many journals are read at the same time when an engine opens.
const READ_AT_ONCE: usize = 64;

impl Engine {
    /// Takes a run up where it stopped: same run, same journal. A failed run goes on at the step that failed, with
    /// a fresh set of attempts; one that ended undecided asks for its verdict again.
    ///
    /// # Errors
    /// If another living engine drives it, it ended otherwise than by failing, or its definition has changed.
    pub async fn resume(&self, run: RunId) -> Result<RunHandle<Value>, Error> {
        self.resume_claiming(run, Which::Run(run), Reopening::Failed).await
    }

    /// Takes a run up with another input: one that allows more than the first did. An exhausted run goes on, and calls
    /// that the budget had refused are made. One that has not ended goes on with this input, too: that is how an input
    /// that did not fit is put right.
    ///
    /// The journal stays: up to where the first input let it come, the workflow must ask for the same things.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); if this engine is driving the run already; and if the input cannot be written as JSON.
    pub async fn resume_with(&self, run: RunId, input: &impl Serialize) -> Result<RunHandle<Value>, Error> {
        let input = serde_json::value::to_raw_value(input).map_err(|error| {
            let (what, of) = ("input", run.to_string());
            Error::DoesNotFit { what, of, reason: error.to_string() }
        })?;
        self.resume_claiming(run, Which::Run(run), Reopening::With(input)).await
    }

    /// Takes a run up if it has not ended.
    pub(super) async fn resume_unfinished(&self, run: RunId) -> Result<RunHandle<Value>, Error> {
        self.resume_claiming(run, Which::Run(run), Reopening::Never).await
    }

    /// Takes a run over even if another engine drives it; that one's writes are refused from then on.
    ///
    /// # Errors
    /// As [`resume`](Self::resume), but for the other engine.
    pub async fn seize(&self, run: RunId) -> Result<RunHandle<Value>, Error> {
        self.resume_claiming(run, Which::Seize(run), Reopening::Failed).await
    }

    async fn resume_claiming(
        &self,
        run: RunId,
        which: Which,
        reopening: Reopening,
    ) -> Result<RunHandle<Value>, Error> {
        // On a task of its own: once the run is claimed it must be driven, even if the caller walks off.
        let core = Arc::clone(&self.core);
        let taken = tokio::spawn(async move { core.claim_and_take_over(run, which, reopening).await });
        let live = taken.await.unwrap_or(Err(Error::ShutDown { run }))?;
        Ok(RunHandle::of_live(&self.core, &live))
    }
}

/// Which runs that have ended may go on.
enum Reopening {
    Never,
    Failed,
    /// Exhausted ones too, because this input allows more.
    With(Box<RawValue>),
}

impl Reopening {
    fn allows(&self, ending: &RunEnding) -> bool {
        match self {
            Self::Never => false,
            Self::Failed => ending.status == Status::Failed || is_undecided(ending),
            Self::With(_) => matches!(ending.status, Status::Failed | Status::Exhausted),
        }
    }
}

impl Core {
    /// Reads and folds a journal.
    pub(super) async fn load(&self, run: RunId) -> Result<Run, Error> {
        let records = self.records(run, 0).await?;
        Run::fold(&records).map_err(|source| Error::Journal { run, source })
    }

    /// Reads the events after number `after`.
    pub(super) async fn records(&self, run: RunId, after: u64) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for batch in self.store.read(run, after).await? {
            codec::decode(batch.first, &batch.text, &mut records)
                .map_err(|source| Error::Journal { run, source })?;
        }
        records.retain(|record| record.seq > after);
        Ok(records)
    }

    /// Takes over every unfinished run that nobody drives.
    pub(super) async fn resume_all(self: &Arc<Self>) -> Result<(), Error> {
        let which = Which::Unfinished { workflows: self.workflows() };
        let claimed = self.store.claim(Claim { driver: self.driver, which }).await?;
        let take =
            |Claimed { run, epoch }| async move { (run, self.take_over(run, epoch, Reopening::Never).await) };
        let mut waiting = claimed.into_iter();
        let mut reading: FuturesUnordered<_> = waiting.by_ref().take(READ_AT_ONCE).map(take).collect();
        while let Some((run, taken)) = reading.next().await {
            if let Err(error) = taken {
                self.remember_trouble(run, &error);
            }
            reading.extend(waiting.next().map(take));
        }
        Ok(())
    }

    async fn claim_and_take_over(
        self: &Arc<Self>,
        run: RunId,
        which: Which,
        reopening: Reopening,
    ) -> Result<Arc<Live>, Error> {
        let _turn = self.turns.take(run).await;
        if let Some(live) = self.live(run) {
            // What is being driven has read its input; another one would be dropped without a word.
            return match reopening {
                Reopening::With(_) => Err(store::Error::Held { run, holder: self.driver }.into()),
                Reopening::Never | Reopening::Failed => Ok(live),
            };
        }
        // Looked at before it is claimed: a run that cannot be resumed is left as it is.
        let state = self.load(run).await?;
        self.resumable(run, &state, &reopening)?;
        let claimed = self.store.claim(Claim { driver: self.driver, which }).await?;
        let claimed = claimed.first().ok_or(store::Error::NotFound { run })?;
        self.take_over(run, claimed.epoch, reopening).await
    }

    /// Drives a run that was claimed. If that is impossible, lets go of it again.
    async fn take_over(
        self: &Arc<Self>,
        run: RunId,
        epoch: Epoch,
        reopening: Reopening,
    ) -> Result<Arc<Live>, Error> {
        match self.try_take_over(run, epoch, reopening).await {
            Ok(live) => Ok(live),
            Err(error) => {
                self.store.release(vec![Claimed { run, epoch }]).await?;
                Err(error)
            }
        }
    }

    async fn try_take_over(
        self: &Arc<Self>,
        run: RunId,
        epoch: Epoch,
        reopening: Reopening,
    ) -> Result<Arc<Live>, Error> {
        // Read again: whoever drove it may have written until it was claimed.
        let mut state = self.load(run).await?;
        let definition = self.resumable(run, &state, &reopening)?;
        let told = state.status();
        let mut opening = Vec::new();
        let input = match reopening {
            Reopening::With(input) => Some(input),
            Reopening::Never | Reopening::Failed => None,
        };
        if state.ending.is_some() || input.is_some() {
            let forgets = undone_by_reopening(&state);
            opening.push(Event::RunReopened { by: self.driver.to_string(), forgets, input });
        }
        opening.push(Event::RunResumed { driver: self.driver });
        let mut pending = Vec::new();
        for event in opening {
            let record = Record { seq: state.seq + 1, at: self.clock.now(), event };
            state.apply(&record).map_err(|source| Error::Journal { run, source })?;
            pending.push(record);
        }
        let live = self.drive(Standpoint { run, epoch, told, state, pending }, definition);
        if told.is_final() {
            // A run that was over is so for everybody else until they can read that it goes on.
            live.flush().await;
        }
        Ok(live)
    }

    /// Says whether a run can be resumed, and with which definition.
    fn resumable(&self, run: RunId, state: &Run, reopening: &Reopening) -> Result<Arc<dyn Erased>, Error> {
        if let Some(ending) = &state.ending {
            if !reopening.allows(ending) {
                return Err(Error::Ended { run, status: ending.status, verb: "resumed" });
            }
            if groups(state, |kind| *kind == GroupKind::Compensation).next().is_some() {
                return Err(Error::Compensated { run });
            }
            if let Some(step) = went_on_after(state) {
                return Err(Error::WentOn { run, step });
            }
        }
        let Some(header) = &state.header else {
            let source = crate::journal::Error::Illegal { seq: 1, reason: "it is empty".to_owned() };
            return Err(Error::Journal { run, source });
        };
        let definition = self.definition(&header.workflow, header.version)?;
        if definition.fingerprint() != header.definition {
            return Err(Error::DefinitionChanged {
                run,
                workflow: header.workflow.clone(),
                version: header.version,
                difference: difference(header, &definition.phases()),
            });
        }
        Ok(definition)
    }
}

/// What a reopened run does again: the steps that failed, the decision to abandon their siblings, the questions that
/// were dropped with the failure, and the cleanup after it.
fn undone_by_reopening(state: &Run) -> Vec<Path> {
    let failed = failed_steps(state);
    let stopped: Vec<Path> = entries(state)
        .filter(|entry| entry.path.name() == STOPPED)
        .filter(|entry| failed.iter().any(|path| path.is_inside(entry.path.parent())))
        .map(|entry| entry.path.clone())
        .collect();
    let dropped = entries(state).filter(|entry| {
        matches!(entry.body, Body::Gate { state: GateState::Closed(GateClosed::Abandoned), .. })
            && !went_on(state, entry)
    });
    let dropped: Vec<Path> = dropped.map(|entry| entry.path.clone()).collect();
    let cleanup = groups(state, |kind| *kind == GroupKind::Cleanup).cloned();
    cleanup.chain(failed).chain(stopped).chain(dropped).collect()
}

/// Returns the steps whose failure ended the run; for an exhausted one, those that nothing followed and that the budget
/// refused, or that kept a verdict from being given. A failure that does not say where it comes from was made from another one; then it is the last that nothing
/// followed.
fn failed_steps(state: &Run) -> Vec<Path> {
    let Some(ending) = &state.ending else { return Vec::new() };
    let Some(failure) = &ending.failure else {
        // A refusal that the workflow went on from (one candidate of several) is a part of what happened.
        let is_wanted = |entry: &&Entry| match &entry.body {
            Body::Step { result: StepResult::Failed(failure), .. } => {
                failure.code == "budget-spent" || is_undecided(ending)
            }
            _ => false,
        };
        let refused = entries(state).filter(|entry| is_wanted(entry) && !went_on(state, entry));
        return refused.map(|entry| entry.path.clone()).collect();
    };
    if !failure.at.is_empty() {
        return failure.at.clone();
    }
    let cleanup: Vec<&Path> = groups(state, |kind| *kind == GroupKind::Cleanup).collect();
    let last = entries(state)
        .filter(|entry| !cleanup.iter().any(|group| entry.path.is_inside(group.as_str())))
        .rfind(|entry| matches!(entry.body, Body::Step { result: StepResult::Failed(_), .. }))
        .filter(|entry| !went_on(state, entry));
    last.map(|entry| entry.path.clone()).into_iter().collect()
}

/// Says whether a run ended because no verdict could be had: whoever could not judge may be able to, later.
fn is_undecided(ending: &RunEnding) -> bool {
    ending.status == Status::Exhausted && ending.stop == Some(Stop::Undecidable)
}

/// Finds a step whose failure ended the run although the workflow had gone on after it. Trying that step again could
/// lead elsewhere than where the workflow went, and what it did there cannot be taken back.
fn went_on_after(state: &Run) -> Option<Path> {
    failed_steps(state)
        .into_iter()
        .find(|path| state.entry(path.as_str()).is_some_and(|entry| went_on(state, entry)))
}

/// Says whether something began after `entry` was closed, in its scope or in one around it. Cleanup does not count, nor
/// what the engine notes for itself.
fn went_on(state: &Run, entry: &Entry) -> bool {
    let Some(closed) = entry.closed_seq else { return false };
    let cleanup: Vec<&Path> = groups(state, |kind| *kind == GroupKind::Cleanup).collect();
    entries(state).any(|later| {
        later.opened_seq > closed
            && entry.path.is_inside(later.path.parent())
            && later.path.name() != STOPPED
            && !cleanup.iter().any(|group| later.path == **group || later.path.is_inside(group.as_str()))
    })
}

fn entries(state: &Run) -> impl DoubleEndedIterator<Item = &Entry> {
    state.entries.iter().filter(|entry| !entry.forgotten)
}

fn groups(state: &Run, wanted: impl Fn(&GroupKind) -> bool) -> impl Iterator<Item = &Path> {
    entries(state).filter_map(move |entry| match &entry.body {
        Body::Group(kind) if wanted(kind) => Some(&entry.path),
        _ => None,
    })
}

/// Names the first phase in which two definitions differ.
fn difference(header: &Header, now: &[String]) -> String {
    let then = &header.phases;
    let at = then.iter().zip(now).position(|(then, now)| then != now).unwrap_or(then.len().min(now.len()));
    match (then.get(at), now.get(at)) {
        (Some(then), Some(now)) => format!("it had `{then}` where there is `{now}` now"),
        (Some(then), None) => format!("`{then}` is gone"),
        (None, Some(now)) => format!("`{now}` is new"),
        (None, None) => "the phases are the same, but their settings are not".to_owned(),
    }
}
