//! Self-consistency: the same question is answered several times, and the answer that most give is taken. How many are
//! asked depends on how much they agree: as soon as the leading answer is very likely to stay ahead, nobody else is asked.
//!
//! Sources: Wang et al., "Self-Consistency Improves Chain of Thought Reasoning" (2022); Aggarwal et al., "Let's Sample
//! Step by Step: Adaptive-Consistency" (2023).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::llm::{Model, Prompts, Request, Template, say};
use crate::outcome::Stop;
use crate::refine::payer::{Payer, payer_methods};
use crate::refine::{Best, Error, How, Iteration, Limits, Opinion, Refined};
use crate::run::{Boxed, Ctx, Definition};
use crate::verify::Gate;

/// Turns an answer into the form by which answers are compared.
pub type Canonical = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A question that is answered several times.
#[derive(Clone)]
pub struct SelfConsistency {
    name: Arc<str>,
    model: Arc<dyn Model>,
    task: Template,
    least: u32,
    most: u32,
    confidence: f64,
    canonical: Canonical,
    prompts: Prompts,
    limits: Limits,
    payer: Payer,
}

impl SelfConsistency {
    /// Asks `model`, at least 3 and at most 10 times, until the leading answer is ahead for good with 95 % likelihood.
    pub fn new(name: impl Into<Arc<str>>, model: impl Model) -> Self {
        Self {
            name: name.into(),
            model: Arc::new(model),
            task: Template::literal("task", "{{ task }}"),
            least: 3,
            most: 10,
            confidence: 0.95,
            canonical: Arc::new(canonical),
            prompts: Prompts::builtin(),
            limits: Limits::default(),
            payer: Payer::default(),
        }
    }

    /// Says what is asked: a template that is filled in with the input of a run.
    ///
    /// # Errors
    /// If the template cannot be read.
    pub fn task(mut self, template: &str) -> Result<Self, Error> {
        self.task = Template::new("task", template)?;
        Ok(self)
    }

    /// Asks at least `least` and at most `most` times.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn samples(mut self, least: u32, most: u32) -> Result<Self, Error> {
        if least == 0 || most < least {
            return Err(Error::BadNumber {
                what: "the number of samples",
                given: format!("{least} to {most}"),
                wanted: "the least is 1, and the most is not less than the least",
            });
        }
        (self.least, self.most) = (least, most);
        Ok(self)
    }

    /// Stops when the leading answer stays ahead with this likelihood.
    ///
    /// # Errors
    /// If it is not between 0.5 and 1.
    pub fn confidence(mut self, confidence: f64) -> Result<Self, Error> {
        if !(0.5..1.0).contains(&confidence) {
            return Err(Error::BadNumber {
                what: "the confidence",
                given: confidence.to_string(),
                wanted: "it must be at least 0.5 and below 1",
            });
        }
        self.confidence = confidence;
        Ok(self)
    }

    /// Compares answers in another form than the words after the last `Answer:`, without case and needless space.
    #[must_use]
    pub fn canonical(mut self, form: Canonical) -> Self {
        self.canonical = form;
        self
    }

    /// Asks with other prompts.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    /// Says how much may be spent and how long it may take. How often it is asked is set by [`samples`](Self::samples).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    payer_methods!();

    /// Runs it inside another workflow, in a group of its own below `ctx`.
    ///
    /// # Errors
    /// When no answer could be had.
    pub async fn run_in(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        self.run_here(&ctx.group(&self.name), input).await
    }

    async fn run_here(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        let scope = self.payer.paid(ctx, self.limits.allowance());
        let task = self.task.render(input)?;
        let prompt: Request = self.prompts.render("answer-only", json!({ "task": task.trim() }))?.into();
        let mut answers: Vec<String> = Vec::new();
        let mut because = None;
        let mut asked = 0;
        let (mut stop, mut wanted) = (Stop::IterationsSpent, self.least);
        let time = self.limits.time;
        let began = if time.is_some() { scope.elapsed().await } else { Duration::ZERO };
        while because.is_none() && asked < self.most {
            if let Some(time) = time
                && scope.elapsed().await.saturating_sub(began) >= time
            {
                stop = Stop::TimeSpent;
                break;
            }
            let round: Vec<u32> = (asked + 1..=(asked + wanted).min(self.most)).collect();
            asked += u32::try_from(round.len()).unwrap_or(u32::MAX);
            let ask = |ctx: Ctx, n: u32| {
                let request = Request { seed: Some(u64::from(n)), ..prompt.clone() };
                async move { Ok(say(&ctx, "answer", &self.model, &request).await?.text.trim().to_owned()) }
            };
            let at_once = round.len();
            for answer in scope.parallel("samples", round, at_once, ask).await {
                match answer {
                    Ok(answer) => answers.push(answer),
                    Err(failure) if failure.code == "budget-spent" => because = Some(failure),
                    Err(failure) => return Err(failure),
                }
            }
            if self.likely(&answers) >= self.confidence {
                stop = Stop::Accepted;
                break;
            }
            // One at a time from here on: each may settle it.
            wanted = 1;
        }
        if because.is_some() && stop != Stop::Accepted {
            stop = Stop::BudgetSpent;
        }
        Ok(self.refined(&answers, stop, because, scope.spent()))
    }

    fn votes(&self, answers: &[String]) -> BTreeMap<String, u32> {
        let mut votes = BTreeMap::new();
        // What says nothing is no answer, however many say it.
        for form in
            answers.iter().map(|answer| (self.canonical)(answer)).filter(|form| !form.trim().is_empty())
        {
            *votes.entry(form).or_default() += 1;
        }
        votes
    }

    /// How likely it is that the leading answer stays ahead of the next.
    fn likely(&self, answers: &[String]) -> f64 {
        let mut counts: Vec<u32> = self.votes(answers).into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        match counts[..] {
            [] => 0.0,
            [first, ref rest @ ..] => stays_ahead(first, rest.first().copied().unwrap_or(0)),
        }
    }

    fn refined(
        &self,
        answers: &[String],
        stop: Stop,
        because: Option<Failure>,
        spend: crate::llm::Spend,
    ) -> Refined {
        let votes = self.votes(answers);
        let share = |answer: &str| {
            let count = votes.get(&(self.canonical)(answer)).copied().unwrap_or(0);
            f64::from(count) / answers.len().max(1) as f64
        };
        let most = votes.values().copied().max().unwrap_or(0);
        // Of answers that lead together, the one that came first.
        let leads = |answer: &&String| votes.get(&(self.canonical)(answer)) == Some(&most);
        let leader = answers.iter().position(|answer| leads(&answer));
        let iterations = (1..).zip(answers).map(|(n, text)| Iteration {
            n,
            score: share(text),
            accepted: stop == Stop::Accepted && leads(&text),
            text: text.clone(),
            findings: Vec::new(),
            verdicts: vec![Opinion {
                verifier: "votes".to_owned(),
                score: Some(share(text)),
                gate: Gate::None,
                spread: None,
            }],
            gates_passed: 0,
            gates: 0,
            how: How::Draft,
            by: self.model.name().to_owned(),
            from: None,
            chain: n,
            repeats: None,
            frozen: 0,
            tactic: None,
            candidates: 1,
            strengths: Vec::new(),
            warnings: Vec::new(),
        });
        let best = leader.and_then(|at| answers.get(at).map(|text| (at, text))).map(|(at, text)| Best {
            iteration: u32::try_from(at + 1).unwrap_or(u32::MAX),
            score: share(text),
            text: text.clone(),
            findings: Vec::new(),
        });
        Refined {
            stop,
            best,
            iterations: iterations.collect(),
            spend,
            repaired: 0,
            damaged: 0,
            warnings: vec![
                "answers were counted, not checked: that most agree does not prove them right".to_owned(),
            ],
            because,
            closed: None,
            transcript: Vec::new(),
        }
    }
}

