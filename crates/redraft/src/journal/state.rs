//! The meaning of a journal: a pure fold of events into the state of a run.
//!
//! [`Run::apply`] is the only place that says what an event does. It reads no clock, does no I/O and rolls no dice, so
//! replay and life cannot disagree. An event that cannot follow the ones before it is an error, never a guess.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{Error, Event, GateClosed, GroupKind, Header, Record, RunEnding};
use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::gate::{Answer, Question};
use crate::outcome::Status;
use crate::path::Path;
use crate::spend::Spend;

/// A run, as far as its journal tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// The number of the last event folded in.
    pub(crate) seq: u64,
    pub(crate) header: Option<Box<Header>>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) updated_at: Option<Timestamp>,
    /// How often the run was taken over from its journal.
    pub(crate) lives: u32,
    /// How long earlier drivers drove it, from the first to the last event of each.
    pub(crate) driven: Duration,
    /// When the present driver took it over.
    pub(crate) life_began_at: Option<Timestamp>,
    /// Everything that has a path, in the order in which it began.
    pub(crate) entries: Vec<Entry>,
    index: HashMap<Path, usize>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) ending: Option<Box<RunEnding>>,
    open_gates: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    pub(crate) reason: String,
    pub(crate) by: String,
}

/// How an attempt ended.
struct AttemptEnd {
    failure: Option<Failure>,
    spend: Option<Spend>,
}

/// Something with a path.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: Path,
    pub(crate) opened_at: Timestamp,
    /// The number of the event that opened it: where a fork at this place cuts.
    pub(crate) opened_seq: u64,
    pub(crate) closed_at: Option<Timestamp>,
    /// The number of the event that closed it.
    pub(crate) closed_seq: Option<u64>,
    /// In which life it was closed; see [`Run::lives`].
    pub(crate) closed_in: u32,
    /// A reopened run does it again; kept for the reader only.
    pub(crate) forgotten: bool,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Group(GroupKind),
    /// `forgiven` attempts were made before the run was reopened: they no longer count as failures.
    Step {
        fingerprint: Fingerprint,
        attempts: Vec<Attempt>,
        forgiven: usize,
        result: StepResult,
    },
    Sleep {
        until: Timestamp,
        rang: bool,
    },
    Gate {
        question: Question,
        deadline: Option<Timestamp>,
        state: GateState,
    },
    Value(Box<RawValue>),
    Note(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) n: u32,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) failure: Option<Failure>,
    pub(crate) spend: Option<Spend>,
}

#[derive(Clone, Debug)]
pub(crate) enum StepResult {
    /// Not done; the next attempt is not to begin before `retry_at`.
    Pending {
        retry_at: Option<Timestamp>,
    },
    Done(Box<RawValue>),
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GateState {
    Open,
    Answered(Answer),
    Closed(GateClosed),
}

impl Run {
    /// Folds a whole journal.
    pub(crate) fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, Error> {
        let mut run = Self::default();
        for record in records {
            run.apply(record)?;
        }
        Ok(run)
    }

    /// Returns how the run stands.
    pub(crate) fn status(&self) -> Status {
        match &self.ending {
            Some(ending) => ending.status,
            None if self.open_gates > 0 => Status::Waiting,
            None if self.seq <= 1 => Status::Queued,
            None => Status::Running,
        }
    }

    pub(crate) fn open_gates(&self) -> u32 {
        self.open_gates
    }

    pub(crate) fn entry(&self, path: &str) -> Option<&Entry> {
        self.index.get(path).and_then(|&at| self.entries.get(at))
    }

    /// Says whether `entry` was closed by an earlier driver than the present one, or copied from another run: its
    /// answer is read from the journal and costs nothing now.
    pub(crate) fn is_replayed(&self, entry: &Entry) -> bool {
        entry.closed_seq.is_some() && (entry.closed_in < self.lives || self.is_copied(entry))
    }

    /// Returns what each step has spent in this run; what a fork copied was paid for by another.
    pub(crate) fn paid(&self) -> impl Iterator<Item = (&Path, Spend)> {
        self.entries.iter().filter(|entry| !self.is_copied(entry)).filter_map(|entry| match &entry.body {
            Body::Step { attempts, .. } => {
                let spends = attempts.iter().filter_map(|attempt| attempt.spend);
                spends
                    .reduce(|mut sum, spend| {
                        sum += spend;
                        sum
                    })
                    .map(|spend| (&entry.path, spend))
            }
            _ => None,
        })
    }

