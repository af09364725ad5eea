//! A budget: no call is made that could cost more than is left.
//!
//! Before a call the most it could cost is reserved ([`Budget::reserve`]), after it what it did cost is booked
//! ([`Reservation::settle`]) and the rest is free again. Budgets nest (a run, in it an iteration, in it candidates):
//! what is reserved or booked in a part counts in every budget around it, and must fit in all of them.
//!
//! The invariant: as long as providers count no more tokens than were reserved, *booked + reserved ≤ allowance* holds
//! in every budget at every moment, whatever runs at the same time. Nothing here waits or asks a model. The engine writes
//! down what each step spent; [`Ctx::budget`] makes a budget that knows what a resumed run has spent before.
//! Start reading at [`Budget::reserve`].

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Money, Price, PriceTable, Request, Usage};
use crate::failure::{Fault, Retry};
use crate::run::Ctx;
use crate::spend::{Meter, Spend};

/// What may be spent; what is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Dollars.
    pub money: Option<Money>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Calls, the failed ones included.
    pub calls: Option<u64>,
}

impl Allowance {
    /// Returns what both allow.
    fn and(self, other: Self) -> Self {
        fn tighter<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            money: tighter(self.money, other.money),
            tokens: tighter(self.tokens, other.tokens),
            calls: tighter(self.calls, other.calls),
        }
    }
}

/// What there may be too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// Dollars, counted in micro-dollars.
    Money,
    /// Tokens, read and written.
    Tokens,
    /// Calls.
    Calls,
}

impl Resource {
    fn amount(self, count: u64) -> String {
        match (self, count) {
            (Self::Money, micros) => Money::from_micros(micros).to_string(),
            (Self::Tokens, 1) => "1 token".to_owned(),
            (Self::Tokens, _) => format!("{count} tokens"),
            (Self::Calls, 1) => "1 call".to_owned(),
            (Self::Calls, _) => format!("{count} calls"),
        }
    }
}

/// A call that was not made, for the sake of the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The call could take more than is left.
    #[error("the budget has {} left, and the next call could take {}", what.amount(*left), what.amount(*needed))]
    Spent {
        /// What there is too little of.
        what: Resource,
        /// How much of it is left, where least is left of it.
        left: u64,
        /// How much the call could take.
        needed: u64,
    },
    /// There is a limit in money, and the model's price is not known.
    #[error("the budget is limited in money, and the price of `{model}` is unknown")]
    PriceUnknown {
        /// The model.
        model: String,
    },
}

impl Fault for BudgetError {
    fn code(&self) -> &str {
        match self {
            Self::Spent { .. } => "budget-spent",
            Self::PriceUnknown { .. } => "price-unknown",
        }
    }

    fn retry(&self) -> Retry {
        Retry::Never
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Spent { .. } => "raise the limit, then go on: redraft resume RUN".to_owned(),
            Self::PriceUnknown { model } => format!(
                "say what it costs with `PriceTable::with(\"{model}\", …)`, or limit tokens instead of money"
            ),
        })
    }
}

/// What may be spent on models, and what has been. A clone is the same budget.
///
/// ```
/// use redraft::llm::{Allowance, Budget, PriceTable, Request, Usage};
///
/// let prices = PriceTable::builtin();
/// let run = Budget::new(Allowance { money: Some("$0.01".parse()?), ..Allowance::default() });
/// let iteration = run.part(Allowance { calls: Some(3), ..Allowance::default() });
///
/// let reservation = iteration.reserve("openai:gpt-5-mini", &Request::new("Hello?"), &prices)?;
/// // … the call is made, and answers …
/// reservation.settle(Usage::new(812, 240));
///
/// assert_eq!(run.spent().money, Some("$0.000683".parse()?));
/// assert_eq!(iteration.left().calls, Some(2));
///
/// let book = Request { max_output_tokens: 100_000, ..Request::new("Write a book.") };
/// assert!(iteration.reserve("openai:gpt-5-mini", &book, &prices).is_err(), "it could cost 20 cents");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    ledgers: Ledgers,
}

/// A budget's own ledger, and all that must be written to: its own and those around it.
///
/// Whoever writes locks all of them, so that a reservation is in all of them or in none; in the order of their
/// addresses, which is the same for everybody, so no two can wait for each other.
#[derive(Clone, Debug)]
struct Ledgers {
    all: Arc<[Arc<Mutex<Ledger>>]>,
    own: Arc<Mutex<Ledger>>,
}

impl Budget {
    /// Makes a budget of its own.
    #[must_use]
    pub fn new(allowance: Allowance) -> Self {
        Self { ledgers: Ledgers::within([], Ledger::new(allowance)) }
    }

