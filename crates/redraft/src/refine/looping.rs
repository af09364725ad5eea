//! The loop itself. What it decides follows from the journal alone, so a resumed run decides the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::cascade::{self, Trial};
use super::criterion::Judgement;
use super::making::{self, Made, Writing};
use super::outcome::{Best, How, Iteration, Refined};
use super::oversight::{self, Decision};
use super::stall::{self, Signal, Tactic};
use super::{Origin, Refine, edits, ledger};
use crate::failure::Failure;
use crate::llm::Model;
use crate::outcome::Stop;
use crate::run::{Ctx, Step};
use crate::verify::{Finding, Gate};

/// How many lessons are kept: more only confuse.
const MOST_LESSONS: usize = 3;
/// How many candidates are made when a stall calls for more.
const WIDENED: u32 = 3;

/// Runs a refinement in a scope that pays for it.
pub(super) async fn run(refine: &Refine, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
    let task: Arc<str> = refine.task.render(input)?.trim().into();
    freeze(refine, ctx, &task).await?;

    let mut progress = Progress::default();
    let round = Round { refine, ctx, task: &task };
    let halt = match round.go(&mut progress).await {
        Ok(halt) => halt,
        Err(failure) if failure.is_cancelled() => Halt { stop: Stop::Cancelled, because: None },
        Err(failure) => return Err(failure),
    };
    let refined = progress.into_refined(refine, halt, ctx.spent());
    ctx.summarize(&summary(&refined));
    Ok(refined)
}

/// Writes the criteria down. On replay another set of criteria is a divergence: the bar cannot drift.
async fn freeze(refine: &Refine, ctx: &Ctx, task: &str) -> Result<(), Failure> {
    let mut frozen = refine.frozen()?;
    frozen["asked"] = json!(task);
    let step = Step::named("criteria").input(&frozen);
    ctx.step(step, || async { Ok::<_, Failure>(frozen.clone()) }).await.map(drop)
}

/// Why the loop ends.
struct Halt {
    stop: Stop,
    because: Option<Failure>,
}

impl Halt {
    fn at(stop: Stop) -> Self {
        Self { stop, because: None }
    }

    /// Says whether a failure ends the loop with what it has, or the run.
    fn of(failure: Failure, judging: bool) -> Result<Self, Failure> {
        match stop_of(&failure, judging) {
            Some(stop) => Ok(Self { stop, because: Some(failure) }),
            None => Err(failure),
        }
    }
}

/// Says why a loop stops in which something failed; nothing if the run fails.
pub(super) fn stop_of(failure: &Failure, judging: bool) -> Option<Stop> {
    match failure.code.as_str() {
        "budget-spent" => Some(Stop::BudgetSpent),
        // Whoever says what the model costs can resume the run.
        Failure::CANCELLED | "price-unknown" => None,
        // A model that cannot be reached may be reached later: the run fails and can be resumed.
        code if !judging || (code.starts_with("model-") && code != "model-malformed") => None,
        _ => Some(Stop::Undecidable),
    }
}

/// What the next draft is to be.
pub(super) struct Plan {
    pub(super) how: How,
    /// The iteration it is made from.
    pub(super) from: Option<u32>,
    /// A person's own draft.
    pub(super) edited: Option<String>,
    pub(super) model: Arc<dyn Model>,
    pub(super) candidates: u32,
    pub(super) focus: Option<String>,
    tactic: Option<Tactic>,
}

/// How far the loop has come: a fold of its iterations.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) iterations: Vec<Iteration>,
    pub(super) lessons: Vec<String>,
    chain: u32,
    /// How many stalls were dealt with, and which iteration is the first since.
    stalls: usize,
    since: usize,
    /// What the next draft is to be made with.
    next: Next,
    /// The other model that writes now, counted from 1.
    switched: usize,
    repaired: u32,
    damaged: u32,
}

/// What was decided for the next draft alone.
#[derive(Default)]
struct Next {
    edited: Option<String>,
    focus: Option<String>,
    widened: bool,
    fresh: bool,
    tactic: Option<Tactic>,
}

impl Progress {
    pub(super) fn iteration(&self, n: u32) -> Option<&Iteration> {
        self.iterations.iter().find(|iteration| iteration.n == n)
    }

    /// The drafts that led to one, itself the first.
    fn line(&self, from: Option<u32>) -> Vec<&Iteration> {
        let first = from.and_then(|n| self.iteration(n));
        std::iter::successors(first, |it| it.from.and_then(|n| self.iteration(n))).collect()
    }

