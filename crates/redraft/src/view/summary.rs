//! A run in a few lines.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::id::RunId;
use crate::journal::state::{Body, GateState, Run, StepResult};
use crate::journal::{GroupKind, OriginKind};
use crate::outcome::{Status, Stop};
use crate::path::Path;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The version of its definition.
    pub version: u32,
    /// How it stands.
    pub status: Status,
    /// Why it stopped, if it did.
    pub stop: Option<Stop>,
    /// The step it is at, or was at last.
    pub at: Option<Path>,
    /// The phase of its definition that this step belongs to: its path without the numbers of iterations.
    pub phase: Option<String>,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// When something last happened.
    pub updated_at: Option<Timestamp>,
    /// How many events it has.
    pub events: u64,
    /// How many of its steps have succeeded.
    pub steps_done: u32,
    /// How many of its steps have failed for good.
    pub steps_failed: u32,
    /// How often it was taken over from its journal.
    pub resumed: u32,
    /// The run it was made from.
    pub origin: Option<SpawnedBy>,
    /// The questions that wait for an answer.
    pub gates: Vec<OpenGate>,
    /// What it started from.
    pub input: Value,
    /// What it returned.
    pub output: Option<Value>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Why it was asked to stop.
    pub cancel_reason: Option<String>,
    /// Who asked.
    pub cancelled_by: Option<String>,
}

/// Where a forked or rerun run came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct SpawnedBy {
    /// `fork` or `rerun`.
    pub by: String,
    /// The run it was made from.
    pub run: RunId,
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct OpenGate {
    /// Where it stands: the name to answer it by.
    pub gate: Path,
    /// The question.
    pub question: String,
    /// The choices.
    pub options: Vec<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When the default is taken, or the gate fails.
    pub deadline: Option<Timestamp>,
}

impl RunSummary {
    pub(crate) fn of(run: RunId, state: &Run) -> Self {
        let steps = || {
            state.entries.iter().filter(|entry| !entry.forgotten).filter_map(|entry| match &entry.body {
                Body::Step { result, .. } => Some((entry, result)),
                _ => None,
            })
        };
        let count = |wanted: fn(&StepResult) -> bool| {
            u32::try_from(steps().filter(|(_, result)| wanted(result)).count()).unwrap_or(u32::MAX)
        };
        let header = state.header.as_deref();
        let ending = state.ending.as_deref();
        let value = |raw: &serde_json::value::RawValue| serde_json::from_str(raw.get()).unwrap_or_default();
        Self {
            run,
            workflow: header.map(|header| header.workflow.clone()).unwrap_or_default(),
            version: header.map_or(0, |header| header.version),
            status: state.status(),
            stop: ending.and_then(|ending| ending.stop),
            at: steps().next_back().map(|(entry, _)| entry.path.clone()),
            phase: steps().next_back().map(|(entry, _)| phase_of(state, &entry.path)),
            started_at: state.started_at,
            updated_at: state.updated_at,
            events: state.seq,
            steps_done: count(|result| matches!(result, StepResult::Done(_))),
            steps_failed: count(|result| matches!(result, StepResult::Failed(_))),
            resumed: state.lives,
            origin: header.and_then(|header| header.origin.as_ref()).map(|origin| SpawnedBy {
                by: match origin.kind {
                    OriginKind::Fork => "fork".to_owned(),
                    OriginKind::Rerun => "rerun".to_owned(),
                },
                run: origin.run,
            }),
            gates: open_gates(state),
            input: header.map(|header| value(&header.input)).unwrap_or_default(),
            output: ending.and_then(|ending| ending.output.as_deref()).map(value),
            failure: ending.and_then(|ending| ending.failure.clone()),
            cancel_reason: state.cancel.as_ref().map(|cancel| cancel.reason.clone()),
            cancelled_by: state.cancel.as_ref().map(|cancel| cancel.by.clone()),
        }
    }
}

fn phase_of(state: &Run, path: &Path) -> String {
    let mut end = 0;
    let mut names = Vec::new();
    for name in path.as_str().split('/') {
        end += name.len();
        let so_far = path.as_str().get(..end).unwrap_or_default();
        end += 1;
        let is_iteration = state
            .entry(so_far)
            .is_some_and(|entry| matches!(entry.body, Body::Group(GroupKind::Iteration { .. })));
        if !is_iteration {
            names.push(name);
        }
    }
    names.join("/")
}

fn open_gates(state: &Run) -> Vec<OpenGate> {
    if state.ending.is_some() {
        return Vec::new();
    }
    let gates = state.entries.iter().filter_map(|entry| match &entry.body {
        Body::Gate { question, deadline, state: GateState::Open } if !entry.forgotten => Some(OpenGate {
            gate: entry.path.clone(),
            question: question.text().to_owned(),
            options: question.options().into_iter().map(str::to_owned).collect(),
            asked_at: entry.opened_at,
            deadline: *deadline,
        }),
        _ => None,
    });
    gates.collect()
}
