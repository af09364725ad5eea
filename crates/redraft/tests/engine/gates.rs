//! Questions to people: durable, checked, answered once.

use std::sync::Arc;
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::{Answer, Ctx, Delivered, Ending, Engine, Failure, ManualClock, Path, Question, Status, flow};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Effects, SlowDisk, on, soon, until};

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

/// Asks twice, so that the run is not over when the first gate is closed.
fn asks_twice() -> redraft::Flow<(), Answer> {
    flow("asks-twice", |ctx: Ctx, ()| async move {
        let first = ctx.gate("first", Question::new("?")).await?;
        ctx.gate("second", Question::new("?")).await?;
        Ok::<_, Failure>(first)
    })
}

#[tokio::test]
async fn of_many_who_answer_at_once_exactly_one_is_heard_and_the_others_are_told() {
    let workflow = asks_twice();
    let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let answers =
        (0..20).map(|n| engine.answer(handle.run(), "first", Answer::new("approve").by(format!("p{n}"))));
    let mut told = futures_util::future::join_all(answers).await;
    let heard = told.iter().position(Result::is_ok).unwrap();
    assert_eq!(told.swap_remove(heard), Ok(Delivered::Now));
    for refused in told {
        assert_eq!(refused.unwrap_err().code(), "gate-closed");
    }
    soon(handle.settled()).await.unwrap();
    engine.answer(handle.run(), "second", Answer::new("approve")).await.unwrap();
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap().by, format!("p{heard}"));
}

#[tokio::test]
async fn a_gate_whose_answer_is_being_written_takes_no_other() {
    let disk = SlowDisk::at("gate_answered");
    let workflow = asks_twice();
    let engine = on(&disk, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let (answering, run) = (engine.clone(), handle.run());
    let first = tokio::spawn(async move { answering.answer(run, "first", Answer::new("approve")).await });
    disk.is_writing().await;
    let second = soon(engine.answer(run, "first", Answer::new("reject"))).await;
    assert_eq!(second.unwrap_err().code(), "gate-closed");
    assert!(!first.is_finished(), "an answer was said to be delivered before it was written");
    disk.go_on();
    assert_eq!(soon(first).await.unwrap(), Ok(Delivered::Now));
}

#[tokio::test]
async fn gates_that_are_answered_at_the_same_moment_do_not_hide_a_later_one() {
    let either = flow("either", |ctx: Ctx, ()| async move {
        let ask = |ctx: Ctx, _| async move { ctx.gate("approve", Question::new("?")).await };
        ctx.parallel_until("people", [1, 2], 2, ask, Result::is_ok).await;
        ctx.gate("last", Question::new("?")).await
    });
    let engine = on(&MemoryStore::new(), either.clone()).open().await.unwrap();
    let handle = engine.start(&either, ()).await.unwrap();
    handle.settled().await.unwrap();
    let answer = |gate| engine.answer(handle.run(), gate, Answer::new("approve"));
    let (first, second) = tokio::join!(answer("people/1/approve"), answer("people/2/approve"));
    assert_eq!(first, Ok(Delivered::Now));
    assert!(
        second.as_ref().is_ok_and(|told| *told == Delivered::Now)
            || second.unwrap_err().code() == "gate-closed"
    );
    let settled = soon(handle.settled()).await.unwrap();
    assert_eq!(settled.ending, Ending::Waiting { gates: vec![Path::new("last")] });
    answer("last").await.unwrap();
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Completed);
}

#[tokio::test]
async fn an_answer_whose_value_is_nested_too_deeply_is_refused_and_the_gate_stays_open() {
    let store = MemoryStore::new();
    let workflow = publish(Question::new("?"));
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.settled().await.unwrap();
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    // Whoever drives the run, the answer is looked at before it is left or written.
    let other = on(&store, workflow).open().await.unwrap();
    for levels in [65, 126, 500] {
        for engine in [&engine, &other] {
            let answer = Answer::new("approve").value(nested(levels));
            let error = engine.answer(handle.run(), "approve", answer).await.unwrap_err();
            assert_eq!(error.code(), "does-not-fit", "{levels} levels");
        }
    }
    assert_eq!(handle.settled().await.unwrap().status(), Status::Waiting);
    let answer = Answer::new("approve").value(nested(60));
    assert_eq!(engine.answer(handle.run(), "approve", answer.clone()).await.unwrap(), Delivered::Now);
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap(), answer);
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

