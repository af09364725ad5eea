//! What a verifier says about a draft.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Finding, FindingId};

/// What a verifier says about a draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// How good the draft is, from 0.0 to 1.0.
    pub score: f64,
    /// Whether it may pass.
    pub gate: Gate,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// What is good about it and is to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strengths: Vec<String>,
    /// Which of the earlier findings are gone, where a judge was asked about each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<FindingId>,
    /// How far the samples of a judge lie apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// What whoever reads the result should know about how it was judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// A person's own version of the draft: it becomes a draft of its own and is judged like any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<String>,
}

/// Whether a draft may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It may.
    Pass,
    /// It may not, whatever others say.
    Fail,
    /// The verifier only scores.
    None,
}

impl Verdict {
    /// Makes the verdict of a gate: it passes if nothing that was found is blocking.
    #[must_use]
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        let passes = !findings.iter().any(Finding::is_blocking);
        let (score, gate) = if passes { (1.0, Gate::Pass) } else { (0.0, Gate::Fail) };
        Self { findings, ..Self::new(score, gate) }
    }

    /// Makes the verdict of a gate with nothing to object.
    #[must_use]
    pub fn pass() -> Self {
        Self::of([])
    }

    /// Makes a verdict that only scores.
    #[must_use]
    pub fn scored(score: f64) -> Self {
        Self::new(score, Gate::None)
    }

    fn new(score: f64, gate: Gate) -> Self {
        Self {
            score: bounded(score),
            gate,
            findings: Vec::new(),
            strengths: Vec::new(),
            fixed: Vec::new(),
            spread: None,
            warnings: Vec::new(),
            edited: None,
        }
    }

    /// Says how near a draft comes that does not pass, so that of two failing ones the better is known.
    #[must_use]
    pub fn graded(mut self, score: f64) -> Self {
        self.score = bounded(score);
        self
    }

    /// Adds what is wrong.
    #[must_use]
    pub fn finding(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }

    /// Adds what is to be kept.
    #[must_use]
    pub fn strength(mut self, words: impl Into<String>) -> Self {
        self.strengths.push(words.into());
        self
    }

    /// Adds something that whoever reads the result should know.
    #[must_use]
    pub fn warning(mut self, words: impl Into<String>) -> Self {
        self.warnings.push(words.into());
        self
    }

    /// Says whether the gate is not shut.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.gate != Gate::Fail
    }

    /// Files the verdict under the name of its criterion: every finding gets its id.
    #[must_use]
    pub fn filed(mut self, verifier: &str) -> Self {
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        self.findings = self
            .findings
            .into_iter()
            .map(|finding| {
                // A judge that speaks of an earlier finding calls it by its id.
                if !finding.id.as_str().is_empty() {
                    return finding;
                }
                let subject = finding.subject.clone().unwrap_or_else(|| finding.message.clone());
                let nth = seen.entry((finding.rule.clone(), subject)).or_default();
                *nth += 1;
                finding.filed(verifier, *nth)
            })
            .collect();
        self
    }
}

/// A score is a number from 0 to 1; what is not a number is the least.
fn bounded(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Severity;

    #[test]
    fn a_finding_keeps_its_id_when_its_words_and_its_place_change() {
        let id = |words: &str, line| {
            let finding = Finding::new("sentences", words).about("count").line(line);
            Verdict::of([finding]).filed("three").findings[0].id.clone()
        };
        assert_eq!(id("has 5 sentences", 1), id("has 4 sentences", 9));
    }

    #[test]
    fn findings_that_are_otherwise_the_same_are_told_apart_by_their_order() {
        let twice = || Finding::new("duplicate", "said twice");
        let verdict = Verdict::of([twice(), twice()]).filed("text");
        assert_ne!(verdict.findings[0].id, verdict.findings[1].id);
        assert_eq!(verdict.filed("text").findings[0].verifier, "text");
    }

    #[test]
    fn only_what_is_blocking_shuts_the_gate() {
        assert!(Verdict::of([Finding::new("style", "dull").severity(Severity::Minor)]).passes());
        assert!(!Verdict::of([Finding::new("style", "dull")]).passes());
        assert!(Verdict::scored(f64::NAN).score.abs() < f64::EPSILON);
    }
}