    /// Makes a budget that only counts.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(Allowance::default())
    }

    /// Makes a budget within this one: what is spent there is spent here.
    #[must_use]
    pub fn part(&self, allowance: Allowance) -> Self {
        Self { ledgers: Ledgers::within(self.ledgers.all.iter().cloned(), Ledger::new(allowance)) }
    }

    /// Lets `shared` pay too for what is paid from here: `spent` is what was spent here in all lives of a run, known to
    /// it by `name`. What it does not know of yet is booked there.
    pub(crate) fn paid_by_too(&self, shared: &Self, name: String, spent: &Spend) -> Self {
        let is_inside = self.ledgers.all.iter().any(|ledger| Arc::ptr_eq(ledger, &shared.ledgers.own));
        if !is_inside {
            let part = Arc::clone(&self.ledgers.own);
            let before = shared.ledgers.own().parts.insert(name, part);
            let known = before.map(|part| lock(&part).spent).unwrap_or_default();
            shared.restore(&spent.beyond(&known));
        }
        let around = self.ledgers.all.iter().chain(shared.ledgers.all.iter()).cloned();
        Self { ledgers: Ledgers::within(around, Arc::clone(&self.ledgers.own)) }
    }

    /// Makes a part that has spent something already, all of which is booked here.
    pub(crate) fn part_after(&self, allowance: Allowance, spent: Spend) -> Self {
        let part = self.part(allowance);
        part.ledgers.own().spent = spent;
        part
    }

    /// Reserves the most that a call could cost: one call; as many tokens as the request has bytes, and as many as the
    /// model may write; and their price.
    ///
    /// # Errors
    /// [`BudgetError::Spent`] if that is more than is left here or in a budget around it,
    /// [`BudgetError::PriceUnknown`] if one of them is limited in money and the model has no price. Nothing is changed
    /// then.
    pub fn reserve(
        &self,
        model: &str,
        request: &Request,
        prices: &PriceTable,
    ) -> Result<Reservation, BudgetError> {
        let usage = most(request);
        let price = prices.price_of(model);
        let money = price.map(|price| price.at_worst().cost(usage));

        let mut ledgers = self.ledgers.lock();
        let left = left(&ledgers);
        if left.money.is_some() && money.is_none() {
            return Err(BudgetError::PriceUnknown { model: model.to_owned() });
        }
        for (what, left, needed) in [
            (Resource::Calls, left.calls, 1),
            (Resource::Tokens, left.tokens, usage.total()),
            (Resource::Money, left.money.map(Money::micros), money.map_or(0, Money::micros)),
        ] {
            if let Some(left) = left.filter(|left| needed > *left) {
                return Err(BudgetError::Spent { what, left, needed });
            }
        }
        for ledger in &mut ledgers {
            ledger.reserved.add(usage, money);
        }
        drop(ledgers);
        let meter = Meter::current();
        Ok(Reservation { ledgers: self.ledgers.clone(), meter, usage, price, money, is_open: true })
    }

    /// Adds what a journal says was spent, here and in every budget around it. Nothing is refused: it is spent.
    ///
    /// Each call is to be given once, to the budget it was made in; giving it to those around it as well would count it
    /// twice. If what it cost is not known, nothing that costs money fits a limit in money any more.
    pub fn restore(&self, spend: &Spend) {
        for ledger in &mut self.ledgers.lock() {
            ledger.spent += *spend;
        }
    }

    /// Returns what was booked here and in the parts of this budget. What is only reserved is not in it.
    #[must_use]
    pub fn spent(&self) -> Spend {
        self.ledgers.own().spent
    }

    /// Returns what a new call may still take, here and in every budget around it: what is reserved is not left.
    #[must_use]
    pub fn left(&self) -> Allowance {
        left(&self.ledgers.lock())
    }
}

impl Ctx {
    /// Makes a budget for what is done from here on down. What has been spent here before, in an earlier life of the
    /// run too, is booked in it already.
    #[must_use]
    pub fn budget(&self, allowance: Allowance) -> Budget {
        let budget = Budget::new(allowance);
        budget.restore(&self.spent());
        budget
    }

    /// Makes a part of a budget for what is done from here on down: the budget is one that
    /// [`budget`](Self::budget) made for this scope or one around it.
    #[must_use]
    pub fn part_of(&self, budget: &Budget, allowance: Allowance) -> Budget {
        budget.part_after(allowance, self.spent())
    }
}

impl Ledgers {
    fn within(around: impl IntoIterator<Item = Arc<Mutex<Ledger>>>, own: Arc<Mutex<Ledger>>) -> Self {
        let mut all: Vec<_> = around.into_iter().chain([Arc::clone(&own)]).collect();
        all.sort_by_key(|ledger| Arc::as_ptr(ledger).addr());
        all.dedup_by(|a, b| Arc::ptr_eq(a, b));
        Self { all: all.into(), own }
    }