    /// The best judged draft; on a tie the earlier one.
    fn best(&self) -> Option<&Iteration> {
        best_of(self.iterations.iter())
    }

    fn plan(&mut self, refine: &Refine) -> Plan {
        let next = std::mem::take(&mut self.next);
        if next.fresh || self.iterations.is_empty() {
            self.chain += 1;
        }
        let of_chain = || self.iterations.iter().filter(|iteration| iteration.chain == self.chain);
        let from = match refine.origin {
            Origin::Best => best_of(of_chain()),
            Origin::Last => of_chain().next_back(),
        };
        let from = from.map(|iteration| iteration.n);
        let how = match (&next.edited, from) {
            (Some(_), _) => How::Human,
            (None, None) => How::Draft,
            (None, Some(_)) => refine.mode.how(),
        };
        Plan {
            how,
            from,
            model: making::writer(refine, from.is_some(), self.switched),
            // A person's draft needs no rivals.
            candidates: match (&next.edited, next.widened) {
                (Some(_), _) => 1,
                (None, true) => refine.candidates.max(WIDENED),
                (None, false) => refine.candidates,
            },
            edited: next.edited,
            focus: next.focus,
            tactic: next.tactic,
        }
    }

    fn add(&mut self, iteration: Iteration) {
        if let Some(parent) = iteration.from.and_then(|n| self.iteration(n)) {
            let (better, worse) = (iteration.beats(parent), parent.beats(&iteration));
            self.repaired += u32::from(better);
            self.damaged += u32::from(worse);
        }
        self.iterations.push(iteration);
    }

    fn learn(&mut self, lesson: String) {
        self.lessons.push(lesson);
        let surplus = self.lessons.len().saturating_sub(MOST_LESSONS);
        self.lessons.drain(..surplus);
    }

    fn into_refined(self, refine: &Refine, halt: Halt, spend: crate::llm::Spend) -> Refined {
        let best = self.best().map(|best| Best {
            iteration: best.n,
            score: best.score,
            text: best.text.clone(),
            findings: best.open().cloned().collect(),
        });
        let mut warnings = refine.caveats();
        for warning in self.iterations.iter().flat_map(|iteration| &iteration.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        Refined {
            stop: halt.stop,
            best,
            iterations: self.iterations,
            spend,
            repaired: self.repaired,
            damaged: self.damaged,
            warnings,
            because: halt.because,
            closed: None,
            transcript: Vec::new(),
        }
    }
}

/// The best of some drafts; on a tie the earlier one, because a challenger must beat the incumbent.
fn best_of<'a>(iterations: impl Iterator<Item = &'a Iteration>) -> Option<&'a Iteration> {
    iterations.reduce(|best, next| if next.beats(best) { next } else { best })
}

/// Everything that stays the same from iteration to iteration.
struct Round<'a> {
    refine: &'a Refine,
    ctx: &'a Ctx,
    task: &'a Arc<str>,
}

/// A draft with its verdict, before it is known whether it is the one of its iteration.
struct Candidate {
    made: Made,
    judgement: Judgement,
    repeats: Option<u32>,
}

