//! Questions to people: durable, checked, answered once.

use std::sync::Arc;
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::{Answer, Ctx, Delivered, Ending, Engine, Failure, ManualClock, Question, Status, flow};
use serde_json::json;

use crate::support::on;

fn publish(question: Question) -> redraft::Flow<(), Answer> {
    flow("publish", move |ctx: Ctx, ()| {
        let question = question.clone();
        async move {
            ctx.step("draft", || async { Ok::<_, Failure>("draft".to_owned()) }).await?;
            ctx.gate("approve", question).await
        }
    })
}

#[tokio::test]
async fn an_answer_carries_who_and_why_and_survives_restarts() {
    let store = MemoryStore::new();
    let workflow = publish(Question::new("Publish it?"));
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    let outcome = handle.settled().await.unwrap();
    assert_eq!(outcome.status(), Status::Waiting);
    assert_eq!(outcome.ending, Ending::Waiting { gates: vec![redraft::Path::new("approve")] });
    let summary = engine.summary(handle.run()).await.unwrap();
    assert_eq!(summary.status, Status::Waiting);
    assert_eq!((summary.gates[0].question.as_str(), summary.gates[0].options.len()), ("Publish it?", 2));
    drop(engine);

    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.handle(handle.run()).await.unwrap().typed::<Answer>();
    handle.settled().await.unwrap();
    let answer = Answer::new("approve").by("ada").note("fine").value(json!({"score": 9}));
    assert_eq!(engine.answer(handle.run(), "approve", answer.clone()).await.unwrap(), Delivered::Now);
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap(), answer);
    drop(engine);

    let engine = on(&store, workflow).open().await.unwrap();
    let handle = engine.handle(handle.run()).await.unwrap().typed::<Answer>();
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap(), answer);
}

#[tokio::test]
async fn wrong_answers_are_refused_with_what_would_be_right() {
    let store = MemoryStore::new();
    let workflow = publish(Question::new("Publish it?").option("publish").option("hold back"));
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let run = handle.run();
    let error = engine.answer(run, "aprove", Answer::new("publish")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("`{run}` has no open gate `aprove`; did you mean `approve`?"));
    let error = engine.answer(run, "approve", Answer::new("publsh")).await.unwrap_err();
    let wanted = "the gate `approve` does not offer `publsh`; it offers `publish`, `hold back`; did you mean `publish`?";
    assert_eq!(error.to_string(), wanted);
    engine.answer(run, "approve", Answer::new("hold back")).await.unwrap();
    handle.outcome().await.unwrap();
    let error = engine.answer(run, "approve", Answer::new("publish")).await.unwrap_err();
    assert_eq!(error.code(), "run-ended");
}

#[tokio::test]
async fn of_many_who_answer_at_once_exactly_one_is_heard() {
    let workflow = publish(Question::new("?"));
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let answers =
        (0..20).map(|n| engine.answer(handle.run(), "approve", Answer::new("approve").by(format!("p{n}"))));
    let heard = futures_util::future::join_all(answers).await.into_iter().filter(Result::is_ok).count();
    assert_eq!(heard, 1);
    handle.outcome().await.unwrap().into_output().unwrap();
}

