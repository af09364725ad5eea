//! Noticing that drafts no longer get better, and what to do about it. Pure.
//!
//! What counts is content: a draft that was there before, a swing between two drafts, the same findings again. How
//! often the loop went round says nothing.

use serde::{Deserialize, Serialize};

use super::likeness;
use super::outcome::Iteration;

/// What to do when the drafts no longer get better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tactic {
    /// See to the weakest criterion above all.
    Focus,
    /// Make more candidates at once.
    Widen,
    /// Let another model write.
    SwitchModel,
    /// Take the task up afresh, without the drafts so far.
    FreshChain,
    /// Ask a person.
    AskHuman,
    /// Stop.
    Stop,
}

impl Tactic {
    /// Says in words what is done.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Focus => "the weakest criterion comes first",
            Self::Widen => "more candidates are made at once",
            Self::SwitchModel => "another model writes",
            Self::FreshChain => "the task is taken up afresh",
            Self::AskHuman => "a person is asked",
            Self::Stop => "that is the end",
        }
    }
}

/// When drafts count as no longer getting better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    /// After how many iterations without a better best draft.
    pub rounds: u32,
    /// How much better it must be to count.
    pub delta: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { rounds: 3, delta: 0.01 }
    }
}

/// How a stall shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// The newest draft was there before.
    Repeat,
    /// Two drafts take turns.
    Oscillation,
    /// The same findings are back, twice in a row.
    SameFindings,
    /// Two drafts in a row are worse than what they were made from.
    Regression,
    /// The best draft has not got better for a while.
    Plateau,
}

impl Signal {
    /// Says in words what happened.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Repeat => "the new draft is one that was there before",
            Self::Oscillation => "two drafts take turns",
            Self::SameFindings => "the same findings came back",
            Self::Regression => "two drafts in a row were worse than what they were made from",
            Self::Plateau => "the best draft has not got better for a while",
        }
    }
}

/// Finds the earlier iteration whose draft says the same, if there is one.
pub(super) fn repeated<'a>(text: &str, history: &'a [Iteration]) -> Option<&'a Iteration> {
    let content = likeness::fingerprint(text);
    history.iter().find(|iteration| likeness::fingerprint(&iteration.text) == content)
}

/// Looks for a stall in the drafts since the last one was dealt with, of which `since` is the first.
pub(super) fn signal(history: &[Iteration], since: usize, plateau: Plateau) -> Option<Signal> {
    let recent = history.get(since..).unwrap_or_default();
    let (last, earlier) = recent.split_last()?;
    if let Some(repeats) = last.repeats {
        return Some(if repeats + 2 == last.n { Signal::Oscillation } else { Signal::Repeat });
    }
    if let Some(before) = earlier.last() {
        if last.from.is_some() && last.from == before.from && same_findings(last, before) {
            return Some(Signal::SameFindings);
        }
        let worse = |it: &Iteration| {
            it.from
                .and_then(|n| history.iter().find(|parent| parent.n == n))
                .is_some_and(|parent| parent.beats(it))
        };
        if worse(last) && worse(before) {
            return Some(Signal::Regression);
        }
    }
    (quiet_rounds(history, since, plateau.delta) >= plateau.rounds.max(1)).then_some(Signal::Plateau)
}

fn same_findings(a: &Iteration, b: &Iteration) -> bool {
    let ids = |it: &Iteration| {
        let mut ids: Vec<_> = it.open().map(|finding| finding.id.clone()).collect();
        ids.sort();
        ids
    };
    let (a, b) = (ids(a), ids(b));
    !a.is_empty() && a == b
}

/// Counts the iterations since the best draft last got better by `delta`, or passed another gate.
fn quiet_rounds(history: &[Iteration], since: usize, delta: f64) -> u32 {
    let mut best: Option<&Iteration> = None;
    let mut quiet = 0;
    for (at, iteration) in history.iter().enumerate() {
        let better = best.is_none_or(|best| {
            iteration.gates_passed > best.gates_passed
                || (iteration.gates_passed == best.gates_passed && iteration.score >= best.score + delta)
        });
        if better {
            quiet = 0;
        } else if at >= since {
            quiet += 1;
        }
        if best.is_none_or(|best| iteration.beats(best)) {
            best = Some(iteration);
        }
    }
    quiet
}