impl Round<'_> {
    async fn go(&self, progress: &mut Progress) -> Result<Halt, Failure> {
        let limits = &self.refine.limits;
        let began = if limits.time.is_some() { self.ctx.elapsed().await } else { Duration::ZERO };
        let mut most = limits.iterations;
        let mut n = 1;
        loop {
            let ctx = self.ctx.iteration(n);
            // What a person wrote is judged, however long they took.
            if let Some(time) = limits.time
                && progress.next.edited.is_none()
                && ctx.elapsed().await.saturating_sub(began) >= time
            {
                return Ok(Halt::at(Stop::TimeSpent));
            }
            let accepted = match self.iterate(&ctx, n, progress).await? {
                Ok(accepted) => accepted,
                Err(halt) => return Ok(halt),
            };
            self.ctx.summarize(&brief_summary(progress));
            if accepted {
                return Ok(Halt::at(Stop::Accepted));
            }
            let at_cap = n == most;
            let mut goes_on = progress.next.edited.is_some();
            if !goes_on && let Some(why) = self.asks_people(at_cap) {
                let decided = oversight::ask(&ctx, &self.refine.oversight, why, progress.best()).await?;
                goes_on = decided != Decision::Nobody;
                if let Some(halt) = decide(decided, progress) {
                    return Ok(halt);
                }
                goes_on &= self.refine.oversight.at_cap || progress.next.edited.is_some();
            }
            // Whoever says at the cap that it shall go on, or writes a draft, allows one more.
            most += u32::from(at_cap && goes_on);
            if n == most {
                return Ok(Halt::at(Stop::IterationsSpent));
            }
            if progress.next.edited.is_none()
                && let Some(signal) = stall::signal(&progress.iterations, progress.since, limits.plateau)
                && let Some(halt) = self.deal_with(signal, &ctx, progress).await?
            {
                return Ok(halt);
            }
            // Only now, when it is known that there will be a draft that can heed it.
            if self.refine.lessons
                && let Some(halt) = self.learn(&ctx, progress).await?
            {
                return Ok(halt);
            }
            n += 1;
        }
    }

    fn asks_people(&self, at_cap: bool) -> Option<&'static str> {
        match (at_cap && self.refine.oversight.at_cap, self.refine.oversight.each_iteration) {
            (true, _) => Some("as many drafts were made as were allowed, and none was accepted"),
            (false, true) => Some("a draft was judged and not accepted"),
            (false, false) => None,
        }
    }

    /// Makes one draft and judges it. Says whether it is good enough, or why the loop cannot go on.
    async fn iterate(
        &self,
        ctx: &Ctx,
        n: u32,
        progress: &mut Progress,
    ) -> Result<Result<bool, Halt>, Failure> {
        let plan = progress.plan(self.refine);
        let candidates = if plan.candidates == 1 {
            vec![self.candidate(ctx, n, &plan, progress, None).await]
        } else {
            self.candidates(ctx, n, &plan, progress).await
        };
        let mut judged = Vec::new();
        let mut halted = None;
        for candidate in candidates {
            match candidate {
                Ok(candidate) => judged.push(self.record(n, &plan, candidate, progress)),
                // One that failed does not sink the others.
                Err(trouble) => halted = halted.or(Some(trouble)),
            }
        }
        let count = u32::try_from(judged.len()).unwrap_or(u32::MAX);
        let best = judged.into_iter().reduce(|best, next| {
            // What a person wrote is not lost with the candidate it was written for.
            let (mut better, other) = if next.0.beats(&best.0) { (next, best) } else { (best, next) };
            better.1 = better.1.or(other.1);
            better
        });
        let Some((mut iteration, edited)) = best else {
            let Trouble { failure, judging } = halted.unwrap_or_else(Trouble::nothing);
            return Halt::of(*failure, judging).map(Err);
        };
        iteration.candidates = count;
        let step = Step::named("verdict").input(&n);
        let iteration: Iteration = ctx.step(step, || async { Ok::<_, Failure>(iteration.clone()) }).await?;
        let accepted = iteration.accepted;
        progress.add(iteration);
        progress.next.edited = edited;
        Ok(Ok(accepted))
    }

    async fn candidates(
        &self,
        ctx: &Ctx,
        n: u32,
        plan: &Plan,
        progress: &Progress,
    ) -> Vec<Result<Candidate, Trouble>> {
        let seeds: Vec<u64> = (1..=u64::from(plan.candidates)).collect();
        let at_once = seeds.len();
        let work = |ctx: Ctx, seed: u64| async move {
            // Kept apart from the failures that `parallel` knows: which of the two jobs failed decides what follows.
            Ok(self.candidate(&ctx, n, plan, progress, Some(seed)).await)
        };
        let enough = |result: &Result<Result<Candidate, Trouble>, Failure>| match result {
            Ok(Ok(candidate)) => self.would_accept(n, plan, candidate, progress),
            _ => false,
        };
        let ended = ctx.parallel_until("candidates", seeds, at_once, work, enough).await;
        let flat = ended.into_iter().flatten();
        flat.map(|result| result.unwrap_or_else(|failure| Err(Trouble::making(failure)))).collect()
    }

    async fn candidate(
        &self,
        ctx: &Ctx,
        n: u32,
        plan: &Plan,
        progress: &Progress,
        seed: Option<u64>,
    ) -> Result<Candidate, Trouble> {
        let writing = Writing { refine: self.refine, task: self.task, plan, progress, seed };
        let made = writing.write(ctx).await.map_err(Trouble::making)?;
        let repeated = stall::repeated(&made.text, &progress.iterations);
        let repeats = repeated.map(|iteration| iteration.n);
        if let Some(same) = repeated.filter(|iteration| iteration.text == made.text) {
            // The same bytes were judged before: nothing is asked, and nothing is paid.
            return Ok(Candidate { made, judgement: Judgement::again(same), repeats });
        }
        let trial = Trial {
            task: self.task,
            draft: made.text.as_str().into(),
            n,
            parent: plan.from.and_then(|n| progress.iteration(n)),
            best: progress.best(),
            author: author(plan),
        };
        let judged = cascade::judge(self.refine, ctx, &trial).await;
        let mut judgement = judged.map_err(Trouble::judging)?;
        self.guard(&progress.line(plan.from), &made, &mut judgement);
        Ok(Candidate { made, judgement, repeats })
    }

    /// Sees to it that what is protected in any of the drafts that this one comes from is still there, as often as it
    /// was. It is a gate of its own, which the first draft passes.
    fn guard(&self, line: &[&Iteration], made: &Made, judgement: &mut Judgement) {
        let mut protected: BTreeMap<&str, usize> = BTreeMap::new();
        for text in line.iter().map(|iteration| iteration.text.as_str()).chain([made.text.as_str()]) {
            let mut here: BTreeMap<&str, usize> = BTreeMap::new();
            for words in
                edits::protected_spans(text, &self.refine.keep).into_iter().filter_map(|span| text.get(span))
            {
                *here.entry(words).or_default() += 1;
            }
            for (words, count) in here {
                let most = protected.entry(words).or_default();
                *most = count.max(*most);
            }
        }
        if protected.is_empty() {
            return;
        }
        let lost = protected.into_iter().filter(|(words, count)| made.text.matches(words).count() < *count);
        let lost: Vec<&str> = lost.map(|(words, _)| words).collect();
        judgement.gates += 1;
        judgement.gates_passed += u32::from(lost.is_empty());
        judgement.opinions.push(super::Opinion {
            verifier: PROTECTED.to_owned(),
            score: Some(if lost.is_empty() { 1.0 } else { 0.0 }),
            gate: if lost.is_empty() { Gate::Pass } else { Gate::Fail },
            spread: None,
        });
        judgement.findings.extend(lost.into_iter().enumerate().map(|(at, words)| {
            Finding::new("protected-span", "a protected passage was changed or taken out")
                .about(words)
                .evidence(words)
                .suggest("put it back as it was, letter for letter")
                .filed(PROTECTED, at + 1)
        }));
    }

    fn would_accept(&self, n: u32, plan: &Plan, candidate: &Candidate, progress: &Progress) -> bool {
        self.iteration(n, plan, candidate, progress).accepted
    }

    /// Makes the record of an iteration, and takes a person's own draft out of its verdict.
    fn record(
        &self,
        n: u32,
        plan: &Plan,
        candidate: Candidate,
        progress: &Progress,
    ) -> (Iteration, Option<String>) {
        (self.iteration(n, plan, &candidate, progress), candidate.judgement.edited)
    }

    fn iteration(&self, n: u32, plan: &Plan, candidate: &Candidate, progress: &Progress) -> Iteration {
        let Candidate { made, judgement, repeats } = candidate;
        let findings = ledger::compared(
            judgement.findings.clone(),
            &judgement.opinions,
            plan.from,
            &progress.iterations,
        );
        let mut iteration = Iteration {
            n,
            score: judgement.score,
            accepted: false,
            text: made.text.clone(),
            findings,
            verdicts: judgement.opinions.clone(),
            gates_passed: judgement.gates_passed,
            gates: judgement.gates,
            how: plan.how,
            by: author(plan),
            from: plan.from,
            chain: progress.chain,
            repeats: *repeats,
            frozen: made.frozen,
            tactic: plan.tactic,
            candidates: 1,
            strengths: judgement.strengths.clone(),
            warnings: judgement.warnings.clone(),
        };
        iteration.accepted = self.refine.accept.holds(&iteration);
        iteration
    }

    /// Asks for a lesson if the last draft was not better than what it was made from.
    async fn learn(&self, ctx: &Ctx, progress: &mut Progress) -> Result<Option<Halt>, Failure> {
        let Some(last) = progress.iterations.last() else { return Ok(None) };
        let better = last.from.and_then(|n| progress.iteration(n)).is_some_and(|parent| last.beats(parent));
        if better {
            return Ok(None);
        }
        let values =
            json!({ "task": **self.task, "draft": last.text, "findings": making::lines(last.open()) });
        let request = self.refine.prompts.render("lesson", values)?.into();
        match crate::llm::say(ctx, "lesson", &*self.refine.author, &request).await {
            Ok(completion) => {
                progress.learn(completion.text.trim().to_owned());
                Ok(None)
            }
            Err(failure) => Halt::of(failure, false).map(Some),
        }
    }

    /// Takes the next tactic that can be used.
    async fn deal_with(
        &self,
        signal: Signal,
        ctx: &Ctx,
        progress: &mut Progress,
    ) -> Result<Option<Halt>, Failure> {
        progress.since = progress.iterations.len();
        if self.refine.oversight.on_stall && progress.stalls == 0 {
            let decided =
                oversight::ask(ctx, &self.refine.oversight, signal.words(), progress.best()).await?;
            if let Some(halt) = decide(decided, progress) {
                return Ok(Some(halt));
            }
            if progress.next.edited.is_some() || progress.next.focus.is_some() {
                return Ok(None);
            }
        }
        let tactic = self.refine.on_stall.get(progress.stalls).copied().unwrap_or(Tactic::Stop);
        progress.stalls += 1;
        ctx.note(format!("stalled: {}; {}", signal.words(), tactic.words())).await;
        progress.next.tactic = Some(tactic);
        match tactic {
            Tactic::Focus => progress.next.focus = weakest(self.refine, progress.best()),
            Tactic::Widen => progress.next.widened = true,
            Tactic::SwitchModel => progress.switched += 1,
            Tactic::FreshChain => progress.next.fresh = true,
            Tactic::AskHuman => {
                let decided =
                    oversight::ask(ctx, &self.refine.oversight, signal.words(), progress.best()).await?;
                return Ok(decide(decided, progress));
            }
            Tactic::Stop => return Ok(Some(Halt::at(Stop::Stalled))),
        }
        Ok(None)
    }
}