/// The second asks and the first is quicker; then the run goes on for as long as it is let.
fn outrun(effects: &Effects, quick: &Arc<Notify>, go_on: &Arc<Notify>) -> redraft::Flow<(), ()> {
    let (effects, quick, go_on) = (effects.clone(), Arc::clone(quick), Arc::clone(go_on));
    flow("outrun", move |ctx: Ctx, ()| {
        let (effects, quick, go_on) = (effects.clone(), Arc::clone(&quick), Arc::clone(&go_on));
        async move {
            ctx.parallel_until(
                "both",
                [1, 2],
                2,
                |ctx, n| {
                    let quick = &quick;
                    async move {
                        if n == 2 {
                            return ctx.gate("approve", Question::new("?")).await.map(drop);
                        }
                        ctx.step("quick", || async {
                            quick.notified().await;
                            Ok::<_, Failure>(())
                        })
                        .await
                    }
                },
                Result::is_ok,
            )
            .await;
            ctx.step("after", || async {
                effects.happen("after");
                go_on.notified().await;
                Ok::<_, Failure>(())
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_gate_that_is_abandoned_while_it_opens_is_not_left_open() {
    let (disk, effects) = (SlowDisk::at("gate_opened"), Effects::default());
    let (quick, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let workflow = outrun(&effects, &quick, &go_on);
    let engine = on(&disk, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    disk.is_writing().await;
    quick.notify_one();
    until(&effects, "after", 1).await;
    disk.go_on();
    let mut events = engine.events(handle.run(), 0).await.unwrap();
    while soon(events.next()).await.unwrap().unwrap().kind != "gate_closed" {}
    let summary = engine.summary(handle.run()).await.unwrap();
    assert_eq!((summary.status, summary.gates.len()), (Status::Running, 0));
    let heads = engine.list(redraft::store::Query::default()).await.unwrap();
    assert_eq!(heads[0].standing.status, Status::Running);
    go_on.notify_one();
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Completed);
}

/// The process dies after the quicker one has won and before anything is written about the one that asks.
#[tokio::test]
async fn a_gate_that_is_abandoned_on_replay_is_not_left_open() {
    let (disk, effects) = (SlowDisk::at("step_succeeded"), Effects::default());
    let (quick, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let workflow = outrun(&effects, &quick, &go_on);
    let engine = on(&disk, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    quick.notify_one();
    disk.is_writing().await;
    drop(engine);
    let engine = on(disk.disk(), workflow).open().await.unwrap();
    until(&effects, "after", 1).await;
    let mut events = engine.events(handle.run(), 0).await.unwrap();
    while soon(events.next()).await.unwrap().unwrap().kind != "gate_closed" {}
    let summary = engine.summary(handle.run()).await.unwrap();
    assert_eq!((summary.status, summary.gates.len()), (Status::Running, 0));
    go_on.notify_one();
    let outcome = soon(engine.handle(handle.run()).await.unwrap().outcome()).await.unwrap();
    assert_eq!(outcome.status(), Status::Completed);
}

#[tokio::test]
async fn a_gate_that_was_open_when_the_workflow_panicked_is_asked_again() {
    let store = MemoryStore::new();
    let (panics, asked) = (Arc::new(std::sync::atomic::AtomicBool::new(true)), Arc::new(Notify::new()));
    let (is_broken, ready) = (Arc::clone(&panics), Arc::clone(&asked));
    let both = flow("both", move |ctx: Ctx, ()| {
        let (is_broken, ready) = (Arc::clone(&is_broken), Arc::clone(&ready));
        async move {
            let results = ctx
                .parallel("both", [1, 2], 2, |ctx, n| {
                    let (is_broken, ready) = (Arc::clone(&is_broken), Arc::clone(&ready));
                    async move {
                        if n == 1 {
                            return ctx.gate("approve", Question::new("?")).await.map(|answer| answer.choice);
                        }
                        ctx.step("wait", || async {
                            ready.notified().await;
                            Ok::<_, Failure>(())
                        })
                        .await?;
                        assert!(
                            !is_broken.load(std::sync::atomic::Ordering::Relaxed),
                            "a mistake in the workflow"
                        );
                        Ok("mended".to_owned())
                    }
                })
                .await;
            Failure::gather(results)
        }
    });
    let engine = on(&store, both.clone()).open().await.unwrap();
    let handle = engine.start(&both, ()).await.unwrap();
    let mut events = engine.events(handle.run(), 0).await.unwrap();
    while events.next().await.unwrap().unwrap().kind != "gate_opened" {}
    asked.notify_one();
    assert_eq!(handle.outcome().await.unwrap().into_output().unwrap_err().code, "panicked");
    panics.store(false, std::sync::atomic::Ordering::Relaxed);
    let handle = engine.resume(handle.run()).await.unwrap();
    let waiting = soon(handle.settled()).await.unwrap();
    assert_eq!(waiting.ending, Ending::Waiting { gates: vec![Path::new("both/1/approve")] });
    let told = engine.answer(handle.run(), "both/1/approve", Answer::new("approve")).await;
    assert_eq!(told, Ok(Delivered::Now));
    let outcome = soon(handle.outcome()).await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), json!(["approve", "mended"]));
}

#[tokio::test]
async fn a_run_that_failed_because_nobody_answered_asks_again_when_it_is_resumed() {
    let clock = Arc::new(ManualClock::default());
    let workflow = publish(Question::new("?").within(Duration::from_secs(60)));
    let engine = on(&MemoryStore::new(), workflow.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap();
    run.settled().await.unwrap();
    clock.advance(Duration::from_secs(60));
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap_err().code, "gate-expired");
    let resumed = engine.resume(run.run()).await.unwrap().typed::<Answer>();
    assert_eq!(resumed.settled().await.unwrap().status(), Status::Waiting);
    engine.answer(run.run(), "approve", Answer::new("approve").by("late")).await.unwrap();
    assert_eq!(resumed.outcome().await.unwrap().into_output().unwrap().by, "late");
}
