//! A person as judge.

use std::sync::Arc;
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::verify::{
    Case, Cost, Evidence, Finding, Gate, Human, HumanConfig, Incumbent, Severity, Verdict, Verifier,
};
use redraft::{Answer, Engine, Failure, ManualClock, RunHandle};
use serde_json::json;

use crate::support::{judging, near, on};

fn case() -> Case {
    let mut case = Case::new("Explain tides.", "Tides rise.");
    case.iteration = 3;
    case.incumbent = Some(Incumbent::new(2, "Tides.", Some(0.75)));
    case.earlier = Verdict::of([Finding::new("rejected", "too short")]).filed("quality").findings;
    case
}

async fn asking(human: Human) -> (Engine, RunHandle<Verdict>) {
    let workflow = judging(&(Arc::new(human) as Arc<dyn Verifier>), &case(), false);
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    (engine, handle)
}

/// What comes of these answers, one after the other.
async fn answered(answers: impl IntoIterator<Item = Answer>) -> Verdict {
    let (engine, handle) = asking(Human::new("Good?")).await;
    for (answer, n) in answers.into_iter().zip(1..) {
        let gate = if n == 1 { "quality/review".to_owned() } else { format!("quality/review#{n}") };
        engine.answer(handle.run(), &gate, answer).await.unwrap();
        handle.settled().await.unwrap();
    }
    handle.outcome().await.unwrap().into_output().unwrap()
}

#[tokio::test]
async fn the_question_shows_what_is_to_be_judged() {
    let (engine, handle) = asking(Human::new("Good?")).await;
    let gate = engine.summary(handle.run()).await.unwrap().gates.remove(0);
    assert_eq!(gate.options, ["approve", "reject", "edit", "score"]);
    for shown in [
        "Good?\n",
        "Task: Explain tides.",
        "Iteration: 3",
        "Best so far: iteration 2, score 0.75",
        "Said before:\n- too short",
        "Draft:\nTides rise.\n",
    ] {
        assert!(gate.question.contains(shown), "{shown}: {}", gate.question);
    }
}

#[tokio::test]
async fn approval_passes_and_settles_what_was_said_before() {
    let verdict = answered([Answer::new("approve").by("ada").note("nice")]).await;
    assert_eq!((verdict.gate, verdict.fixed.len(), verdict.warnings.len()), (Gate::Pass, 1, 0));
    near(verdict.score, 1.0);
    assert_eq!(
        (verdict.findings[0].message.as_str(), verdict.findings[0].severity),
        ("nice", Severity::Minor)
    );
}

#[tokio::test]
async fn a_rejection_blocks_with_the_persons_words_or_without() {
    let cases = [
        (Answer::new("reject").note("too dry"), "too dry"),
        (Answer::new("reject"), "a person rejected the draft and did not say why"),
        (Answer::new("reject").note("  "), "a person rejected the draft and did not say why"),
    ];
    for (answer, words) in cases {
        let verdict = answered([answer]).await;
        assert_eq!((verdict.gate, verdict.findings.len()), (Gate::Fail, 1));
        assert_eq!((verdict.findings[0].message.as_str(), verdict.findings[0].is_blocking()), (words, true));
        assert_eq!(verdict.edited, None);
    }
}

#[tokio::test]
async fn a_score_is_a_share_or_out_of_ten() {
    for (value, wanted) in [(json!(0.65), 0.65), (json!(8), 0.8), (json!("9"), 0.9)] {
        let verdict = answered([Answer::new("score").value(value).note("more salt")]).await;
        near(verdict.score, wanted);
        assert_eq!((verdict.gate, verdict.findings[0].severity), (Gate::None, Severity::Major));
    }
}

