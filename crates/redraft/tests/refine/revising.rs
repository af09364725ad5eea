//! The ways in which drafts are revised, and what each leaves alone.

use redraft::Stop;
use redraft::llm::Scripted;
use redraft::refine::edits::Keep;
use redraft::refine::{Accept, How, Limits, Mode, Refine};
use redraft::verify::{Case, Finding, FindingStatus, Rule, Verdict};
use serde_json::json;

use crate::support::{Holds, refine, run, words};

/// Finds a word wherever it stands.
#[derive(Debug)]
struct Without(&'static str);

impl Rule for Without {
    fn demand(&self) -> String {
        format!("it does not say “{}”", self.0)
    }

    fn check(&self, case: &Case) -> Verdict {
        let found = case.draft.match_indices(self.0).map(|(at, word)| {
            Finding::new("forbidden", format!("says “{word}”")).span(&case.draft, at..at + word.len())
        });
        Verdict::of(found)
    }
}

const DRAFT: &str =
    "# One\n\nThe moon is very big.\n\n# Two\n\nThe sea is wide.\n\n# Three\n\nThe end is very near.\n";

#[tokio::test]
async fn edits_change_what_they_name_and_nothing_else() {
    let edits = json!({ "edits": [
        { "search": "very big", "replace": "large" },
        { "search": "very near", "replace": "close" },
    ] });
    let author = Scripted::new("author", [DRAFT.to_owned(), edits.to_string()]);
    let refined =
        run(Refine::new("essay", author.clone()).verify("plain", Without("very")).mode(Mode::Edits)).await;
    assert_eq!(refined.stop, Stop::Accepted);
    let wanted = DRAFT.trim().replace("very big", "large").replace("very near", "close");
    assert_eq!((refined.best.unwrap().text, refined.iterations[1].how), (wanted, How::Edits));
}

#[tokio::test]
async fn edits_that_do_not_fit_are_explained_and_asked_for_again() {
    let bad = json!({ "edits": [{ "search": "The", "replace": "A" }] }).to_string();
    let good = json!({ "edits": [{ "search": "very ", "replace": "", "occurrence": 1 }, { "search": "very near", "replace": "near" }] });
    let author = Scripted::new("author", [DRAFT.to_owned(), bad, good.to_string()]);
    let refined =
        run(Refine::new("essay", author.clone()).verify("plain", Without("very")).mode(Mode::Edits)).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert!(words(&author.asked()[2]).contains("Your last edits could not be made"));
}

#[tokio::test]
async fn only_the_parts_in_which_something_was_found_are_written_anew() {
    let author = Scripted::by("author", |request, at| match at {
        0 => DRAFT.into(),
        _ if words(request).contains("<part>\n# One") => "# One\n\nThe moon is big.".into(),
        _ => "# Three\n\nThe end is near.".into(),
    });
    let refined =
        run(Refine::new("essay", author.clone()).verify("plain", Without("very")).mode(Mode::Sections)).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.best.unwrap().text, DRAFT.trim().replace("very ", ""));
    assert_eq!(author.asked().len(), 3, "the second part was not asked for");
}

#[tokio::test]
async fn a_protected_passage_survives_every_mode() {
    let author = Scripted::new("author", ["0.5 (c) ada", "0.9", "0.9 (c) ada"]);
    let refined = run(refine(&author).keep(Keep::words("(c) ada")).limits(Limits::iterations(3))).await;
    assert_eq!((refined.stop, refined.best.unwrap().iteration), (Stop::Accepted, 3));
    assert!(!refined.iterations[1].accepted);
    assert_eq!(refined.iterations[1].open().last().unwrap().rule, "protected-span");
}

#[tokio::test]
async fn findings_are_followed_from_draft_to_draft() {
    let author = Scripted::new("author", ["0.5 x", "0.5 moon", "0.9 moon sea"]);
    let refined = run(refine(&author).verify("moon", Holds("moon")).verify("sea", Holds("sea"))).await;
    let stands: Vec<Vec<(String, FindingStatus)>> = refined
        .iterations
        .iter()
        .map(|iteration| iteration.findings.iter().map(|f| (f.verifier.clone(), f.status)).collect())
        .collect();
    use FindingStatus::{Fixed, New, Open};
    let stands: Vec<Vec<(&str, FindingStatus)>> = stands
        .iter()
        .map(|all| all.iter().map(|(name, status)| (name.as_str(), *status)).collect())
        .collect();
    assert_eq!(stands[0], [("worth", New), ("moon", New), ("sea", New)]);
    assert_eq!(stands[1], [("worth", Open), ("sea", Open), ("moon", Fixed)]);
    assert_eq!(stands[2], [("worth", Open), ("sea", Fixed)]);
}

#[tokio::test]
async fn the_first_candidate_that_passes_ends_the_iteration() {
    let author = Scripted::by("author", |request, _| {
        let nth = request.seed.unwrap();
        redraft::llm::Turn::text(if nth == 2 { "0.9" } else { "0.1" })
            .after(std::time::Duration::from_millis(if nth == 3 { 3_600_000 } else { nth }))
    });
    let refined = run(refine(&author).candidates(3)).await;
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Accepted, 1));
    assert_eq!((refined.iterations[0].score, refined.iterations[0].candidates), (0.9, 2));
}

#[tokio::test]
async fn a_habit_of_models_is_not_a_part_of_the_draft() {
    for (said, draft) in [
        ("```rust\nfn main() {}\n```", "fn main() {}"),
        ("  plain\n", "plain"),
        ("```rust src/lib.rs\nfn f() {}\n```", "```rust src/lib.rs\nfn f() {}\n```"),
        ("```a\n1\n```\nand\n```b\n2\n```", "```a\n1\n```\nand\n```b\n2\n```"),
    ] {
        let author = Scripted::new("author", [said]);
        let accept = Accept::When("always".to_owned(), std::sync::Arc::new(|_| true));
        let refine = Refine::new("essay", author).verify("any", Without("\u{0}")).accept(accept);
        assert_eq!(run(refine).await.best.unwrap().text, draft);
    }
}
