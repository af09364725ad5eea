//! What can go wrong between a caller and the engine. (What goes wrong inside a workflow is a [`Failure`].)
//!
//! [`Failure`]: crate::Failure

use crate::id::RunId;
use crate::journal;
use crate::outcome::Status;
use crate::path::{BadName, Path};
use crate::store;

/// A request that the engine could not fulfil.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The journal of the run cannot be read.
    #[error("the journal of `{run}` cannot be replayed")]
    Journal {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: journal::Error,
    },
    /// A name cannot be used.
    #[error(transparent)]
    BadName(#[from] BadName),
    /// No workflow of that name and version is registered with the engine.
    #[error("no workflow `{name}`{} is registered{}", of_version(*version), suggestion(did_you_mean))]
    UnknownWorkflow {
        /// The name that was asked for.
        name: String,
        /// The version that was asked for, if one was.
        version: Option<u32>,
        /// A registered one that looks like it.
        did_you_mean: Option<String>,
    },
    /// The same name and version was registered twice with different definitions.
    #[error("two different workflows are registered as `{name}` version {version}")]
    DuplicateWorkflow {
        /// The name.
        name: String,
        /// The version.
        version: u32,
    },
    /// The workflow was changed since the run was started.
    #[error("`{run}` was started with another definition of `{workflow}` version {version}: {difference}")]
    DefinitionChanged {
        /// The run.
        run: RunId,
        /// The workflow.
        workflow: String,
        /// Its version.
        version: u32,
        /// The first phase that differs.
        difference: String,
    },
    /// The workflow asked for something else than what the journal holds.
    #[error("`{run}` diverged from its journal at `{path}`: {reason}")]
    Diverged {
        /// The run.
        run: RunId,
        /// Where.
        path: Path,
        /// How.
        reason: String,
        /// The place in the journal before which the two agree.
        fork_at: Path,
    },
    /// The key was used for a run with another input.
    #[error("the key `{key}` was used before, for `{run}`, with another input")]
    KeyReused {
        /// The key.
        key: String,
        /// The run that has it.
        run: RunId,
    },
    /// An input or output does not have the type that was expected of it.
    #[error("the {what} of `{of}` does not fit: {reason}")]
    DoesNotFit {
        /// `input`, `output` or `answer`.
        what: &'static str,
        /// The workflow or the run.
        of: String,
        /// What is wrong.
        reason: String,
    },
    /// The run has come to an end that cannot be taken back.
    #[error("`{run}` has ended ({status}) and cannot be {verb}")]
    Ended {
        /// The run.
        run: RunId,
        /// How it ended.
        status: Status,
        /// What was wanted: `resumed`, `cancelled`, `answered`.
        verb: &'static str,
    },
    /// The failed run has already undone its steps.
    #[error("`{run}` has undone its completed steps, so it cannot go on from where it failed")]
    Compensated {
        /// The run.
        run: RunId,
    },
    /// The workflow went on after the failure that it ended with, so it cannot be taken back alone.
    #[error("`{run}` failed with the failure of `{step}`, but had gone on after it")]
    WentOn {
        /// The run.
        run: RunId,
        /// The step that failed.
        step: Path,
    },
    /// There is no open gate of that name.
    #[error("`{run}` has no open gate `{gate}`{}", suggestion(did_you_mean))]
    NoSuchGate {
        /// The run.
        run: RunId,
        /// The gate that was asked for.
        gate: String,
        /// An open one that looks like it.
        did_you_mean: Option<String>,
    },
    /// The gate was answered before.
    #[error("the gate `{gate}` of `{run}` has been closed already")]
    GateClosed {
        /// The run.
        run: RunId,
        /// The gate.
        gate: Path,
    },
    /// The gate does not offer that choice.
    #[error(
        "the gate `{gate}` does not offer `{choice}`; it offers {}{}",
        listed(options),
        suggestion(did_you_mean)
    )]
    NoSuchChoice {
        /// The gate.
        gate: Path,
        /// The choice that was made.
        choice: String,
        /// What it offers.
        options: Vec<String>,
        /// One that looks like the choice.
        did_you_mean: Option<String>,
    },
    /// There is no such step to fork at.
    #[error("`{run}` has no step `{step}`{}", suggestion(did_you_mean))]
    NoSuchStep {
        /// The run.
        run: RunId,
        /// The step that was asked for.
        step: String,
        /// One that looks like it.
        did_you_mean: Option<String>,
    },
    /// The engine was shut down.
    #[error("the engine was shut down while `{run}` was under way; nothing is lost")]
    ShutDown {
        /// The run.
        run: RunId,
    },
    /// A fault that was asked for: the engine behaves as if its process had been killed.
    #[error("the engine crashed, as it was told to")]
    Crashed,
}

impl Error {
    /// Returns the stable code of this error, see [`explain`](crate::explain).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Journal { source, .. } => source.code(),
            Self::BadName(_) => BadName::CODE,
            Self::UnknownWorkflow { .. } => "unknown-workflow",
            Self::DuplicateWorkflow { .. } => "duplicate-workflow",
            Self::DefinitionChanged { .. } => "definition-changed",
            Self::Diverged { .. } => "diverged",
            Self::KeyReused { .. } => "key-reused",
            Self::DoesNotFit { .. } => "does-not-fit",
            Self::Ended { .. } => "run-ended",
            Self::Compensated { .. } => "run-compensated",
            Self::WentOn { .. } => "run-went-on",
            Self::NoSuchGate { .. } => "no-such-gate",
            Self::GateClosed { .. } => "gate-closed",
            Self::NoSuchChoice { .. } => "no-such-choice",
            Self::NoSuchStep { .. } => "no-such-step",
            Self::ShutDown { .. } => "shut-down",
            Self::Crashed => "crashed",
        }
    }

    /// Says what to do next, as a command where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::DefinitionChanged { run, .. } => format!(
                "register the definition it was started with, under its version; or start over: redraft rerun {run}"
            ),
            Self::Diverged { run, fork_at, .. } => {
                format!(
                    "keep what is the same: redraft fork {run} --at {fork_at}; or start over: redraft rerun {run}"
                )
            }
            Self::Ended { run, verb: "resumed", .. } | Self::Compensated { run } => {
                format!("start a new one from it: redraft fork {run} --at STEP, or redraft rerun {run}")
            }
            Self::WentOn { run, step } => {
                format!("try the step again in a new run: redraft fork {run} --at {step}")
            }
            Self::NoSuchGate { run, .. } | Self::NoSuchStep { run, .. } => {
                format!("see its tree: redraft show {run}")
            }
            Self::KeyReused { .. } => "use another key, or the input it was first used with".to_owned(),
            Self::UnknownWorkflow { .. } => "register it when the engine is built".to_owned(),
            Self::DuplicateWorkflow { .. } => "give the changed one a new version".to_owned(),
            Self::ShutDown { run } => format!("go on with: redraft resume {run}"),
            _ => return None,
        })
    }
}

fn of_version(version: Option<u32>) -> String {
    version.map(|version| format!(" of version {version}")).unwrap_or_default()
}

fn suggestion(word: &Option<String>) -> String {
    word.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

fn listed(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