    fn is_copied(&self, entry: &Entry) -> bool {
        let copied =
            self.header.as_ref().and_then(|header| header.origin.as_ref()).map_or(0, |origin| origin.copied);
        copied > 0 && entry.closed_seq.is_some_and(|seq| seq <= copied + 1)
    }

    /// Folds one event in. Pure: no clock, no I/O, no randomness.
    ///
    /// An event that is refused changes nothing.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<(), Error> {
        self.check_place(record)
            .and_then(|()| self.apply_event(record))
            .map_err(|reason| Error::Illegal { seq: record.seq, reason })?;
        self.seq = record.seq;
        self.updated_at = Some(record.at);
        Ok(())
    }

    fn check_place(&self, record: &Record) -> Result<(), String> {
        if record.seq != self.seq + 1 {
            return Err(format!("number {} was expected", self.seq + 1));
        }
        match (&self.header, &record.event) {
            (None, Event::RunStarted(_)) => Ok(()),
            (None, _) => Err("the run has not started".to_owned()),
            (Some(_), Event::RunStarted(_)) => Err("the run has started already".to_owned()),
            (Some(_), Event::RunReopened { input, .. }) => match &self.ending {
                Some(ending) if matches!(ending.status, Status::Failed | Status::Exhausted) => Ok(()),
                // It goes on with another input.
                None if input.is_some() => Ok(()),
                _ => Err("only a failed or exhausted run can be reopened".to_owned()),
            },
            (Some(_), _) if self.ending.is_some() => Err("the run has ended".to_owned()),
            (Some(_), _) => Ok(()),
        }
    }

