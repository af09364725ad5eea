//! How far a refinement may go.

use std::time::Duration;

use super::stall::Plateau;
use crate::llm::{Allowance, Money};

/// How far a refinement may go; what is not given is not limited, but there are always at most so many iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// How many drafts may be made. Every one is judged.
    pub iterations: u32,
    /// How much may be spent.
    pub cost: Option<Money>,
    /// How many tokens may be read and written.
    pub tokens: Option<u64>,
    /// How many calls may be made.
    pub calls: Option<u64>,
    /// How long it may take. Looked at before each iteration: a call under way is not cut off, it has a limit of its
    /// own. Time in which nobody drives the run does not count.
    pub time: Option<Duration>,
    /// When the drafts count as no longer getting better.
    pub plateau: Plateau,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: 5, cost: None, tokens: None, calls: None, time: None, plateau: Plateau::default() }
    }
}

impl Limits {
    /// Allows so many drafts.
    #[must_use]
    pub fn iterations(iterations: u32) -> Self {
        Self { iterations, ..Self::default() }
    }

    pub(super) fn allowance(&self) -> Allowance {
        Allowance { money: self.cost, tokens: self.tokens, calls: self.calls }
    }
}