const PROTECTED: &str = "protected";

/// What kept a candidate from its verdict.
struct Trouble {
    failure: Box<Failure>,
    /// It was there, and could not be judged.
    judging: bool,
}

impl Trouble {
    fn making(failure: Failure) -> Self {
        Self { failure: Box::new(failure), judging: false }
    }

    fn judging(failure: Failure) -> Self {
        Self { failure: Box::new(failure), judging: true }
    }

    fn nothing() -> Self {
        Self::judging(Failure::terminal("no-verdict", "no candidate came to a verdict"))
    }
}

fn author(plan: &Plan) -> String {
    if plan.edited.is_some() { "human".to_owned() } else { plan.model.name().to_owned() }
}

/// Does what a person decided.
fn decide(decision: Decision, progress: &mut Progress) -> Option<Halt> {
    match decision {
        Decision::Approve => return Some(Halt::at(Stop::Accepted)),
        Decision::Reject => return Some(Halt::at(Stop::Rejected)),
        Decision::Edit(text) => progress.next.edited = Some(text),
        Decision::Continue(note) => progress.next.focus = note,
        Decision::Nobody => {}
    }
    None
}

/// What is to be seen to above all: the demand of the criterion with the lowest score.
fn weakest(refine: &Refine, best: Option<&Iteration>) -> Option<String> {
    let opinions = best?.verdicts.iter().filter_map(|opinion| Some((opinion, opinion.score?)));
    let (weakest, _) = opinions.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let criterion = refine.criteria.iter().find(|criterion| criterion.name == weakest.verifier)?;
    Some(criterion.verifier.demand())
}

/// What lists show of a run that has ended.
pub(crate) fn summary(refined: &Refined) -> serde_json::Map<String, Value> {
    let mut summary = brief(refined.best.as_ref().map(|best| best.score), refined.iterations.len());
    summary.insert("spend".to_owned(), json!(refined.spend));
    summary
}

fn brief_summary(progress: &Progress) -> serde_json::Map<String, Value> {
    brief(progress.best().map(|best| best.score), progress.iterations.len())
}

fn brief(best_score: Option<f64>, iterations: usize) -> serde_json::Map<String, Value> {
    let mut summary = serde_json::Map::new();
    summary.insert("best_score".to_owned(), json!(best_score));
    summary.insert("iterations".to_owned(), json!(iterations));
    summary
}
