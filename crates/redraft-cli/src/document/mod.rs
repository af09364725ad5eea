//! What a run came to, as a document: Markdown, a page of HTML, JUnit. Pure: a [`Report`] goes in, a text comes out.
//!
//! What models wrote is hostile: every format has its own escape, and every word goes through it.
//!
//! To add a format: a file here with a function from a report to a text, and its name in `commands/export.rs`.

pub(crate) mod html;
pub(crate) mod junit;
pub(crate) mod markdown;

use redraft::refine::{How, Iteration};
use redraft::verify::Finding;
use redraft::view::Report;
use serde_json::Value;

/// A finding over all drafts.
struct Life<'a> {
    finding: &'a Finding,
    /// The iterations whose drafts had it.
    seen: Vec<u32>,
    /// Whether the best draft has it.
    is_open: bool,
}

impl Life<'_> {
    fn words(&self) -> String {
        let seen: Vec<String> = self.seen.iter().map(ToString::to_string).collect();
        let seen = seen.join(", ");
        if self.is_open { format!("open; found in {seen}") } else { format!("fixed; found in {seen}") }
    }
}

/// Follows every finding over all drafts, in the order in which they were found.
fn lives(report: &Report) -> Vec<Life<'_>> {
    let mut lives: Vec<Life<'_>> = Vec::new();
    let best = report.best.as_ref().and_then(|best| report.iteration(best.iteration));
    for iteration in &report.iterations {
        for finding in iteration.open() {
            match lives.iter_mut().find(|life| life.finding.id == finding.id) {
                Some(life) => life.seen.push(iteration.n),
                None => {
                    let is_open = best.is_some_and(|best| best.open().any(|other| other.id == finding.id));
                    lives.push(Life { finding, seen: vec![iteration.n], is_open });
                }
            }
        }
    }
    lives
}

/// Says in words what a criterion wants, as it was written down at the start.
fn demand(verifier: &Value) -> String {
    match verifier {
        Value::String(words) => words.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Says in words how a draft was made.
fn made(iteration: &Iteration) -> String {
    let how = match iteration.how {
        How::Draft => "drafted",
        How::Rewrite => "rewritten",
        How::Edits => "edited",
        How::Sections => "rewritten in parts",
        How::Stepwise => "rewritten step by step",
        How::Thoughts => "thought anew",
        How::Facts => "rewritten from facts",
        How::Human => "written by a person",
        _ => "made",
    };
    match iteration.from {
        Some(n) => format!("{how} from {n}"),
        None => how.to_owned(),
    }
}

fn money(report: &Report) -> String {
    report.spend.money.map_or_else(|| "price unknown".to_owned(), |money| money.to_string())
}

/// Returns the least score that is accepted, where a score decides.
fn bar(report: &Report) -> Option<f64> {
    report.criteria.as_ref().and_then(|criteria| criteria.score())
}

fn took(report: &Report) -> Option<String> {
    let millis = report.updated_at?.since(report.started_at?).as_millis();
    u64::try_from(millis).ok().map(crate::text::duration)
}

/// Makes a sentence of some words.
fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| format!("{}{}.", first.to_uppercase(), rest.as_str())).unwrap_or_default()
}

/// Returns the refinements of a run, each as a report with its name; the run itself if it has not several.
fn parts(report: &Report) -> Vec<(String, Report)> {
    if report.refinements.is_empty() {
        return vec![(report.workflow.clone(), report.clone())];
    }
    let paths = report.refinements.iter().map(|refinement| refinement.path.as_str());
    let named = |path: &str| format!("{}/{path}", report.workflow);
    paths.filter_map(|path| Some((named(path), report.of_refinement(path)?))).collect()
}