/// The words after the last `Answer:`, or the last line: without case, needless space and a full stop.
#[must_use]
pub fn canonical(answer: &str) -> String {
    let lower = answer.to_lowercase();
    let words = match lower.rsplit_once("answer:") {
        Some((_, words)) => words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
        None => lower.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default(),
    };
    let words = words.trim().trim_matches(|c: char| "*_`\"'“”".contains(c)).trim_end_matches(['.', '!']);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The likelihood that the first of two answers is the one that most would give, after so many votes for each: with
/// nothing known before, the share of the first has a Beta distribution, and this is its part above one half.
fn stays_ahead(first: u32, second: u32) -> f64 {
    let n = first + second + 1;
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = 0.0;
    for j in 0..=first {
        sum += term;
        term *= f64::from(n - j) / f64::from(j + 1);
    }
    sum
}

impl Definition for SelfConsistency {
    type Input = Value;
    type Output = Refined;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        1
    }

    fn run(&self, ctx: Ctx, input: Value) -> Boxed<Result<Refined, Failure>> {
        let it = self.clone();
        Box::pin(async move {
            let refined = it.run_here(&ctx, &input).await?;
            ctx.conclude(refined.conclusion());
            ctx.summarize(&crate::refine::looping::summary(&refined));
            Ok(refined)
        })
    }
}

impl std::fmt::Debug for SelfConsistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SelfConsistency").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_by_what_they_say() {
        for answer in ["Answer: 42", "I think.\n**Answer:**  42.", "so\nanswer:\n`42`", "so it is\n 42"] {
            assert_eq!(canonical(answer), "42", "{answer}");
        }
    }

    #[test]
    fn the_more_agree_the_surer_it_is() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(stays_ahead(0, 0), 0.5));
        assert!(close(stays_ahead(3, 0), 0.9375), "{}", stays_ahead(3, 0));
        assert!(close(stays_ahead(4, 0), 0.96875));
        assert!(stays_ahead(5, 1) < stays_ahead(5, 0));
        assert!(close(stays_ahead(2, 2), 0.5));
    }
}