    fn apply_event(&mut self, record: &Record) -> Result<(), String> {
        match &record.event {
            Event::RunStarted(header) => {
                self.header = Some(header.clone());
                self.started_at = Some(record.at);
                self.life_began_at = Some(record.at);
            }
            Event::RunResumed { .. } => {
                if let (Some(began), Some(last)) = (self.life_began_at, self.updated_at) {
                    self.driven += last.since(began);
                }
                self.life_began_at = Some(record.at);
                self.lives += 1;
            }
            Event::GroupOpened { path, kind } => {
                self.open(record, path, Body::Group(kind.clone()))?;
            }
            Event::StepStarted { path, fingerprint, attempt } => {
                self.start_step(record, path, *fingerprint, *attempt)?;
            }
            Event::StepSucceeded { path, output, spend } => {
                let end = AttemptEnd { failure: None, spend: *spend };
                self.end_attempt(record, path, end, StepResult::Done(output.clone()))?;
                self.close(record, path);
            }
            Event::StepFailed { path, failure, retry_at, spend } => {
                let result = match retry_at {
                    Some(_) => StepResult::Pending { retry_at: *retry_at },
                    None => StepResult::Failed(failure.clone()),
                };
                let end = AttemptEnd { failure: Some(failure.clone()), spend: *spend };
                self.end_attempt(record, path, end, result)?;
                if retry_at.is_none() {
                    self.close(record, path);
                }
            }
            Event::StepAbandoned { path, spend } => {
                let end = AttemptEnd { failure: None, spend: Some(*spend) };
                self.end_attempt(record, path, end, StepResult::Pending { retry_at: None })?;
            }
            Event::SleepStarted { path, until } => {
                self.open(record, path, Body::Sleep { until: *until, rang: false })?;
            }
            Event::SleepFinished { path } => {
                match self.body_mut(path)? {
                    Body::Sleep { rang, .. } if !*rang => *rang = true,
                    _ => return Err(format!("`{path}` is not a timer that is running")),
                }
                self.close(record, path);
            }
            Event::GateOpened { path, question, deadline } => {
                let body =
                    Body::Gate { question: question.clone(), deadline: *deadline, state: GateState::Open };
                self.open(record, path, body)?;
                self.open_gates += 1;
            }
            Event::GateAnswered { path, answer } => {
                self.close_gate(record, path, GateState::Answered(answer.clone()))?;
            }
            Event::GateClosed { path, why } => self.close_gate(record, path, GateState::Closed(*why))?,
            Event::ValueRecorded { path, value } => {
                self.open(record, path, Body::Value(value.clone()))?;
                self.close(record, path);
            }
            Event::NoteWritten { path, text } => {
                self.open(record, path, Body::Note(text.clone()))?;
                self.close(record, path);
            }
            Event::CancelRequested { reason, by } => {
                if self.cancel.is_some() {
                    return Err("the run was asked to stop already".to_owned());
                }
                self.cancel = Some(Cancel { reason: reason.clone(), by: by.clone() });
            }
            Event::RunFinished(ending) => {
                if !ending.status.is_final() {
                    return Err(format!("`{}` is not a way to end", ending.status));
                }
                self.ending = Some(ending.clone());
            }
            Event::RunReopened { forgets, input, .. } => {
                self.ending = None;
                self.forget(forgets);
                if let (Some(header), Some(input)) = (&mut self.header, input) {
                    header.input = input.clone();
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, record: &Record, path: &Path, body: Body) -> Result<(), String> {
        if self.index.contains_key(path) {
            return Err(format!("`{path}` exists already"));
        }
        self.index.insert(path.clone(), self.entries.len());
        self.entries.push(Entry {
            path: path.clone(),
            opened_at: record.at,
            opened_seq: record.seq,
            closed_at: None,
            closed_seq: None,
            closed_in: 0,
            forgotten: false,
            body,
        });
        Ok(())
    }

    fn close(&mut self, record: &Record, path: &Path) {
        let lives = self.lives;
        if let Some(entry) = self.entry_mut(path) {
            entry.closed_at = Some(record.at);
            entry.closed_seq = Some(record.seq);
            entry.closed_in = lives;
        }
    }

    fn entry_mut(&mut self, path: &Path) -> Option<&mut Entry> {
        self.index.get(path).and_then(|&at| self.entries.get_mut(at))
    }

    fn body_mut(&mut self, path: &Path) -> Result<&mut Body, String> {
        self.entry_mut(path).map(|entry| &mut entry.body).ok_or_else(|| format!("`{path}` has not begun"))
    }

    fn start_step(
        &mut self,
        record: &Record,
        path: &Path,
        fingerprint: Fingerprint,
        attempt: u32,
    ) -> Result<(), String> {
        let first = Attempt { n: attempt, started_at: record.at, ended_at: None, failure: None, spend: None };
        if !self.index.contains_key(path) {
            if attempt != 1 {
                return Err(format!("the first attempt at `{path}` has the number {attempt}"));
            }
            let result = StepResult::Pending { retry_at: None };
            let body = Body::Step { fingerprint, attempts: vec![first], forgiven: 0, result };
            return self.open(record, path, body);
        }
        match self.body_mut(path)? {
            Body::Step { fingerprint: known, attempts, result: StepResult::Pending { .. }, .. } => {
                if *known != fingerprint {
                    return Err(format!("`{path}` was begun with other inputs"));
                }
                let expected = attempts.last().map_or(1, |last| last.n + 1);
                if attempt != expected {
                    return Err(format!("attempt {expected} at `{path}` was expected, not {attempt}"));
                }
                attempts.push(first);
                Ok(())
            }
            _ => Err(format!("`{path}` is not a step that can be tried again")),
        }
    }

    fn end_attempt(
        &mut self,
        record: &Record,
        path: &Path,
        end: AttemptEnd,
        ends_as: StepResult,
    ) -> Result<(), String> {
        let at = record.at;
        match self.body_mut(path)? {
            Body::Step { attempts, result: result @ StepResult::Pending { .. }, .. } => {
                match attempts.last_mut() {
                    Some(last) if last.ended_at.is_none() => {
                        last.ended_at = Some(at);
                        last.failure = end.failure;
                        last.spend = end.spend;
                    }
                    _ => return Err(format!("no attempt at `{path}` is under way")),
                }
                *result = ends_as;
                Ok(())
            }
            _ => Err(format!("`{path}` is not a step that is under way")),
        }
    }

    fn close_gate(&mut self, record: &Record, path: &Path, closed: GateState) -> Result<(), String> {
        match self.body_mut(path)? {
            Body::Gate { state, .. } if *state == GateState::Open => *state = closed,
            _ => return Err(format!("`{path}` is not a gate that is open")),
        }
        self.open_gates -= 1;
        self.close(record, path);
        Ok(())
    }

    /// Makes the failed steps among `paths` pending again and takes the groups among them out of the run.
    fn forget(&mut self, paths: &[Path]) {
        for entry in &mut self.entries {
            if entry.forgotten {
                continue;
            }
            let named = paths.contains(&entry.path);
            let inside = paths.iter().any(|path| entry.path.is_inside(path.as_str()));
            if let (
                true,
                false,
                Body::Step { attempts, forgiven, result: result @ StepResult::Failed(_), .. },
            ) = (named, inside, &mut entry.body)
            {
                *result = StepResult::Pending { retry_at: None };
                *forgiven = attempts.len();
                entry.closed_at = None;
                entry.closed_seq = None;
            } else if named || inside {
                if matches!(entry.body, Body::Gate { state: GateState::Open, .. }) {
                    self.open_gates -= 1;
                }
                entry.forgotten = true;
                self.index.remove(&entry.path);
            }
        }
    }
}
