//! A model as judge: a rubric, several samples, a comparison in both orders.
//!
//! Start with [`Judge`]. `rubric` is what it looks at, `answer` what one sample says and the shape it is held to,
//! `merge` how samples become a verdict, `pairwise` the comparison with the best draft so far.
//!
//! The score is always ours: a model scores criteria, never the whole. A model that cannot be brought to a usable answer
//! gives no verdict; it never gives a low one.

pub(super) mod answer;
mod merge;
mod pairwise;
mod rubric;

use std::ops::RangeInclusive;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::answer::{Sample, is_majority};
pub(super) use self::merge::WIDE;
pub use self::rubric::{Criterion, Scale};
use super::undecided::{cancelled, no_verdict, undecided};
use super::{Case, Cost, Error, Evidence, Finding, Gate, Verdict, Verifier, Verifying, quote};
use crate::failure::Failure;
use crate::llm::{Model, Prompts, Request, ask_shaped};
use crate::run::Ctx;

/// How often a model is asked before its answers are given up.
pub(super) const TRIES: u32 = 3;

/// A model that judges drafts by a rubric.
///
/// It is asked for an answer of this form, made for the rubric at hand (`earlier` only if there are earlier findings):
///
/// ```json
/// {
///   "earlier": { "f_01…": { "note": "the hedging is gone", "status": "fixed" } },
///   "findings": [
///     { "criterion": "clear", "quote": "mostly", "problem": "it hedges", "fix": "say when", "severity": "major" }
///   ],
///   "scores": { "clear": 7, "every-number-has-a-source": true },
///   "strengths": ["short sentences"]
/// }
/// ```
///
/// **Score.** The weighted mean of the criteria, each as its share of the scale's best: 8 of 10 is 0.8, yes is 1, no is 0.
///
/// **Findings.** They stand where their quotation stands in the draft, if it does. They do not shut the gate by
/// themselves; [`gate_at`](Self::gate_at) does.
///
/// **Samples.** Each criterion gets their median. The spread is the distance between the lowest and the highest sample;
/// above 0.3 it is worth a warning. Remarks on one criterion that say the same or quote the same words are one finding:
/// named by more than half of the samples it has the severity in their middle, otherwise it is minor. More than half of
/// the samples must be usable.
///
/// **Earlier findings.** One that is fixed is told so, one that is not stands in the verdict again under its id, and one
/// that is disputed stands there as such, blocks nothing and is worth a warning. More than half of the samples decide; in
/// doubt it is open.
///
/// A model that gives no usable answer in three tries gives no verdict: the failure has the code `no-verdict`.
///
/// ```
/// use std::sync::Arc;
///
/// use redraft::llm::Scripted;
/// use redraft::verify::{Criterion, Judge, Verifier};
///
/// let model = Scripted::new("critic", ["…"]);
/// let judge = Judge::new(Arc::new(model))
///     .rubric([Criterion::new("clear"), Criterion::new("every number has a source").binary()])
///     .samples(3)
///     .pairwise(true)
///     .gate_at(Some(0.5));
/// assert_eq!(judge.demand(), "clear; every number has a source");
/// ```
#[derive(Clone, Debug)]
pub struct Judge {
    model: Arc<dyn Model>,
    rubric: Vec<Criterion>,
    samples: u32,
    pairwise: bool,
    scale: Scale,
    gate: Option<f64>,
    prompts: Prompts,
}

/// A judge as files describe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeConfig {
    /// The alias of the model that judges; better not the author's.
    pub model: String,
    /// What it looks at.
    pub rubric: Vec<Criterion>,
    /// How often it is asked; the median counts.
    #[serde(default = "once")]
    pub samples: u32,
    /// Whether each draft is compared with the best one so far, in both orders.
    #[serde(default)]
    pub pairwise: bool,
    /// The numbers it scores with.
    #[serde(default)]
    pub scale: Scale,
    /// The score below which a draft cannot pass, from 0.0 to 1.0; without it the judge only scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<f64>,
}

