//! How findings stand from draft to draft. Pure.
//!
//! A draft is compared with the one it was made from: what both have is *open*, what only the new one has is *new* (or
//! *regressed*, if an ancestor had it and it was fixed in between), what only the old one had is *fixed*. A finding of a
//! criterion that was not asked this time is neither: it stays open, because nobody looked.

use std::collections::HashSet;

use super::outcome::{Iteration, Opinion};
use crate::verify::{Finding, FindingId, FindingStatus};

/// Returns the findings of a draft with how they stand; those that are gone since the draft it was made from come last.
pub(super) fn compared(
    found: Vec<Finding>,
    verdicts: &[Opinion],
    from: Option<u32>,
    history: &[Iteration],
) -> Vec<Finding> {
    let at = |n: u32| history.iter().find(|iteration| iteration.n == n);
    let parent = from.and_then(at);
    let ids = |iteration: &Iteration| -> HashSet<FindingId> {
        iteration.open().map(|finding| finding.id.clone()).collect()
    };
    let before = parent.map(ids).unwrap_or_default();
    let mut ancestors: HashSet<FindingId> = HashSet::new();
    let mut next = parent.and_then(|parent| parent.from).and_then(at);
    while let Some(ancestor) = next {
        ancestors.extend(ids(ancestor));
        next = ancestor.from.and_then(at);
    }
    let asked =
        |name: &str| verdicts.iter().any(|opinion| opinion.verifier == name && opinion.score.is_some());
    let mut findings: Vec<Finding> = found
        .into_iter()
        .map(|mut finding| {
            finding.status = match finding.status {
                decided @ (FindingStatus::Disputed | FindingStatus::Waived) => decided,
                _ if before.contains(&finding.id) => FindingStatus::Open,
                _ if ancestors.contains(&finding.id) => FindingStatus::Regressed,
                _ => FindingStatus::New,
            };
            finding
        })
        .collect();
    let now: HashSet<FindingId> = findings.iter().map(|finding| finding.id.clone()).collect();
    for earlier in parent.into_iter().flat_map(Iteration::open).filter(|finding| !now.contains(&finding.id)) {
        let status = if asked(&earlier.verifier) { FindingStatus::Fixed } else { FindingStatus::Open };
        findings.push(Finding { status, ..earlier.clone() });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Gate, Verdict};

    fn opinions(asked: &[&str]) -> Vec<Opinion> {
        asked
            .iter()
            .map(|name| Opinion {
                verifier: (*name).to_owned(),
                score: Some(0.5),
                gate: Gate::None,
                spread: None,
            })
            .collect()
    }

    fn found(rules: &[&str]) -> Vec<Finding> {
        Verdict::of(rules.iter().map(|rule| Finding::new(*rule, "is wrong"))).filed("text").findings
    }

    fn iteration(n: u32, from: Option<u32>, rules: &[&str], history: &[Iteration]) -> Iteration {
        let verdicts = opinions(&["text"]);
        let findings = compared(found(rules), &verdicts, from, history);
        Iteration { n, from, findings, verdicts, ..super::super::tests::iteration(n, 0.5) }
    }

    fn shown(iteration: &Iteration) -> Vec<(&str, FindingStatus)> {
        iteration.findings.iter().map(|finding| (finding.rule.as_str(), finding.status)).collect()
    }

    #[test]
    fn a_finding_is_followed_along_the_line_of_drafts() {
        use FindingStatus::{Fixed, New, Open, Regressed};
        let mut history = vec![iteration(1, None, &["a", "b"], &[])];
        history.push(iteration(2, Some(1), &["b"], &history));
        // Made from the second, but worse; the fourth is made from the second again.
        history.push(iteration(3, Some(2), &["a", "c"], &history));
        history.push(iteration(4, Some(2), &["c"], &history));
        let shown: Vec<_> = history.iter().map(shown).collect();
        assert_eq!(shown[0], [("a", New), ("b", New)]);
        assert_eq!(shown[1], [("b", Open), ("a", Fixed)]);
        assert_eq!(shown[2], [("a", Regressed), ("c", New), ("b", Fixed)]);
        assert_eq!(shown[3], [("c", New), ("b", Fixed)], "the third is not its ancestor");
    }

    #[test]
    fn what_nobody_looked_at_stays_open() {
        let history = vec![iteration(1, None, &["a"], &[])];
        let findings = compared(Vec::new(), &opinions(&["other"]), Some(1), &history);
        assert_eq!(findings[0].status, FindingStatus::Open);
    }
}
