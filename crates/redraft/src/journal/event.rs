//! The vocabulary of the journal.
//!
//! To add an event: add the variant here, its word and fields to `codec`, its meaning to `state::Run::apply`, and a
//! line to the fixtures; the compiler and the fixture test ask for each. Then raise `codec::VERSION`, so that older
//! builds say that they are too old instead of calling the journal unreadable.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::gate::{Answer, Question};
use crate::id::{DriverId, RunId};
use crate::outcome::{Status, Stop};
use crate::path::Path;
use crate::spend::Spend;

/// An event with its place and time.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The place in the run's journal, counted from 1 without gaps.
    pub(crate) seq: u64,
    /// When it was written down. For showing; never for deciding.
    pub(crate) at: Timestamp,
    pub(crate) event: Event,
}

/// Something that happened in a run.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The first event of every run.
    RunStarted(Box<Header>),
    /// An engine took the run over from the journal. What it replays was paid for in an earlier life.
    RunResumed { driver: DriverId },
    /// A named part of the tree began. It has no closing event: it ends with what it holds.
    GroupOpened { path: Path, kind: GroupKind },
    /// An attempt at a step began. Rides along with the next commit, so the last ones may be lost in a crash.
    StepStarted { path: Path, fingerprint: Fingerprint, attempt: u32 },
    /// The step is done; this output is what every replay gets.
    StepSucceeded { path: Path, output: Box<RawValue>, spend: Option<Spend> },
    /// The attempt failed. With `retry_at` another one follows; without, the step has failed for good.
    StepFailed { path: Path, failure: Failure, retry_at: Option<Timestamp>, spend: Option<Spend> },
    /// Nobody waits for the attempt any more, but it has spent something. Rides along.
    StepAbandoned { path: Path, spend: Spend },
    /// A durable timer was set.
    SleepStarted { path: Path, until: Timestamp },
    /// The timer rang.
    SleepFinished { path: Path },
    /// A question was put to people.
    GateOpened { path: Path, question: Question, deadline: Option<Timestamp> },
    /// Somebody, or the deadline's default, answered.
    GateAnswered { path: Path, answer: Answer },
    /// The gate takes no more answers, though nobody gave one.
    GateClosed { path: Path, why: GateClosed },
    /// A value that must not change on replay: the time, a random number, a decision of the engine.
    ValueRecorded { path: Path, value: Box<RawValue> },
    /// A remark for the reader of the run.
    NoteWritten { path: Path, text: String },
    /// Somebody asked the run to stop.
    CancelRequested { reason: String, by: String },
    /// The run came to an end.
    RunFinished(Box<RunEnding>),
    /// A run that had ended goes on: what stands in `forgets`, and all inside it, counts as not done. Another input
    /// may allow more than the first one did; that may be given to a run that has not ended, too.
    RunReopened { by: String, forgets: Vec<Path>, input: Option<Box<RawValue>> },
}

/// What a run is: said once, at its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) workflow: String,
    pub(crate) version: u32,
    /// The fingerprint of the definition the run was started with.
    pub(crate) definition: Fingerprint,
    /// The phases of the definition, so that a changed one can be named. Empty for imperative workflows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<String>,
    pub(crate) input: Box<RawValue>,
    /// The idempotency key the run was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Origin>,
}

/// The run that a forked or rerun one came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) kind: OriginKind,
    pub(crate) run: RunId,
    /// For a fork: how many events of this journal, from the first, were copied from that run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) copied: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OriginKind {
    Fork,
    Rerun,
}

/// Why a gate was closed without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateClosed {
    /// The deadline passed and there was no default.
    Expired,
    /// The run was asked to stop.
    Cancelled,
    /// The part of the run that asked was abandoned.
    Abandoned,
}

/// What sort of part of the tree a group is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of")]
pub(crate) enum GroupKind {
    /// A name around some steps.
    Group,
    /// A loop that runs its body at most `max` times.
    Loop { max: u32 },
    /// One pass through a loop's body, counted from 1.
    Iteration { n: u32 },
    /// Several items at once; each stands in a group of its own below this one.
    Parallel { items: u32 },
    /// What was decided at a branch.
    Branch { taken: String },
    /// Completed steps are being undone. A run that got here cannot be reopened.
    Compensation,
    /// What runs at the end whatever happened; forgotten when the run is reopened.
    Cleanup,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(crate) struct RunEnding {
    pub(crate) status: Status,
    pub(crate) stop: Option<Stop>,
    pub(crate) output: Option<Box<RawValue>>,
    pub(crate) failure: Option<Failure>,
    pub(crate) reason: Option<String>,
}