fn once() -> u32 {
    1
}

impl Judge {
    /// Makes a judge of a model; it needs a [`rubric`](Self::rubric).
    #[must_use]
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            rubric: Vec::new(),
            samples: once(),
            pairwise: false,
            scale: Scale::default(),
            gate: None,
            prompts: Prompts::builtin(),
        }
    }

    /// Makes a judge of what a file says. `model` is the one that its alias stands for.
    ///
    /// # Errors
    /// [`Error::Unusable`] if it could never judge.
    pub fn from_config(config: JudgeConfig, model: Arc<dyn Model>, prompts: Prompts) -> Result<Self, Error> {
        let JudgeConfig { model: _, rubric, samples, pairwise, scale, gate } = config;
        let judge = Self { model, rubric, samples, pairwise, scale, gate, prompts };
        judge.check()?;
        Ok(judge)
    }

    /// Says what it looks at.
    #[must_use]
    pub fn rubric<C: Into<Criterion>>(mut self, criteria: impl IntoIterator<Item = C>) -> Self {
        self.rubric = criteria.into_iter().map(Into::into).collect();
        self
    }

    /// Says how often it is asked (once unless said otherwise). The median of each criterion counts.
    #[must_use]
    pub fn samples(mut self, samples: u32) -> Self {
        self.samples = samples;
        self
    }

    /// Says whether each draft is compared with the best one so far, in both orders: the score of one that wins both is
    /// above that of the incumbent, of one that loses both below, and otherwise the same.
    #[must_use]
    pub fn pairwise(mut self, pairwise: bool) -> Self {
        self.pairwise = pairwise;
        self
    }

    /// Says which numbers it scores with (1 to 10 unless said otherwise).
    #[must_use]
    pub fn scale(mut self, scale: RangeInclusive<u32>) -> Self {
        self.scale = scale.into();
        self
    }

    /// Says with which prompts it asks: `judge` and `pairwise`.
    #[must_use]
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    /// Says below which score a draft cannot pass; without it the judge only scores.
    #[must_use]
    pub fn gate_at(mut self, score: Option<f64>) -> Self {
        self.gate = score;
        self
    }

    fn check(&self) -> Result<(), Error> {
        let unusable = |reason: String| Err(Error::Unusable { verifier: "judge", reason });
        if self.rubric.is_empty() {
            return unusable("its rubric is empty".to_owned());
        }
        for (at, criterion) in self.rubric.iter().enumerate() {
            let name = &criterion.name;
            if criterion.text.trim().is_empty() {
                return unusable(format!("the criterion `{name}` has no words"));
            }
            if self.rubric.iter().take(at).any(|earlier| earlier.name == *name) {
                return unusable(format!("two criteria are called `{name}`; give one another `name`"));
            }
            if !criterion.weight.is_finite() || criterion.weight < 0.0 {
                return unusable(format!("the weight of `{name}` is no number from 0 up"));
            }
        }
        if self.rubric.iter().all(|criterion| criterion.weight == 0.0) {
            return unusable("no criterion has any weight".to_owned());
        }
        if self.samples == 0 {
            return unusable("it is to be asked 0 times; the least is 1".to_owned());
        }
        if self.scale.from >= self.scale.to {
            return unusable(format!("its scale from {} to {} has no steps", self.scale.from, self.scale.to));
        }
        if self.gate.is_some_and(|gate| !(0.0..=1.0).contains(&gate)) {
            return unusable("its gate is not between 0 and 1".to_owned());
        }
        Ok(())
    }

    async fn judged(&self, ctx: &Ctx, case: &Case) -> Result<Verdict, Failure> {
        self.check()?;
        let samples = self.sampled(ctx, case).await?;
        let mut verdict = merge::merge(&self.rubric, self.scale, case, &samples);
        let missing = self.samples as usize - samples.len();
        if missing > 0 {
            verdict = verdict.warning(format!("{missing} of {} samples could not be used", self.samples));
        }
        if case.authors.iter().any(|author| author == self.model.name()) {
            verdict = verdict.warning(format!(
                "`{}` judges what it wrote itself; models like their own words",
                self.model.name()
            ));
        }
        if let Some(incumbent) = case.incumbent.as_ref().filter(|_| self.pairwise) {
            verdict = self.compared(ctx, case, incumbent, verdict).await?;
        }
        if self.gate.is_some_and(|least| verdict.score < least) {
            verdict.gate = Gate::Fail;
        }
        Ok(verdict)
    }

    /// Asks as often as it is to be asked, and gives what can be used: more than half, or a failure.
    async fn sampled(&self, ctx: &Ctx, case: &Case) -> Result<Vec<Sample>, Failure> {
        let request = &self.request(case)?;
        let earlier: Vec<Finding> = answerable(case).cloned().collect();
        let schema = &answer::schema(&self.rubric, self.scale, &earlier);
        let sample = |ctx: Ctx| async move {
            ask_shaped(&ctx, "judge", &self.model, request.clone(), TRIES, schema.clone(), Sample::faults)
                .await
                .map_err(no_verdict)
        };
        if self.samples == 1 {
            return Ok(vec![sample(ctx.clone()).await?]);
        }
        let all = self.samples as usize;
        let samples = ctx.parallel("samples", 0..all, all, |ctx, _| sample(ctx)).await;
        let (samples, failures) = sorted(samples);
        if let Some(failure) = cancelled(&failures) {
            return Err(failure);
        }
        if is_majority(samples.len(), all) {
            return Ok(samples);
        }
        let message =
            format!("only {} of {all} samples of `{}` could be used", samples.len(), self.model.name());
        Err(undecided(message, &failures))
    }

    fn request(&self, case: &Case) -> Result<Request, Failure> {
        let earlier = answerable(case).map(|finding| {
            let quote =
                finding.evidence.as_deref().map(|words| format!(" (about “{}”)", quote::inert(words)));
            format!(
                "{} [{}]: {}{}",
                finding.id,
                finding.rule,
                quote::inert(&finding.message),
                quote.unwrap_or_default()
            )
        });
        let rendered = self.prompts.render(
            "judge",
            json!({
                "task": quote::inert(&case.task),
                "criteria": self.rubric.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "draft": quote::inert(&case.draft),
                "earlier": earlier.collect::<Vec<_>>(),
                "lowest": self.scale.from,
                "highest": self.scale.to,
            }),
        )?;
        Ok(rendered.into())
    }
}

