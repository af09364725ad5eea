//! What was spent on models, and the meter that every attempt at a step has.
//!
//! [`Spend`] stands in the journal beside the step that spent it. Whoever pays for a call ([`Budget`](crate::llm::Budget))
//! notes it on the meter of the attempt under way; the engine reads the meter when the attempt ends.

use std::fmt;
use std::future::Future;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::money::Money;

/// What a call cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// What was read, the cached part included.
    pub input_tokens: u64,
    /// What was written, the reasoning included.
    pub output_tokens: u64,
    /// The part of the input that came from the provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// The part of the output that was reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Makes a usage of so much read and so much written.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }

    /// Returns everything that was read and written.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(more.reasoning_tokens);
    }
}

/// What was spent.
///
/// It serialises as `{"calls", "input_tokens", "output_tokens", "usd"}`, where `usd` is a decimal string, or null if it
/// is not known. How much of the tokens was cached or reasoning is not kept: no limit depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SpendJson", into = "SpendJson")]
pub struct Spend {
    /// How many calls were made.
    pub calls: u64,
    /// What they read and wrote.
    pub usage: Usage,
    /// What they cost; nothing as soon as the price of one of them was unknown.
    pub money: Option<Money>,
}

/// Nothing was spent, and that is known.
impl Default for Spend {
    fn default() -> Self {
        Self { calls: 0, usage: Usage::default(), money: Some(Money::ZERO) }
    }
}

impl Spend {
    /// Returns what this is more than `known`. If what it cost is not known, that is not known of the rest either.
    pub(crate) fn beyond(&self, known: &Self) -> Self {
        let usage = Usage::new(
            self.usage.input_tokens.saturating_sub(known.usage.input_tokens),
            self.usage.output_tokens.saturating_sub(known.usage.output_tokens),
        );
        let money = match (self.money, known.money) {
            (Some(money), Some(known)) => {
                Some(Money::from_micros(money.micros().saturating_sub(known.micros())))
            }
            // It was booked as unknown when it became so.
            (None, None) => Some(Money::ZERO),
            _ => None,
        };
        Self { calls: self.calls.saturating_sub(known.calls), usage, money }
    }

    /// Says whether nothing was spent.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// For people: `812→240 tok  $0.019`.
impl fmt::Display for Spend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{} tok  ", self.usage.input_tokens, self.usage.output_tokens)?;
        match self.money {
            Some(money) => write!(f, "{money}"),
            None => f.write_str("price unknown"),
        }
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, more: Self) {
        self.calls = self.calls.saturating_add(more.calls);
        self.usage += more.usage;
        self.money = self.money.zip(more.money).map(|(money, more)| money.saturating_add(more));
    }
}

impl std::iter::Sum for Spend {
    fn sum<I: Iterator<Item = Self>>(spends: I) -> Self {
        let mut sum = Self::default();
        spends.for_each(|spend| sum += spend);
        sum
    }
}

#[derive(Serialize, Deserialize)]
struct SpendJson {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    usd: Option<Money>,
}

impl From<Spend> for SpendJson {
    fn from(Spend { calls, usage, money }: Spend) -> Self {
        Self { calls, input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, usd: money }
    }
}

impl From<SpendJson> for Spend {
    fn from(json: SpendJson) -> Self {
        Self { calls: json.calls, usage: Usage::new(json.input_tokens, json.output_tokens), money: json.usd }
    }
}

tokio::task_local! {
    static METER: Meter;
}

/// Counts what one attempt at a step spends. A clone is the same meter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Spend>>);

impl Meter {
    /// Returns the meter of the attempt under way, if there is one. Work that a step spawns as a task of its own has
    /// none: it is paid for, but the journal does not see it.
    pub(crate) fn current() -> Option<Self> {
        METER.try_with(Clone::clone).ok()
    }

    /// Lets `work` run under this meter.
    pub(crate) fn over<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        METER.scope(self.clone(), work)
    }

    pub(crate) fn add(&self, spend: Spend) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += spend;
    }

    /// Returns what was spent, if anything was.
    pub(crate) fn read(&self) -> Option<Spend> {
        let spend = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!spend.is_nothing()).then_some(spend)
    }
}