#[tokio::test]
async fn an_edited_text_is_handed_on_and_the_draft_itself_does_not_pass() {
    let verdict = answered([Answer::new("edit").value(json!("Tides rise and fall."))]).await;
    assert_eq!(verdict.edited.as_deref(), Some("Tides rise and fall."));
    assert_eq!((verdict.gate, verdict.findings[0].rule.as_str()), (Gate::Fail, "edited"));
    let kept: Verdict = serde_json::from_str(&serde_json::to_string(&verdict).unwrap()).unwrap();
    assert_eq!(kept, verdict);
    let without = serde_json::to_value(Verdict::pass()).unwrap();
    assert_eq!(without.get("edited"), None, "older journals have no such field");
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_asked_for_again_with_what_was_wrong() {
    let cases = [
        (Answer::new("score"), "`score` needs a number"),
        (Answer::new("score").value(json!("good")), "`score` needs a number"),
        (Answer::new("score").value(json!(11)), "11 is neither between 0 and 1 nor between 1 and 10"),
        (Answer::new("score").value(json!(1)), "write 10 for the best"),
        (Answer::new("edit"), "`edit` needs the new text"),
        (Answer::new("edit").value(json!(" ")), "`edit` needs the new text"),
        (Answer::new("edit").value(json!("Tides rise.")), "the draft as it was"),
    ];
    for (bad, wanted) in cases {
        let (engine, handle) = asking(Human::new("Good?")).await;
        engine.answer(handle.run(), "quality/review", bad.clone()).await.unwrap();
        handle.settled().await.unwrap();
        let gate = engine.summary(handle.run()).await.unwrap().gates.remove(0);
        assert_eq!(gate.gate.as_str(), "quality/review#2");
        let first = gate.question.lines().next().unwrap();
        assert!(
            first.starts_with("The last answer cannot be used: ") && first.contains(wanted),
            "{bad:?}: {first}"
        );
        engine.answer(handle.run(), "quality/review#2", Answer::new("approve")).await.unwrap();
        assert!(handle.outcome().await.unwrap().into_output().unwrap().passes());
    }
}

#[tokio::test]
async fn a_resumed_run_asks_nobody_again() {
    let human: Arc<dyn Verifier> = Arc::new(Human::new("Good?"));
    let store = MemoryStore::new();
    let workflow = judging(&human, &case(), true);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap();
    run.settled().await.unwrap();
    engine.answer(run.run(), "quality/review", Answer::new("score")).await.unwrap();
    run.settled().await.unwrap();
    engine.answer(run.run(), "quality/review#2", Answer::new("score").value(json!(7))).await.unwrap();
    run.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, workflow).open().await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap().typed::<Verdict>();
    handle.settled().await.unwrap();
    let open = engine.summary(run.run()).await.unwrap().gates;
    assert_eq!(open.iter().map(|gate| gate.gate.as_str()).collect::<Vec<_>>(), ["go-on"]);
    engine.answer(run.run(), "go-on", Answer::new("approve")).await.unwrap();
    near(handle.outcome().await.unwrap().into_output().unwrap().score, 0.7);
}

#[tokio::test]
async fn silence_is_the_default_and_that_is_said_or_the_gate_expires() {
    let hour = Duration::from_secs(3600);
    let cases = [(Some("reject"), Some(Gate::Fail)), (Some("approve"), Some(Gate::Pass)), (None, None)];
    for (default, wanted) in cases {
        let mut human = Human::new("Good?").within(hour);
        if let Some(choice) = default {
            human = human.default_to(choice);
        }
        let clock = Arc::new(ManualClock::default());
        let workflow = judging(&(Arc::new(human) as Arc<dyn Verifier>), &case(), false);
        let engine = on(&MemoryStore::new(), workflow.clone()).clock(clock.clone()).open().await.unwrap();
        let handle = engine.start(&workflow, ()).await.unwrap();
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(hour);
        let ended: Result<Verdict, Failure> = handle.outcome().await.unwrap().into_output();
        match (ended, wanted) {
            (Ok(verdict), Some(gate)) => {
                assert_eq!(verdict.gate, gate);
                assert!(verdict.warnings[0].starts_with("nobody answered in time"), "{:?}", verdict.warnings);
            }
            (Err(failure), None) => assert_eq!(failure.code, "gate-expired"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_question_can_be_written_in_a_file_and_describes_itself() {
    let written = json!({ "question": "Good?", "within": "36h", "default": "reject" });
    let human = Human::from_config(serde_json::from_value::<HumanConfig>(written).unwrap()).unwrap();
    let same = Human::new("Good?").within(Duration::from_secs(36 * 3600)).default_to("reject");
    assert_eq!(human.describe(), same.describe());
    assert_ne!(human.describe(), Human::new("Good?").describe());
    assert_eq!((human.evidence(), human.cost()), (Evidence::Human, Cost::Person));
    assert_eq!(human.demand(), "a person who is asked “Good?” approves");
    let wrong = HumanConfig { question: "?".to_owned(), within: None, default: Some("score".to_owned()) };
    assert!(Human::from_config(wrong).is_err());
}
