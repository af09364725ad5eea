//! What comes out of a refinement: the best judged draft, why the loop stopped, and everything that led there.

use serde::{Deserialize, Serialize};

use super::stall::Tactic;
use crate::failure::Failure;
use crate::llm::{Money, Spend};
use crate::outcome::{Conclusion, Stop};
use crate::verify::{Finding, FindingStatus, Gate};

/// What came of a refinement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Refined {
    /// Why the loop stopped.
    pub stop: Stop,
    /// The best judged draft; nothing if a limit was reached before any was judged.
    pub best: Option<Best>,
    /// Every draft with its verdict, in order.
    pub iterations: Vec<Iteration>,
    /// What it cost, failed calls and judges included.
    pub spend: Spend,
    /// How many drafts were better than the one they were made from.
    pub repaired: u32,
    /// How many were worse.
    pub damaged: u32,
    /// What whoever reads the result should know about how it was judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What kept the loop from going on, where something did: a call that the budget refused, a verifier that could not
    /// judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Failure>,
    /// In whose words it was closed, where agents talk: `approved`, `max_turns`, or a reason of a routing rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// What was said, where agents talk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<Said>,
}

/// What an agent said in its turn, and what it changed: one act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Said {
    /// Who.
    pub speaker: String,
    /// What.
    pub text: String,
    /// Which tool it called, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// What it set in the context.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub sets: serde_json::Map<String, serde_json::Value>,
}

/// The draft that comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Best {
    /// Its iteration, counted from 1.
    pub iteration: u32,
    /// Its score.
    pub score: f64,
    /// The draft.
    pub text: String,
    /// What is still wrong with it.
    pub findings: Vec<Finding>,
}

/// One draft and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Iteration {
    /// Which, counted from 1.
    pub n: u32,
    /// How good it is, from 0.0 to 1.0.
    pub score: f64,
    /// Whether it meets the acceptance criteria.
    pub accepted: bool,
    /// The draft.
    pub text: String,
    /// What was found in it, and what is gone since the draft it was made from.
    pub findings: Vec<Finding>,
    /// What each criterion said.
    pub verdicts: Vec<Opinion>,
    /// How many gates it passed.
    pub gates_passed: u32,
    /// How many gates there are.
    pub gates: u32,
    /// How it was made.
    pub how: How,
    /// Who wrote it: a model's name, or `human`.
    pub by: String,
    /// The iteration it was made from; nothing if it was made from the task alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// Which chain of drafts it belongs to: a new one begins whenever the task is taken up afresh.
    pub chain: u32,
    /// The iteration whose draft it repeats, if it does. The same bytes get that one's verdict; what differs in spaces or
    /// case only is judged all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// How many of its parts were verified before and stayed, where drafts are corrected step by step.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub frozen: u32,
    /// What was done about a stall before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tactic: Option<Tactic>,
    /// How many candidates were judged, of which this is the best.
    pub candidates: u32,
    /// What is good about it and is to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    /// What whoever reads the result should know about how it was judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What one criterion said about a draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Opinion {
    /// The name of the criterion.
    pub verifier: String,
    /// Its score; nothing if it was not asked, because a cheaper gate had failed.
    pub score: Option<f64>,
    /// Its gate.
    pub gate: Gate,
    /// How far the samples of a judge lie apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// How a draft was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum How {
    /// From the task alone.
    Draft,
    /// Written anew from an earlier draft and what was found in it.
    Rewrite,
    /// By replacements in an earlier draft.
    Edits,
    /// By writing the faulty parts of an earlier draft anew.
    Sections,
    /// By writing everything anew from the first faulty part on.
    Stepwise,
    /// By writing the faulty steps of a chain of thought anew, and deriving the answer again.
    Thoughts,
    /// By rewriting from verified facts.
    Facts,
    /// By a person.
    Human,
}

impl Iteration {
    /// Returns what is wrong with the draft.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| !matches!(finding.status, FindingStatus::Fixed | FindingStatus::Waived))
    }

    /// Says whether this draft is better than `other`: accepted before any that is not, then by gates passed, then score,
    /// then fewer blocking findings.
    #[must_use]
    pub fn beats(&self, other: &Self) -> bool {
        let blocking = |it: &Self| it.open().filter(|finding| finding.is_blocking()).count();
        self.accepted
            .cmp(&other.accepted)
            .then(self.gates_passed.cmp(&other.gates_passed))
            .then(self.score.total_cmp(&other.score))
            .then_with(|| blocking(other).cmp(&blocking(self)))
            .is_gt()
    }
}

impl Refined {
    /// Says whether a draft was proven good enough.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.stop == Stop::Accepted
    }

    /// Returns how a run with this result ends.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        if self.is_accepted() { Conclusion::Accepted } else { Conclusion::Exhausted(self.stop) }
    }

    /// Returns what an accepted result cost; nothing if there is none, or a price is unknown.
    #[must_use]
    pub fn cost_per_accepted(&self) -> Option<Money> {
        self.spend.money.filter(|_| self.is_accepted())
    }
}
