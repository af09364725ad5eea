//! What one sample of a judge says, and the shape it is held to.
//!
//! The shape is made for the rubric at hand: every criterion has its own entry with its own bounds, and so has every
//! earlier finding. What is missing, unknown or out of range is therefore a fault of the answer, not a guess of ours.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rubric::{Criterion, Scale};
use crate::llm::OutputSchema;
use crate::verify::quote::{self, count};
use crate::verify::{Finding, Severity};

/// What one sample says.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sample {
    /// By the id of the earlier finding.
    #[serde(default)]
    pub(super) earlier: BTreeMap<String, Reply>,
    pub(super) findings: Vec<Remark>,
    /// By the name of the criterion.
    pub(super) scores: BTreeMap<String, Score>,
    pub(super) strengths: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Score {
    Met(bool),
    Scaled(f64),
}

/// Something that is wrong with the draft.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Remark {
    pub(super) criterion: String,
    pub(super) quote: String,
    pub(super) problem: String,
    pub(super) fix: String,
    pub(super) severity: Severity,
}

/// What became of an earlier finding.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) status: Status,
    pub(super) note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Fixed,
    NotFixed,
    Disputed,
}

/// Describes the answer that is wanted. All of it is required, as strict providers demand. The entries stand in an order
/// (which is that of their names, too) in which a model that follows it finds faults before it scores.
pub(super) fn schema(rubric: &[Criterion], scale: Scale, earlier: &[Finding]) -> OutputSchema {
    let score = |criterion: &Criterion| {
        if criterion.binary {
            json!({ "type": "boolean", "description": criterion.text })
        } else {
            json!({
                "type": "number",
                "minimum": scale.from,
                "maximum": scale.to,
                "description": criterion.text,
            })
        }
    };
    let names: Vec<&str> = rubric.iter().map(|criterion| criterion.name.as_str()).collect();
    let mut parts = Map::new();
    if !earlier.is_empty() {
        let reply = object(Map::from_iter([
            ("status".to_owned(), choice(&["fixed", "not_fixed", "disputed"])),
            ("note".to_owned(), text("why, in one sentence")),
        ]));
        let replies = earlier.iter().map(|finding| (finding.id.to_string(), reply.clone()));
        parts.insert("earlier".to_owned(), object(replies.collect()));
    }
    parts.insert(
        "findings".to_owned(),
        list(&object(Map::from_iter([
            ("criterion".to_owned(), choice(&names)),
            (
                "quote".to_owned(),
                text("the exact words of the text it is about; empty if it is about all of it"),
            ),
            ("problem".to_owned(), text("what is wrong, in one sentence")),
            ("fix".to_owned(), text("what to do about it, in one sentence")),
            ("severity".to_owned(), choice(&["minor", "major", "blocking"])),
        ]))),
    );
    let scores = rubric.iter().map(|criterion| (criterion.name.clone(), score(criterion)));
    parts.insert("scores".to_owned(), object(scores.collect()));
    parts.insert("strengths".to_owned(), list(&text("what is good and must stay")));
    OutputSchema { name: "judgement".to_owned(), schema: object(parts) }
}

/// A closed object, all of whose entries are required.
pub(in crate::verify) fn object(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

pub(in crate::verify) fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// One of some words. The type is said too: some providers insist.
pub(in crate::verify) fn choice(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

pub(in crate::verify) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

impl Sample {
    /// Finds what a schema cannot say.
    pub(super) fn faults(&self) -> Vec<String> {
        let silent = self.findings.iter().enumerate().filter(|(_, remark)| remark.problem.trim().is_empty());
        silent.map(|(at, _)| format!("at /findings/{at}/problem: it says nothing")).collect()
    }

    /// Returns what it gives for a criterion, from 0.0 to 1.0.
    pub(super) fn share(&self, criterion: &Criterion, scale: Scale) -> f64 {
        match self.scores.get(&criterion.name) {
            Some(Score::Met(true)) => 1.0,
            Some(Score::Scaled(score)) => scale.share(*score),
            // The schema has seen to it that there is one.
            Some(Score::Met(false)) | None => 0.0,
        }
    }
}

impl Remark {
    /// Says whether two samples mean the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.criterion == other.criterion
            && (quote::alike(&self.problem, &other.problem) || quote::overlap(&self.quote, &other.quote))
    }

    pub(super) fn into_finding(self, draft: &str, severity: Severity) -> Finding {
        let mut finding = Finding::new(self.criterion, self.problem).severity(severity);
        if !self.quote.trim().is_empty() {
            if let Some(bytes) = quote::find(draft, &self.quote) {
                finding = finding.span(draft, bytes);
            }
            finding = finding.evidence(self.quote);
        }
        if self.fix.trim().is_empty() { finding } else { finding.suggest(self.fix) }
    }
}

/// Returns the mean of the criteria, each by its weight.
pub(super) fn weighted_mean(shares: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (sum, weights) = shares
        .into_iter()
        .fold((0.0, 0.0), |(sum, all), (share, weight)| (sum + share * weight, all + weight));
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Returns the middle of some numbers: of an even count, the mean of the two in the middle.
pub(in crate::verify) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let half = numbers.len() / 2;
    if numbers.len() % 2 == 1 { middle(half) } else { middle(half.saturating_sub(1)).midpoint(middle(half)) }
}

/// Returns how far apart the lowest and the highest are.
pub(in crate::verify) fn spread(numbers: &[f64]) -> f64 {
    let lowest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if numbers.is_empty() { 0.0 } else { highest - lowest }
}

/// Says whether so many of so many are more than half.
pub(in crate::verify) fn is_majority(some: usize, all: usize) -> bool {
    count(some) * 2.0 > count(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_spread_of_numbers() {
        let cases = [
            (vec![], 0.0, 0.0),
            (vec![0.4], 0.4, 0.0),
            (vec![0.9, 0.1, 0.3], 0.3, 0.8),
            (vec![1.0, 0.5], 0.75, 0.5),
        ];
        for (numbers, middle, apart) in cases {
            assert!((spread(&numbers) - apart).abs() < 1e-9, "{numbers:?}");
            assert!((median(numbers.clone()) - middle).abs() < 1e-9, "{numbers:?}");
        }
        assert!(is_majority(2, 3) && !is_majority(1, 2) && !is_majority(0, 0));
    }

    /// Strict providers take only closed objects, all of whose entries are required, and want a type everywhere.
    #[test]
    fn the_shape_is_one_that_strict_providers_take() {
        fn check(schema: &Value) {
            let kind = schema["type"].as_str();
            assert!(kind.is_some(), "{schema}");
            if let Some(parts) = schema["properties"].as_object() {
                assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
                assert_eq!(schema["required"].as_array().map(Vec::len), Some(parts.len()), "{schema}");
                parts.values().for_each(check);
            }
            if kind == Some("array") {
                check(&schema["items"]);
            }
        }
        let rubric = [Criterion::new("clear"), Criterion::new("sourced").binary()];
        let earlier =
            crate::verify::Verdict::of([Finding::new("clear", "it hedges")]).filed("quality").findings;
        check(&schema(&rubric, Scale::default(), &earlier).schema);
        check(&schema(&rubric, Scale::default(), &[]).schema);
    }

    #[test]
    fn a_criterion_counts_by_its_weight() {
        assert!((weighted_mean([(1.0, 3.0), (0.0, 1.0)]) - 0.75).abs() < 1e-9);
    }
}
