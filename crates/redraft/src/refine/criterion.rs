//! What a draft must be: the criteria, what they say together, and when that is enough.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::outcome::{Iteration, Opinion};
use crate::verify::{Evidence, Finding, FindingStatus, Gate, Verdict, Verifier};

/// Something that a draft is judged by: a verifier with a name.
#[derive(Clone, Debug)]
pub struct Criterion {
    pub(super) name: String,
    pub(super) verifier: Arc<dyn Verifier>,
    pub(super) weight: Option<f64>,
}

impl Criterion {
    /// Gives a verifier a name.
    pub fn new(name: impl Into<String>, verifier: impl Verifier) -> Self {
        Self::shared(name, Arc::new(verifier))
    }

    /// Gives a verifier that others use too a name.
    pub fn shared(name: impl Into<String>, verifier: Arc<dyn Verifier>) -> Self {
        Self { name: name.into(), verifier, weight: None }
    }

    /// Says how much its score counts. Otherwise opinions count 1, and gates count only if there is nothing else.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = Some(weight);
        self
    }

    pub(super) fn describe(&self) -> Value {
        json!({ "name": self.name, "weight": self.weight, "verifier": self.verifier.describe() })
    }
}

/// When a draft is good enough.
#[derive(Clone)]
#[non_exhaustive]
pub enum Accept {
    /// Every gate passes, nothing that was found is blocking, and the score is at least this.
    Score(f64),
    /// Every gate passes, and this holds. The words are what the criteria are frozen by.
    When(String, Arc<dyn Fn(&Iteration) -> bool + Send + Sync>),
}

/// The default: a score of 0.8.
impl Default for Accept {
    fn default() -> Self {
        Self::Score(0.8)
    }
}

impl Accept {
    pub(super) fn holds(&self, iteration: &Iteration) -> bool {
        let whole = iteration.verdicts.iter().all(|opinion| opinion.score.is_some());
        let gates = iteration.gates_passed == iteration.gates;
        whole
            && gates
            && match self {
                Self::Score(least) => {
                    let blocking = |finding: &Finding| {
                        finding.is_blocking() && finding.status != FindingStatus::Disputed
                    };
                    iteration.score >= *least && !iteration.open().any(blocking)
                }
                Self::When(_, holds) => holds(iteration),
            }
    }

    pub(super) fn describe(&self) -> Value {
        match self {
            Self::Score(least) => json!({ "score": least }),
            Self::When(words, _) => json!({ "when": words }),
        }
    }
}

impl fmt::Debug for Accept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}

/// What all criteria say about a draft.
#[derive(Clone, Debug, Default)]
pub(super) struct Judgement {
    pub(super) score: f64,
    pub(super) gates_passed: u32,
    pub(super) gates: u32,
    pub(super) opinions: Vec<Opinion>,
    pub(super) findings: Vec<Finding>,
    pub(super) strengths: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// A person's own version of the draft.
    pub(super) edited: Option<String>,
}

impl Judgement {
    /// Says again what was said about the same draft before.
    pub(super) fn again(said: &Iteration) -> Self {
        Self {
            score: said.score,
            gates_passed: said.gates_passed,
            gates: said.gates,
            opinions: said.verdicts.clone(),
            findings: said.open().cloned().collect(),
            strengths: said.strengths.clone(),
            warnings: said.warnings.clone(),
            edited: None,
        }
    }

    /// Puts together what was said. A criterion without a verdict was not asked, because a cheaper gate had failed.
    pub(super) fn of(said: Vec<(&Criterion, Option<Verdict>)>) -> Self {
        let opinions_count =
            said.iter().any(|(criterion, _)| criterion.verifier.evidence() != Evidence::Sound);
        let weight = |criterion: &Criterion| {
            let sound = criterion.verifier.evidence() == Evidence::Sound;
            criterion.weight.unwrap_or(if sound && opinions_count { 0.0 } else { 1.0 })
        };
        let judged = || said.iter().filter_map(|(criterion, verdict)| Some((*criterion, verdict.as_ref()?)));
        let mean = |weight: &dyn Fn(&Criterion) -> f64| {
            // As shares of the heaviest, so that no weight is too large to be added.
            let most = judged().map(|(criterion, _)| weight(criterion)).fold(f64::MIN_POSITIVE, f64::max);
            let total: f64 = judged().map(|(criterion, _)| weight(criterion) / most).sum();
            let sum: f64 =
                judged().map(|(criterion, verdict)| weight(criterion) / most * verdict.score).sum();
            (total > 0.0).then(|| sum / total)
        };
        // If nobody was asked whose score counts, the gates tell which of two failing drafts is nearer.
        let score = mean(&weight).or_else(|| mean(&|_| 1.0)).unwrap_or(0.0);
        let mut judgement = Self { score, ..Self::default() };
        for (criterion, verdict) in said {
            // Sound evidence is a gate whether it was asked or not.
            let is_gate = match &verdict {
                Some(verdict) => verdict.gate != Gate::None,
                None => criterion.verifier.evidence() == Evidence::Sound,
            };
            judgement.gates += u32::from(is_gate);
            let Some(verdict) = verdict else {
                judgement.opinions.push(Opinion {
                    verifier: criterion.name.clone(),
                    score: None,
                    gate: Gate::None,
                    spread: None,
                });
                continue;
            };
            judgement.gates_passed += u32::from(verdict.gate == Gate::Pass);
            judgement.opinions.push(Opinion {
                verifier: criterion.name.clone(),
                score: Some(verdict.score),
                gate: verdict.gate,
                spread: verdict.spread,
            });
            judgement.edited = judgement.edited.take().or_else(|| verdict.edited.clone());
            let warnings = verdict.warnings.iter().map(|words| format!("{}: {words}", criterion.name));
            judgement.warnings.extend(warnings);
            judgement.strengths.extend(verdict.strengths.iter().cloned());
            judgement.findings.extend(verdict.filed(&criterion.name).findings);
        }
        judgement
    }
}
