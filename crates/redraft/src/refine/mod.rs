//! The loop: draft, judge, revise, until a draft is proven good enough or a limit is reached.
//!
//! [`Refine`] says what is wanted ([`task`](Refine::task)), who writes it, what judges it ([`Criterion`]) and how far to
//! go ([`Limits`]). It is a workflow of its own, and can be run inside any other ([`Refine::run_in`]). What comes out is
//! [`Refined`]: always the best *judged* draft, never the last one by default, with the reason why the loop stopped.
//!
//! Where to start reading: `looping` is the loop; `cascade` asks the criteria, cheapest first; `making` writes drafts;
//! `ledger` follows findings from draft to draft; `stall` notices that nothing gets better. The named protocols are in
//! [`protocol`], each a composition of these pieces.

mod cascade;
mod criterion;
mod error;
mod ledger;
mod limits;
mod looping;
mod making;
mod outcome;
mod oversight;
mod payer;
mod stall;

pub mod edits;
pub mod likeness;
pub mod protocol;
pub mod sections;

mod batch;
mod formats;

use std::sync::Arc;

use serde_json::{Value, json};

pub use self::batch::{Batch, BatchResult, Item};
pub use self::criterion::{Accept, Criterion};
pub use self::error::Error;
pub use self::formats::{Format, in_formats};
pub use self::limits::Limits;
pub(crate) use self::looping::summary;
pub use self::making::{Mode, Origin};
pub use self::outcome::{Best, How, Iteration, Opinion, Refined, Said};
pub use self::oversight::Oversight;
use self::payer::{Payer, payer_methods};
pub use self::stall::{Plateau, Signal, Tactic};
use crate::failure::Failure;
use crate::llm::{Model, Prompts, Template};
use crate::path::check_name;
use crate::run::{Boxed, Ctx, Definition};
use crate::verify::{Evidence, Verifier};

/// A refinement: what is wanted, who writes it, what judges it, and how far to go.
///
/// ```
/// use redraft::llm::Scripted;
/// use redraft::refine::{Limits, Refine};
/// use redraft::verify::{Case, Finding, Rule, Verdict};
/// use redraft::{Engine, Stop, store::MemoryStore};
/// use serde_json::json;
///
/// #[derive(Debug)]
/// struct Short;
///
/// impl Rule for Short {
///     fn demand(&self) -> String {
///         "at most five words".to_owned()
///     }
///     fn check(&self, case: &Case) -> Verdict {
///         let words = case.draft.split_whitespace().count();
///         Verdict::of((words > 5).then(|| Finding::new("too-long", format!("has {words} words")).about("words")))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let author = Scripted::new("author", ["The moon pulls at all the seas.", "The moon pulls the sea."]);
/// let refine = Refine::new("tides", author)
///     .task("Say in one short sentence why there are {{ topic }}.")?
///     .verify("short", Short)
///     .limits(Limits::iterations(3))
///     .build()?;
///
/// let engine = Engine::on(MemoryStore::new()).workflow(refine.clone()).open().await?;
/// let run = engine.start(&refine, json!({ "topic": "tides" })).await?;
/// let refined = run.outcome().await?.into_output()?;
/// assert_eq!(refined.stop, Stop::Accepted);
/// assert_eq!(refined.best.unwrap().text, "The moon pulls the sea.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Refine {
    name: Arc<str>,
    task: Template,
    author: Arc<dyn Model>,
    reviser: Option<Arc<dyn Model>>,
    others: Vec<Arc<dyn Model>>,
    criteria: Vec<Criterion>,
    accept: Accept,
    limits: Limits,
    mode: Mode,
    origin: Origin,
    candidates: u32,
    on_stall: Vec<Tactic>,
    ask_all: bool,
    lessons: bool,
    oversight: Oversight,
    prompts: Prompts,
    payer: Payer,
    opening: &'static str,
    keep: Vec<edits::Keep>,
}

impl Refine {
    /// Begins to describe a refinement whose drafts `author` writes. The task is the input unless
    /// [`task`](Self::task) says otherwise: `{{ task }}`.
    pub fn new(name: impl Into<Arc<str>>, author: impl Model) -> Self {
        Self {
            name: name.into(),
            task: Template::literal("task", "{{ task }}"),
            author: Arc::new(author),
            reviser: None,
            others: Vec::new(),
            criteria: Vec::new(),
            accept: Accept::default(),
            limits: Limits::default(),
            mode: Mode::default(),
            origin: Origin::default(),
            candidates: 1,
            on_stall: vec![Tactic::Focus, Tactic::Widen, Tactic::FreshChain, Tactic::Stop],
            ask_all: false,
            lessons: false,
            oversight: Oversight::default(),
            prompts: Prompts::builtin(),
            payer: Payer::default(),
            opening: "draft",
            keep: Vec::new(),
        }
    }

    /// Says what is wanted: a template that is filled in with the input of a run.
    ///
    /// # Errors
    /// If the template cannot be read.
    pub fn task(mut self, template: &str) -> Result<Self, Error> {
        self.task = Template::new("task", template)?;
        Ok(self)
    }

    /// Lets another model than the author revise.
    #[must_use]
    pub fn reviser(mut self, model: impl Model) -> Self {
        self.reviser = Some(Arc::new(model));
        self
    }

    /// Adds a model that may take over when the drafts no longer get better ([`Tactic::SwitchModel`]).
    #[must_use]
    pub fn or_else(mut self, model: impl Model) -> Self {
        self.others.push(Arc::new(model));
        self
    }

    /// Judges drafts by this, too.
    #[must_use]
    pub fn verify(self, name: impl Into<String>, verifier: impl Verifier) -> Self {
        self.criterion(Criterion::new(name, verifier))
    }

