//! Judging a draft with real evidence.
//!
//! A [`Verifier`] looks at a [`Case`] (the task, the draft, what was found before) and gives a [`Verdict`]: a score, a
//! gate that passes or fails, and [`Finding`]s that say what is wrong, where, and what to do about it. A verifier that
//! *could not run* gives no verdict but a failure: it is never a low score and never a pass.
//!
//! Nothing here decides what becomes of a draft; that is the loop's business.
//!
//! To add a verifier: implement [`Rule`] if it only looks (pure, no I/O), or [`Verifier`] if it runs programs, asks
//! models or people; add a line to `spec` so that files can name it; and a test that shows what it finds and where.

pub mod call;
pub mod code;
pub mod command;
pub mod files;
pub mod json;
pub mod output;
pub mod sql;
pub mod text;

mod error;
mod facts;
mod fence;
mod finding;
mod human;
mod judge;
mod panel;
mod quote;
mod shorten;
mod undecided;
mod verdict;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::call::Call;
pub use self::code::{CodeConfig, Language};
pub use self::command::{Command, CommandConfig};
pub use self::error::Error;
pub use self::facts::{DocumentConfig, Facts, FactsConfig, Unmentioned};
pub use self::finding::{Finding, FindingId, FindingStatus, Place, Position, Severity};
pub use self::human::{Human, HumanConfig};
pub use self::json::Json;
pub use self::judge::{Criterion, Judge, JudgeConfig, Scale};
pub use self::panel::{Panel, PanelConfig, PanelRule};
pub use self::text::Text;
pub use self::verdict::{Gate, Verdict};
use crate::failure::Failure;
use crate::run::{Ctx, Step};

/// A verifier at work. Dropping it stops it.
pub type Verifying<'a> = Pin<Box<dyn Future<Output = Result<Verdict, Failure>> + Send + 'a>>;

/// What sort of evidence a verifier gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evidence {
    /// The same draft always gets the same verdict, and it is right.
    Sound,
    /// A model's opinion: it varies.
    Statistical,
    /// A person's word.
    Human,
}

/// How dear it is to ask a verifier; the cheapest are asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cost {
    /// Looks at the text.
    Free,
    /// Runs a program.
    Program,
    /// Asks a model.
    Model,
    /// Asks a person.
    Person,
}

/// What is to be judged, and what a judge may know about it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Case {
    /// What was asked for.
    pub task: Arc<str>,
    /// What was made of it.
    pub draft: Arc<str>,
    /// Which iteration the draft is of, counted from 1.
    pub iteration: u32,
    /// What this verifier found in the draft before and is not known to be fixed: a judge answers for each.
    pub earlier: Vec<Finding>,
    /// The best draft so far, if there is one.
    pub incumbent: Option<Incumbent>,
    /// The models that wrote the draft: a judge of the same name is worth a warning.
    pub authors: Vec<String>,
}

/// The best draft so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Incumbent {
    /// Its iteration.
    pub iteration: u32,
    /// Its text.
    pub draft: Arc<str>,
    /// What this verifier gave it, if it did.
    pub score: Option<f64>,
}

impl Case {
    /// Makes a case of a task and a first draft.
    pub fn new(task: impl Into<Arc<str>>, draft: impl Into<Arc<str>>) -> Self {
        Self { task: task.into(), draft: draft.into(), iteration: 1, ..Self::default() }
    }
}

impl Incumbent {
    /// Makes an incumbent.
    pub fn new(iteration: u32, draft: impl Into<Arc<str>>, score: Option<f64>) -> Self {
        Self { iteration, draft: draft.into(), score }
    }
}

/// Judges drafts.
pub trait Verifier: Send + Sync + fmt::Debug + 'static {
    /// Says what sort of evidence it gives.
    fn evidence(&self) -> Evidence;

    /// Says how dear it is to ask.
    fn cost(&self) -> Cost;

    /// Describes everything that decides its verdicts, as data. The criteria of a run are frozen: another description
    /// is another run.
    fn describe(&self) -> Value;

    /// Says in words what a draft must be, for whoever writes it.
    fn demand(&self) -> String;

    /// Judges a draft. What costs money or touches the world is a step of `ctx`, which is the verifier's own scope.
    ///
    /// # Errors
    /// When it could not judge; not when it dislikes the draft.
    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a>;
}

/// A verifier that only looks at the text: the same draft always gets the same verdict, at no cost.
///
/// ```
/// use redraft::verify::{Case, Finding, Rule, Verdict};
///
/// #[derive(Debug)]
/// struct NoShouting;
///
/// impl Rule for NoShouting {
///     fn demand(&self) -> String {
///         "no exclamation marks".to_owned()
///     }
///     fn check(&self, case: &Case) -> Verdict {
///         let found = case.draft.lines().zip(1..).filter(|(line, _)| line.contains('!'));
///         Verdict::of(found.map(|(_, n)| Finding::new("exclamation", "there is an exclamation mark").line(n)))
///     }
/// }
/// assert!(!NoShouting.check(&Case::new("Say hello.", "Hello!")).passes());
/// ```
pub trait Rule: Send + Sync + fmt::Debug + 'static {
    /// Says in words what a draft must be, for whoever writes it.
    fn demand(&self) -> String;

    /// Judges a draft.
    fn check(&self, case: &Case) -> Verdict;

    /// Describes everything that decides its verdicts, as data.
    fn describe(&self) -> Value {
        Value::from(self.demand())
    }
}

impl<R: Rule> Verifier for R {
    fn evidence(&self) -> Evidence {
        Evidence::Sound
    }

    fn cost(&self) -> Cost {
        Cost::Free
    }

    fn describe(&self) -> Value {
        Rule::describe(self)
    }

    fn demand(&self) -> String {
        Rule::demand(self)
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let step = Step::named("check").input(&Rule::describe(self)).input(&case.draft);
            ctx.step(step, || async { Ok::<_, Failure>(self.check(case)) }).await
        })
    }
}
