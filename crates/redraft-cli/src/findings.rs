//! What was found in drafts, for people: each with the sign of how it stands.

use redraft::refine::Iteration;
use redraft::verify::{Finding, FindingStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::terminal::Palette;
use crate::text;

/// Returns the sign and the word for how a finding stands.
pub(crate) fn sign(status: FindingStatus) -> (char, &'static str) {
    match status {
        FindingStatus::Fixed => ('✓', "fixed"),
        FindingStatus::Open => ('●', "open"),
        FindingStatus::New => ('✚', "new"),
        FindingStatus::Regressed => ('↓', "regressed"),
        FindingStatus::Disputed => ('?', "disputed"),
        FindingStatus::Waived => ('–', "waived"),
    }
}

/// Paints a word in the colour of how a finding stands.
pub(crate) fn paint(palette: Palette, status: FindingStatus, words: &str) -> String {
    match status {
        FindingStatus::Fixed => palette.good(words),
        FindingStatus::Regressed => palette.bad(words),
        FindingStatus::Waived => palette.dim(words),
        _ => palette.warn(words),
    }
}

/// Shows findings, one on a line, the width of the terminal kept to.
pub(crate) fn rows<'a>(
    findings: impl Iterator<Item = (FindingStatus, &'a Finding)>,
    palette: Palette,
    columns: usize,
) -> Vec<String> {
    let mut rows = Vec::new();
    for (status, finding) in findings {
        let (glyph, word) = sign(status);
        let head = text::pad(&format!("{glyph} {word}"), 11);
        let said = format!("{}: {}", text::line(&finding.verifier), text::line(&finding.to_string()));
        let mut parts = text::wrap(&said, columns.saturating_sub(15)).into_iter();
        let first = parts.next().unwrap_or_default();
        rows.push(format!("  {}  {first}", paint(palette, status, &head)));
        rows.extend(parts.map(|part| format!("{}{part}", " ".repeat(15))));
    }
    rows
}

/// A finding, and what became of it from one draft to another.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Followed {
    /// What became of it: fixed, open, new or regressed.
    pub(crate) status: FindingStatus,
    /// The finding.
    pub(crate) finding: Finding,
}

/// Compares what was found in two drafts.
pub(crate) fn followed(before: &Iteration, after: &Iteration) -> Vec<Followed> {
    let is_in =
        |iteration: &Iteration, finding: &Finding| iteration.open().any(|other| other.id == finding.id);
    let gone =
        before.open().filter(|finding| !is_in(after, finding)).map(|finding| (FindingStatus::Fixed, finding));
    let there = after.open().map(|finding| {
        let status = match finding.status {
            FindingStatus::Regressed | FindingStatus::Disputed => finding.status,
            _ if is_in(before, finding) => FindingStatus::Open,
            _ => FindingStatus::New,
        };
        (status, finding)
    });
    gone.chain(there).map(|(status, finding)| Followed { status, finding: finding.clone() }).collect()
}

/// Counts how findings stand: `✓ fixed 2 · ● open 1 · ✚ new 0`.
pub(crate) fn tally(statuses: impl Iterator<Item = FindingStatus> + Clone) -> String {
    let shown = [FindingStatus::Fixed, FindingStatus::Open, FindingStatus::New, FindingStatus::Regressed];
    let parts = shown.map(|status| {
        let (glyph, word) = sign(status);
        format!("{glyph} {word} {}", statuses.clone().filter(|other| *other == status).count())
    });
    parts.join(" · ")
}