    /// Judges drafts by this, too.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criteria.push(criterion);
        self
    }

    /// Says when a draft is good enough.
    #[must_use]
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accept = accept;
        self
    }

    /// Says how far to go.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says how drafts are revised.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Says which draft is revised.
    #[must_use]
    pub fn revise_from(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Makes so many candidates per iteration, side by side; the first that is accepted ends the iteration.
    #[must_use]
    pub fn candidates(mut self, count: u32) -> Self {
        self.candidates = count;
        self
    }

    /// Says what to do when the drafts no longer get better: the first tactic at the first stall, and so on; when there
    /// are no more, the loop stops.
    #[must_use]
    pub fn on_stall(mut self, tactics: impl IntoIterator<Item = Tactic>) -> Self {
        self.on_stall = tactics.into_iter().collect();
        self
    }

    /// Asks every criterion, even if a cheaper gate has failed.
    #[must_use]
    pub fn ask_all(mut self) -> Self {
        self.ask_all = true;
        self
    }

    /// Asks the author for a lesson after every draft that was not better, and keeps the last three.
    #[must_use]
    pub fn lessons(mut self) -> Self {
        self.lessons = true;
        self
    }

    /// Says when people are asked.
    #[must_use]
    pub fn oversight(mut self, oversight: Oversight) -> Self {
        self.oversight = oversight;
        self
    }

    /// Asks with other prompts.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    payer_methods!();

    /// Protects words of a draft: no revision may change them, in whatever mode it is made. What stands between
    /// `<!-- keep -->` and `<!-- /keep -->` is always protected.
    #[must_use]
    pub fn keep(mut self, keep: edits::Keep) -> Self {
        self.keep.push(keep);
        self
    }

    /// Makes the first draft with another prompt than `draft`.
    pub(crate) fn opening(mut self, prompt: &'static str) -> Self {
        self.opening = prompt;
        self
    }

    /// Sees to it that it can be run as it is described.
    ///
    /// # Errors
    /// Says what cannot be.
    pub fn build(self) -> Result<Self, Error> {
        let bad = |what, given: String, wanted| Err(Error::BadNumber { what, given, wanted });
        check_name(&self.name)?;
        if self.criteria.is_empty() {
            return Err(Error::NoCriteria { name: self.name.to_string() });
        }
        for (at, criterion) in self.criteria.iter().enumerate() {
            check_name(&criterion.name)?;
            if self.criteria[..at].iter().any(|other| other.name == criterion.name) {
                return Err(Error::DuplicateCriterion { criterion: criterion.name.clone() });
            }
            if let Some(weight) = criterion.weight.filter(|weight| !(weight.is_finite() && *weight >= 0.0)) {
                return bad("a weight", weight.to_string(), "it must be at least 0");
            }
        }
        if self.limits.iterations == 0 {
            return bad("the limit of iterations", "0".to_owned(), "the least is 1");
        }
        if self.candidates == 0 {
            return bad("the number of candidates", "0".to_owned(), "the least is 1");
        }
        if let Accept::Score(least) = self.accept
            && !(0.0..=1.0).contains(&least)
        {
            return bad("the score to accept", least.to_string(), "it must be from 0 to 1");
        }
        if self.on_stall.contains(&Tactic::SwitchModel) && self.others.is_empty() {
            return Err(Error::BadTactic { tactic: "switch_model", missing: "there is no other model" });
        }
        Ok(self)
    }

    /// Runs it inside another workflow, in a group of its own below `ctx`: it has its own limits and its own bill.
    ///
    /// # Errors
    /// When a draft could not be made, or a model that judges could not be reached. A limit that is reached is not an
    /// error.
    pub async fn run_in(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        self.run_here(&ctx.group(&self.name), input).await
    }

    async fn run_here(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        looping::run(self, &self.payer.paid(ctx, self.limits.allowance()), input).await
    }

    /// Runs it inside a scope that pays for it, and in which the shared budget is counted already.
    async fn run_alone(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        let payer = Payer { shared: None, ..self.payer.clone() };
        looping::run(self, &payer.paid(ctx, self.limits.allowance()), input).await
    }

    pub(crate) fn author_name(&self) -> &str {
        self.author.name()
    }

    /// Everything that decides what is accepted, as data: frozen at the start of a run.
    fn frozen(&self) -> Result<Value, Error> {
        let prompt = |name: &str| self.prompts.fingerprint(name);
        let revise = self.mode.prompt();
        Ok(json!({
            "criteria": self.criteria.iter().map(Criterion::describe).collect::<Vec<_>>(),
            "accept": self.accept.describe(),
            "task": self.task.source(),
            "author": self.author.name(),
            "reviser": self.reviser.as_ref().map(|model| model.name()),
            "mode": self.mode,
            "prompts": { self.opening: prompt(self.opening)?, revise: prompt(revise)? },
        }))
    }

    /// Says what whoever reads the result should know about how it will be judged.
    fn caveats(&self) -> Vec<String> {
        let evidence = |wanted| self.criteria.iter().any(|criterion| criterion.verifier.evidence() == wanted);
        if evidence(Evidence::Sound) || evidence(Evidence::Human) {
            return Vec::new();
        }
        vec!["only models judge: there is no rule, no program and no person among the criteria".to_owned()]
    }
}

impl Definition for Refine {
    type Input = Value;
    type Output = Refined;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        1
    }

    fn run(&self, ctx: Ctx, input: Value) -> Boxed<Result<Refined, Failure>> {
        let refine = self.clone();
        Box::pin(async move {
            let refined = refine.run_here(&ctx, &input).await?;
            ctx.conclude(refined.conclusion());
            Ok(refined)
        })
    }
}

impl std::fmt::Debug for Refine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refine")
            .field("name", &self.name)
            .field("criteria", &self.criteria)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
