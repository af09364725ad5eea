//! How a run stands and how it ended: types that cannot lie.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::RunId;
use crate::path::Path;

/// How a run stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Begun on paper, not driven yet.
    Queued,
    /// Being driven, or ready to be resumed.
    Running,
    /// A gate is open: the run waits for a person.
    Waiting,
    /// A workflow without acceptance criteria came to its end.
    Completed,
    /// A draft was proven good enough.
    Accepted,
    /// A limit was reached first; the best judged draft is the result.
    Exhausted,
    /// The work could not be done.
    Failed,
    /// Somebody asked the run to stop.
    Cancelled,
}

impl Status {
    /// Every status, in the order of a run's life.
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Accepted,
        Self::Exhausted,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Says whether the run has come to an end. (A failed one can still be reopened.)
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Waiting)
    }

    /// Returns the word that stands for the status everywhere: in JSON, in the store, on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Accepted => "accepted",
            Self::Exhausted => "exhausted",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the sign that goes with the word, so that meaning is never in colour alone.
    #[must_use]
    pub fn glyph(self) -> char {
        match self {
            Self::Queued => '○',
            Self::Running => '●',
            Self::Waiting => '◔',
            Self::Completed | Self::Accepted => '✓',
            Self::Exhausted => '△',
            Self::Failed => '✗',
            Self::Cancelled => '⊘',
        }
    }

    /// Finds the status behind a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the loop stopped. Every run with acceptance criteria has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// A draft passed.
    Accepted,
    /// As many drafts were made as were allowed.
    IterationsSpent,
    /// The next call could have exceeded the budget.
    BudgetSpent,
    /// The time allowed is over.
    TimeSpent,
    /// The drafts no longer get better.
    Stalled,
    /// A verifier could not say whether the draft is good.
    Undecidable,
    /// A person said no.
    Rejected,
    /// Somebody asked the run to stop.
    Cancelled,
    /// The work could not be done.
    Failed,
}

/// How a workflow that returned says it went; [`Completed`](Self::Completed) unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conclusion {
    /// It came to its end and had nothing to prove.
    #[default]
    Completed,
    /// A draft was proven good enough.
    Accepted,
    /// It stopped for this reason before any draft was good enough; its output is still usable.
    Exhausted(Stop),
}

impl Conclusion {
    /// Returns the status that a run with this conclusion ends in.
    #[must_use]
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Accepted => Status::Accepted,
            Self::Exhausted(_) => Status::Exhausted,
        }
    }

    /// Returns why the loop stopped, if there was one.
    #[must_use]
    pub fn stop(self) -> Option<Stop> {
        match self {
            Self::Completed => None,
            Self::Accepted => Some(Stop::Accepted),
            Self::Exhausted(stop) => Some(stop),
        }
    }
}

/// How a run ended, or where it waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending<T> {
    /// The workflow returned.
    Done {
        /// How it says it went.
        conclusion: Conclusion,
        /// What it returned.
        output: T,
    },
    /// The work could not be done. [`Engine::resume`](crate::Engine::resume) tries again from the failed step.
    Failed(Failure),
    /// Somebody asked the run to stop.
    Cancelled {
        /// Why.
        reason: String,
        /// What the workflow still returned, if it did.
        output: Option<T>,
    },
    /// Nothing more can happen before one of these gates is answered.
    Waiting {
        /// The open gates.
        gates: Vec<Path>,
    },
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome<T> {
    /// The run.
    pub run: RunId,
    /// How it ended, or where it waits.
    pub ending: Ending<T>,
}

impl<T> Outcome<T> {
    /// Returns the status of the run.
    pub fn status(&self) -> Status {
        match &self.ending {
            Ending::Done { conclusion, .. } => conclusion.status(),
            Ending::Failed(_) => Status::Failed,
            Ending::Cancelled { .. } => Status::Cancelled,
            Ending::Waiting { .. } => Status::Waiting,
        }
    }

    /// Returns why the loop stopped, if there was a loop to stop.
    pub fn stop(&self) -> Option<Stop> {
        match &self.ending {
            Ending::Done { conclusion, .. } => conclusion.stop(),
            Ending::Failed(_) => Some(Stop::Failed),
            Ending::Cancelled { .. } => Some(Stop::Cancelled),
            Ending::Waiting { .. } => None,
        }
    }

    /// Returns what the workflow returned, if it did.
    pub fn output(&self) -> Option<&T> {
        match &self.ending {
            Ending::Done { output, .. } => Some(output),
            Ending::Cancelled { output, .. } => output.as_ref(),
            Ending::Failed(_) | Ending::Waiting { .. } => None,
        }
    }

    /// Takes what the workflow returned.
    ///
    /// # Errors
    /// Gives the failure of a run that failed, was cancelled without output, or still waits.
    pub fn into_output(self) -> Result<T, Failure> {
        match self.ending {
            Ending::Done { output, .. } | Ending::Cancelled { output: Some(output), .. } => Ok(output),
            Ending::Failed(failure) => Err(failure),
            Ending::Cancelled { reason, output: None } => Err(Failure::cancelled(&reason)),
            Ending::Waiting { gates } => Err(Failure::terminal(
                "waiting",
                format!(
                    "the run waits for an answer at {}",
                    gates.iter().map(|gate| format!("`{gate}`")).collect::<Vec<_>>().join(", ")
                ),
            )),
        }
    }
}
