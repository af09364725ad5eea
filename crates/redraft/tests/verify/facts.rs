//! Claims of a draft, checked against documents.

use std::sync::Arc;

use redraft::Failure;
use redraft::llm::{Error, Model, Prompts, Request, Scripted, Turn};
use redraft::verify::{Case, Cost, Evidence, Facts, FactsConfig, Gate, Severity, Unmentioned, Verifier};
use serde_json::{Value, json};

use crate::support::{judged, judged_and_resumed, last_words, near, prompt};

const DRAFT: &str =
    "A secret preface.\nThe bridge opened in 1932. It is 503 metres long. Its paint is green.";
const HISTORY: &str = "The Harbour Bridge was opened on 19 March 1932 by the premier.";
const MEASURES: &str = "The main span of the bridge\nmeasures 503 metres.";

fn case() -> Case {
    Case::new("Write about the bridge.", DRAFT)
}

fn claims(of: &[(&str, &str)]) -> Value {
    let claims: Vec<Value> =
        of.iter().map(|(claim, quote)| json!({ "claim": claim, "quote": quote })).collect();
    json!({ "claims": claims })
}

fn is_check(request: &Request) -> bool {
    prompt(request).contains("<claim>")
}

/// Lists these claims, and answers checks by what the prompt holds.
fn checking(
    listed: Value,
    check: impl Fn(&str) -> (&'static str, &'static str) + Send + Sync + 'static,
) -> Scripted {
    Scripted::by("checker", move |request, _| {
        Turn::text(if is_check(request) {
            let (verdict, quote) = check(prompt(request));
            json!({ "verdict": verdict, "quote": quote }).to_string()
        } else {
            listed.to_string()
        })
    })
}

fn three_claims() -> Value {
    claims(&[
        ("The bridge opened in 1932.", "The bridge opened in 1932."),
        ("The bridge is 503 metres long.", "It is 503 metres long"),
        ("The paint of the bridge is green.", "words that are not there"),
    ])
}

/// Knows that it opened in 1932, and says that it is of another length.
fn honest(prompt: &str) -> (&'static str, &'static str) {
    let (claim, source) = prompt.split_once("</claim>").unwrap();
    match () {
        () if claim.contains("opened") && source.contains("19 March") => {
            ("supported", "opened on 19 March 1932")
        }
        () if claim.contains("metres") && source.contains("503") => {
            ("contradicted", "main span of the bridge measures 503 metres")
        }
        () => ("unmentioned", ""),
    }
}

fn facts(model: &Scripted) -> Facts {
    Facts::new(Arc::new(model.clone())).document("history", HISTORY).document("measures", MEASURES)
}

#[tokio::test]
async fn each_claim_is_supported_contradicted_or_unmentioned() {
    let verdict = judged(facts(&checking(three_claims(), honest)), &case()).await.unwrap();
    near(verdict.score, 1.0 / 3.0);
    assert_eq!(verdict.gate, Gate::Fail);
    let [length, paint] = verdict.findings.as_slice() else { panic!("{verdict:#?}") };
    assert_eq!((length.rule.as_str(), length.severity), ("contradicted", Severity::Blocking));
    assert_eq!(length.evidence.as_deref(), Some("measures: “main span of the bridge measures 503 metres”"));
    assert!(length.message.contains("`measures`") && length.message.contains("503 metres long"));
    assert_eq!(length.place.as_ref().unwrap().to_string(), "line 2:28");
    assert_eq!((paint.rule.as_str(), paint.severity, &paint.place), ("unmentioned", Severity::Major, &None));
}

#[tokio::test]
async fn the_checking_calls_see_one_claim_and_one_source_and_never_the_draft() {
    let model = checking(three_claims(), honest);
    judged(facts(&model), &case()).await.unwrap();
    let asked = model.asked();
    let (checks, lists): (Vec<_>, Vec<_>) = asked.iter().partition(|request| is_check(request));
    assert_eq!((checks.len(), lists.len()), (6, 1), "every claim is held against both documents");
    assert!(prompt(lists[0]).contains("A secret preface."));
    for request in checks {
        let all = serde_json::to_string(request).unwrap();
        for foreign in ["secret", "Write about", "It is 503", "Its paint", "words that are not there"] {
            assert!(!all.contains(foreign), "{foreign}: {all}");
        }
        let seen = ["opened in 1932.", "503 metres long.", "paint of the bridge"];
        assert_eq!(seen.iter().filter(|claim| all.contains(**claim)).count(), 1, "{all}");
        assert_eq!(
            usize::from(all.contains("19 March")) + usize::from(all.contains("main span")),
            1,
            "{all}"
        );
    }
}