/// The earlier findings that can be asked about: those that have an id.
fn answerable(case: &Case) -> impl Iterator<Item = &Finding> {
    case.earlier.iter().filter(|finding| !finding.id.as_str().is_empty())
}

/// Parts what came of several from what did not.
pub(super) fn sorted<T>(results: Vec<Result<T, Failure>>) -> (Vec<T>, Vec<Failure>) {
    let mut values = Vec::new();
    let mut failures = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(failure) => failures.push(failure),
        }
    }
    (values, failures)
}

/// What tells the prompts of a verifier from others, for its description.
pub(super) fn fingerprints(prompts: &Prompts, names: &[&str]) -> Value {
    let entry = |name: &&str| Some(((*name).to_owned(), json!(prompts.fingerprint(name).ok()?)));
    names.iter().filter_map(entry).collect::<serde_json::Map<_, _>>().into()
}

impl Verifier for Judge {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }

    fn cost(&self) -> Cost {
        Cost::Model
    }

    fn describe(&self) -> Value {
        json!({
            "judge": {
                "model": self.model.name(),
                "rubric": self.rubric,
                "samples": self.samples,
                "pairwise": self.pairwise,
                "scale": self.scale,
                "gate": self.gate,
                "prompts": fingerprints(&self.prompts, &["judge", "pairwise"]),
            }
        })
    }

    fn demand(&self) -> String {
        self.rubric.iter().map(|criterion| criterion.text.as_str()).collect::<Vec<_>>().join("; ")
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(self.judged(ctx, case))
    }
}