    fn lock(&self) -> Vec<MutexGuard<'_, Ledger>> {
        self.all.iter().map(|ledger| lock(ledger)).collect()
    }

    fn own(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.own)
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn left(ledgers: &[MutexGuard<'_, Ledger>]) -> Allowance {
    ledgers.iter().map(|ledger| ledger.left()).fold(Allowance::default(), Allowance::and)
}

/// What one budget knows. Its parts' calls are in it.
#[derive(Debug)]
struct Ledger {
    allowance: Allowance,
    spent: Spend,
    reserved: Reserved,
    /// What each run has that pays from here, so that one that is resumed is not booked again.
    parts: HashMap<String, Arc<Mutex<Ledger>>>,
}

impl Ledger {
    fn new(allowance: Allowance) -> Arc<Mutex<Self>> {
        let (spent, reserved) = (Spend::default(), Reserved::default());
        Arc::new(Mutex::new(Self { allowance, spent, reserved, parts: HashMap::new() }))
    }

    fn left(&self) -> Allowance {
        let Self { allowance, spent, reserved, .. } = self;
        let rest = |limit: u64, spent: u64, reserved: u128| {
            let rest = u128::from(limit).saturating_sub(u128::from(spent).saturating_add(reserved));
            u64::try_from(rest).unwrap_or(limit)
        };
        Allowance {
            money: allowance.money.map(|limit| match spent.money {
                Some(money) => Money::from_micros(rest(limit.micros(), money.micros(), reserved.micros)),
                // Only a journal can say so: here no call without a price is let into a limit in money.
                None => Money::ZERO,
            }),
            tokens: allowance.tokens.map(|limit| rest(limit, spent.usage.total(), reserved.tokens)),
            calls: allowance.calls.map(|limit| rest(limit, spent.calls, reserved.calls)),
        }
    }
}

/// What the calls under way could cost. Wider than what can be booked, so that sums neither wrap nor saturate: what
/// goes in comes out again.
#[derive(Debug, Default)]
struct Reserved {
    calls: u128,
    tokens: u128,
    micros: u128,
}

impl Reserved {
    fn add(&mut self, usage: Usage, money: Option<Money>) {
        self.calls += 1;
        self.tokens += u128::from(usage.total());
        self.micros += u128::from(money.unwrap_or_default().micros());
    }

    fn remove(&mut self, usage: Usage, money: Option<Money>) {
        self.calls -= 1;
        self.tokens -= u128::from(usage.total());
        self.micros -= u128::from(money.unwrap_or_default().micros());
    }
}

/// A call that may be made: its share of the budget is set aside.
///
/// Dropped without a word, it is booked *whole*: a call that was cancelled under way may have been paid for, and a
/// budget must rather stop too early than too late.
#[derive(Debug)]
#[must_use = "dropped at once, it is booked as a call that was made and cost the most it could"]
pub struct Reservation {
    ledgers: Ledgers,
    /// Of the attempt in which it was made, so that the journal tells what the step spent.
    meter: Option<Meter>,
    usage: Usage,
    price: Option<Price>,
    money: Option<Money>,
    is_open: bool,
}

impl Reservation {
    /// Returns the most that the call may read and write.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the most that the call may cost, if its price is known.
    #[must_use]
    pub fn money(&self) -> Option<Money> {
        self.money
    }

    /// Books what the call used, frees the rest, and returns what was booked.
    ///
    /// A provider may count more than was reserved. That is booked in full, so a budget may be overdrawn by the calls
    /// that were under way; from then on every call that needs any of what is overdrawn is refused.
    pub fn settle(mut self, usage: Usage) -> Spend {
        let money = self.price.map(|price| price.cost(usage));
        self.book(Spend { calls: 1, usage, money })
    }

    /// Books a call that failed, frees the rest, and returns what was booked.
    ///
    /// Without a usage only the call is counted, no tokens and no money: right for a call that the provider turned
    /// away. One that may have been answered and paid for without anybody knowing is dropped instead.
    pub fn settle_failed(self, usage: Option<Usage>) -> Spend {
        self.settle(usage.unwrap_or_default())
    }

    /// Gives everything back: the call was never made.
    pub fn release(mut self) {
        self.close(None);
    }

    fn book(&mut self, spend: Spend) -> Spend {
        self.close(Some(spend));
        spend
    }

    fn close(&mut self, booked: Option<Spend>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        if let (Some(meter), Some(spend)) = (&self.meter, booked) {
            meter.add(spend);
        }
        for ledger in &mut self.ledgers.lock() {
            ledger.reserved.remove(self.usage, self.money);
            if let Some(spend) = booked {
                ledger.spent += spend;
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.close(Some(Spend { calls: 1, usage: self.usage, money: self.money }));
    }
}

/// What providers say to a model by themselves when there are tools, or a shape that is asked for as one: the longest
/// known is Anthropic's, with 530 tokens.
const TOOL_PROMPT: u64 = 600;

/// Bounds what a call can use from above.
///
/// A token is at least one byte, so there are no more tokens than bytes. The request is measured as JSON: its
/// punctuation and field names are longer than the marks that chat formats put around each message.
fn most(request: &Request) -> Usage {
    let mut bytes = Bytes(0);
    // Strings and JSON always serialise. If ever they did not, no limit in tokens or money would let them pass.
    let sent = serde_json::to_writer(&mut bytes, request).map_or(u64::MAX, |()| bytes.0);
    let has_tools = !request.tools.is_empty() || request.schema.is_some();
    let added = if has_tools { TOOL_PROMPT } else { 0 };
    Usage::new(sent.saturating_add(added), u64::from(request.max_output_tokens))
}

/// Counts what is written to it.
struct Bytes(u64);

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