#[tokio::test]
async fn what_no_document_speaks_of_weighs_as_it_is_told_to() {
    let cases = [
        (Unmentioned::Report, Gate::Pass, 0.5, Some(Severity::Major)),
        (Unmentioned::Fail, Gate::Fail, 0.5, Some(Severity::Blocking)),
        (Unmentioned::Allow, Gate::Pass, 1.0, None),
    ];
    for (unmentioned, gate, score, severity) in cases {
        let listed = claims(&[("The bridge opened in 1932.", ""), ("The paint is green.", "")]);
        let facts = facts(&checking(listed, honest)).unmentioned(unmentioned);
        let verdict = judged(facts, &case()).await.unwrap();
        near(verdict.score, score);
        let found = verdict.findings.first().map(|finding| finding.severity);
        assert_eq!((verdict.gate, found), (gate, severity), "{unmentioned:?}");
    }
}

#[tokio::test]
async fn a_quotation_must_really_stand_in_the_source() {
    let listed = claims(&[("The bridge opened in 1932.", "")]);
    let model = Scripted::new(
        "checker",
        [
            listed.to_string(),
            json!({ "verdict": "supported", "quote": "opened in 1932" }).to_string(),
            json!({ "verdict": "contradicted", "quote": "" }).to_string(),
            json!({ "verdict": "supported", "quote": "opened  on 19 March\n1932" }).to_string(),
        ],
    );
    let facts = Facts::new(Arc::new(model.clone())).document("history", HISTORY);
    let verdict = judged(facts, &case()).await.unwrap();
    assert!(verdict.passes() && verdict.findings.is_empty(), "{verdict:?}");
    assert!(last_words(&model.asked()[2]).contains("these words do not stand in the source"));
    assert_eq!(model.asked().len(), 4);
}

#[tokio::test]
async fn checks_that_cannot_be_had_are_no_verdict() {
    let invents = checking(three_claims(), |_| ("supported", "words of its own"));
    let failure = judged(facts(&invents), &case()).await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.at.len()), ("no-verdict", 6), "{failure:?}");
    let silent =
        Scripted::by("checker", |_, _| Turn::text(r#"{ "claims": [{ "claim": " ", "quote": "" }] }"#));
    assert_eq!(judged(facts(&silent), &case()).await.unwrap_err().code, "no-verdict");
    let gone = Scripted::by("checker", |request, _| match is_check(request) {
        true => Turn::error(Error::NotFound { model: "m".into(), message: "gone".into() }),
        false => Turn::text(three_claims().to_string()),
    });
    assert_eq!(judged(facts(&gone), &case()).await.unwrap_err().code, "model-not-found");
}

#[tokio::test]
async fn a_draft_without_claims_passes_and_that_is_said() {
    let model = checking(claims(&[]), honest);
    let verdict = judged(facts(&model), &case()).await.unwrap();
    assert_eq!((verdict.gate, model.asked().len()), (Gate::Pass, 1));
    near(verdict.score, 1.0);
    assert_eq!(verdict.warnings, ["the draft claims nothing that could be checked"]);
}

#[tokio::test]
async fn sources_that_disagree_are_told_and_the_contradiction_counts() {
    let listed = claims(&[("The bridge opened in 1932.", "")]);
    let model = checking(listed, |prompt| match prompt.contains("19 March") {
        true => ("supported", "1932"),
        false => ("contradicted", "503 metres"),
    });
    let verdict = judged(facts(&model), &case()).await.unwrap();
    assert_eq!(verdict.gate, Gate::Fail);
    assert_eq!(verdict.warnings, ["`measures` and `history` disagree on this: The bridge opened in 1932."]);
}

#[tokio::test]
async fn of_long_documents_only_the_passages_that_matter_are_sent() {
    let filler = "Nothing of note happened on that day in the harbour.\n\n".repeat(400);
    let long = format!("{filler}{HISTORY}\n\n{filler}");
    let model = checking(claims(&[("The premier opened it on 19 March 1932.", "")]), honest);
    let facts = Facts::new(Arc::new(model.clone()))
        .document("noise", &filler)
        .document("archive", &long)
        .document("measures", MEASURES)
        .sources(1);
    assert!(judged(facts, &case()).await.unwrap().findings.is_empty());
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "the claim was held against more than one document");
    assert!(
        prompt(&asked[1]).contains(HISTORY) && prompt(&asked[1]).len() < 6000,
        "{}",
        prompt(&asked[1]).len()
    );
}