async fn after_the_deadline(question: Question) -> Result<Answer, Failure> {
    let clock = Arc::new(ManualClock::default());
    let workflow = publish(question);
    let store = MemoryStore::new();
    let engine = on(&store, workflow.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap();
    run.settled().await.unwrap();
    clock.advance(Duration::from_secs(30));
    // The deadline is a moment, not a duration that a restart begins anew.
    drop(engine);
    let engine = on(&store, workflow).clock(clock.clone()).open().await.unwrap();
    let run = engine.handle(run.run()).await.unwrap().typed();
    run.settled().await.unwrap();
    clock.advance(Duration::from_secs(30));
    run.outcome().await.unwrap().into_output()
}

#[tokio::test]
async fn a_deadline_takes_the_default_or_fails_the_gate() {
    let minute = Question::new("?").within(Duration::from_secs(60));
    let answer = after_the_deadline(minute.clone().default_to("reject")).await.unwrap();
    assert_eq!((answer.choice.as_str(), answer.by.as_str()), ("reject", "deadline"));
    assert_eq!(after_the_deadline(minute).await.unwrap_err().code, "gate-expired");
}

#[tokio::test]
async fn an_answer_left_for_another_engine_is_found_there() {
    let store = MemoryStore::new();
    let workflow = publish(Question::new("?"));
    let driving = on(&store, workflow.clone()).open().await.unwrap();
    let handle = driving.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let other: Engine = on(&store, workflow).open().await.unwrap();
    assert!(other.driving().is_empty());
    let error = other.answer(handle.run(), "approve", Answer::new("maybe")).await.unwrap_err();
    assert_eq!(error.code(), "no-such-choice");
    let answer = Answer::new("approve").by("bob");
    assert_eq!(other.answer(handle.run(), "approve", answer.clone()).await.unwrap(), Delivered::Left);
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap(), answer);
    let seen = other.handle(handle.run()).await.unwrap().typed::<Answer>();
    assert_eq!(seen.outcome().await.unwrap().into_output().unwrap(), answer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_whose_gate_was_answered_does_not_seem_to_wait() {
    let workflow = publish(Question::new("?"));
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    for _ in 0..100 {
        let handle = engine.start(&workflow, ()).await.unwrap();
        handle.settled().await.unwrap();
        engine.answer(handle.run(), "approve", Answer::new("approve")).await.unwrap();
        assert_eq!(handle.settled().await.unwrap().status(), Status::Completed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_answer_that_comes_before_the_resumed_workflow_has_reached_the_gate_is_kept_for_it() {
    let workflow = publish(Question::new("?"));
    for _ in 0..20 {
        let store = MemoryStore::new();
        let engine = on(&store, workflow.clone()).open().await.unwrap();
        let run = engine.start(&workflow, ()).await.unwrap();
        run.settled().await.unwrap();
        drop(engine);
        let engine = on(&store, workflow.clone()).open().await.unwrap();
        engine.answer(run.run(), "approve", Answer::new("approve").by("eager")).await.unwrap();
        let handle = engine.handle(run.run()).await.unwrap().typed::<Answer>();
        assert_eq!(handle.outcome().await.unwrap().into_output().unwrap().by, "eager");
    }
}

#[tokio::test]
async fn a_gate_that_was_closed_says_so() {
    let two = flow("two", |ctx: Ctx, ()| async move {
        ctx.gate("first", Question::new("?")).await?;
        ctx.gate("second", Question::new("?")).await
    });
    let engine = on(&MemoryStore::new(), two.clone()).open().await.unwrap();
    let handle = engine.start(&two, ()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(handle.run(), "first", Answer::new("approve")).await.unwrap();
    handle.settled().await.unwrap();
    let error = engine.answer(handle.run(), "first", Answer::new("reject")).await.unwrap_err();
    assert_eq!(error.code(), "gate-closed");
}

#[tokio::test]
async fn a_gate_that_was_abandoned_is_not_left_open() {
    let either = flow("either", |ctx: Ctx, ()| async move {
        ctx.parallel_until(
            "people",
            [1, 2],
            2,
            |ctx, _| async move { ctx.gate("approve", Question::new("?")).await },
            |answer| answer.is_ok(),
        )
        .await;
        ctx.gate("last", Question::new("?")).await.map(drop)
    });
    let store = MemoryStore::new();
    let engine = on(&store, either.clone()).open().await.unwrap();
    let handle = engine.start(&either, ()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(handle.run(), "people/2/approve", Answer::new("approve")).await.unwrap();
    handle.settled().await.unwrap();
    let open = |summary: redraft::view::RunSummary| {
        summary.gates.into_iter().map(|gate| gate.gate.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(open(engine.summary(handle.run()).await.unwrap()), ["last"]);
    let error = engine.answer(handle.run(), "people/1/approve", Answer::new("approve")).await.unwrap_err();
    assert_eq!(error.code(), "gate-closed");
    drop(engine);
    let engine = on(&store, either).open().await.unwrap();
    let handle = engine.handle(handle.run()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(handle.run(), "last", Answer::new("approve")).await.unwrap();
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Completed);
}
