//! Many inputs, one refinement: side by side, under one budget. One that fails does not sink the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Refine;
use super::outcome::Refined;
use crate::failure::Failure;
use crate::llm::{Allowance, Money, Spend};
use crate::outcome::{Conclusion, Stop};
use crate::run::{Boxed, Ctx, Definition};

/// A refinement of many inputs in one run.
///
/// Each input is refined as if it were alone; all of them together may spend what the batch is allowed.
#[derive(Clone, Debug)]
pub struct Batch {
    refine: Refine,
    at_once: usize,
    allowance: Allowance,
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchResult {
    /// What came of each input, in order.
    pub items: Vec<Item>,
    /// How many were accepted.
    pub accepted: usize,
    /// What all of them cost.
    pub spend: Spend,
    /// What an accepted result cost on average; nothing if there is none, or a price is unknown.
    pub cost_per_accepted: Option<Money>,
}

/// What came of one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// It was refined.
    Refined(Box<Refined>),
    /// It could not be.
    Failed(Failure),
}

impl Item {
    /// Returns what came out, if anything did.
    #[must_use]
    pub fn refined(&self) -> Option<&Refined> {
        match self {
            Self::Refined(refined) => Some(refined),
            Self::Failed(_) => None,
        }
    }
}

impl Batch {
    /// Refines inputs, at most `at_once` of them at the same time.
    #[must_use]
    pub fn of(refine: Refine, at_once: usize) -> Self {
        Self { refine, at_once, allowance: Allowance::default() }
    }

    /// Lets all of them together spend this much.
    #[must_use]
    pub fn allowing(mut self, allowance: Allowance) -> Self {
        self.allowance = allowance;
        self
    }

    /// Runs it inside another workflow, in a group of its own below `ctx`.
    ///
    /// # Errors
    /// When the run is cancelled. An input that fails is an [`Item::Failed`].
    pub async fn run_in(&self, ctx: &Ctx, inputs: Vec<Value>) -> Result<BatchResult, Failure> {
        self.run_here(&ctx.group(self.refine.name()), inputs).await
    }

    async fn run_here(&self, ctx: &Ctx, inputs: Vec<Value>) -> Result<BatchResult, Failure> {
        let scope = self.refine.payer.paid(ctx, self.allowance);
        let work = |ctx: Ctx, input: Value| async move { self.refine.run_alone(&ctx, &input).await };
        let ended = scope.parallel("inputs", inputs, self.at_once, work).await;
        let mut items = Vec::with_capacity(ended.len());
        for result in ended {
            items.push(match result {
                Ok(refined) => Item::Refined(Box::new(refined)),
                Err(failure) if failure.is_cancelled() => return Err(failure),
                Err(failure) => Item::Failed(failure),
            });
        }
        let accepted = items.iter().filter(|item| item.refined().is_some_and(Refined::is_accepted)).count();
        let spend = scope.spent();
        let cost_per_accepted = spend.money.zip(u64::try_from(accepted).ok().filter(|count| *count > 0));
        let cost_per_accepted =
            cost_per_accepted.map(|(money, count)| Money::from_micros(money.micros().div_ceil(count)));
        Ok(BatchResult { items, accepted, spend, cost_per_accepted })
    }
}

impl Definition for Batch {
    type Input = Vec<Value>;
    type Output = BatchResult;

    fn name(&self) -> &str {
        self.refine.name()
    }

    fn version(&self) -> u32 {
        1
    }

    fn run(&self, ctx: Ctx, inputs: Vec<Value>) -> Boxed<Result<BatchResult, Failure>> {
        let batch = self.clone();
        Box::pin(async move {
            let result = batch.run_here(&ctx, inputs).await?;
            let all = result.accepted == result.items.len();
            // The first reason that was not acceptance stands for the batch.
            let stops =
                result.items.iter().map(|item| item.refined().map_or(Stop::Failed, |refined| refined.stop));
            let stop = stops.into_iter().find(|stop| *stop != Stop::Accepted).unwrap_or(Stop::Accepted);
            ctx.conclude(if all { Conclusion::Accepted } else { Conclusion::Exhausted(stop) });
            Ok(result)
        })
    }
}