#[tokio::test]
async fn a_finding_is_known_by_its_claim_over_all_drafts() {
    let id = |draft: &'static str, quote: &'static str| async move {
        let model = checking(claims(&[("The paint is green.", quote)]), honest);
        judged(facts(&model), &Case::new("?", draft)).await.unwrap().findings[0].id.clone()
    };
    assert_eq!(id("x. Its paint is green.", "Its paint").await, id("Green is its paint.", "Green").await);
}

#[tokio::test]
async fn a_resumed_run_asks_nothing_again() {
    let model = checking(three_claims(), honest);
    near(judged_and_resumed(facts(&model), &case()).await.score, 1.0 / 3.0);
    assert_eq!(model.asked().len(), 7);
}

#[tokio::test]
async fn a_check_without_documents_is_refused() {
    let bare = || Facts::new(Arc::new(Scripted::new("checker", ["x"])));
    let cases = [
        (bare(), "it has no documents"),
        (bare().document("a", " \n"), "the document `a` is empty"),
        (bare().document("a", "x").document("a", "y"), "two documents are called `a`"),
        (bare().document("a", "x").sources(0), "0 documents"),
    ];
    for (facts, wanted) in cases {
        let failure = judged(facts, &case()).await.unwrap_err();
        assert_eq!(failure.code, "bad-verifier");
        assert!(failure.message.contains(wanted), "{failure}");
    }
}

#[test]
fn a_description_holds_everything_that_decides() {
    let facts = || facts(&Scripted::new("checker", ["x"]));
    let own = Prompts::builtin().with("check-claim", "{{ claim }} {{ document }}").unwrap();
    let others = [
        facts().document("third", "x"),
        facts().unmentioned(Unmentioned::Fail),
        facts().sources(1),
        facts().prompts(own),
        Facts::new(Arc::new(Scripted::new("checker", ["x"])))
            .document("history", "otherwise")
            .document("measures", MEASURES),
    ];
    for other in others {
        assert_ne!(other.describe(), facts().describe());
    }
    assert_eq!(facts().demand(), "only claims that the given documents support (`history`, `measures`)");
    assert_eq!((facts().evidence(), facts().cost()), (Evidence::Statistical, Cost::Model));
}

#[test]
fn a_check_can_be_written_in_a_file() {
    let config = |documents: Value| -> FactsConfig {
        let written = json!({ "model": "checker", "documents": documents, "unmentioned": "report" });
        serde_json::from_value(written).unwrap()
    };
    let model: Arc<dyn Model> = Arc::new(Scripted::new("checker", ["x"]));
    let read = |file: &str| match file {
        "measures" => Ok(MEASURES.to_owned()),
        other => Err(Failure::from(format!("no {other}"))),
    };
    let make =
        |documents| Facts::from_config(config(documents), Arc::clone(&model), Prompts::builtin(), read);
    let made = make(json!([{ "name": "history", "text": HISTORY }, { "file": "measures" }])).unwrap();
    assert_eq!(made.describe(), facts(&Scripted::new("checker", ["x"])).describe());
    assert_eq!(make(json!([{ "file": "nowhere" }])).unwrap_err().message, "no nowhere");
    for bad in
        [json!([]), json!([{ "text": "x" }]), json!([{ "name": "x", "text": "x", "file": "measures" }])]
    {
        assert_eq!(make(bad).unwrap_err().code, "bad-verifier");
    }
}
