//! Stopping on request: durable, cooperative, with a reason.

use std::sync::Arc;

use redraft::store::{MemoryStore, Store};
use redraft::{Answer, Ctx, Delivered, Ending, Failure, Question, Status, Stop, flow};
use tokio::sync::Notify;

use crate::support::{Effects, SlowDisk, all_quiet, kinds, on, soon, until};

fn endless(effects: &Effects) -> redraft::Flow<(), String> {
    let effects = effects.clone();
    flow("endless", move |ctx: Ctx, ()| {
        let effects = effects.clone();
        async move {
            effects.step(&ctx, "first").await?;
            let waited = ctx
                .step("wait", || async {
                    effects.happen("wait");
                    std::future::pending::<Result<(), Failure>>().await
                })
                .await;
            if let Err(failure) = &waited {
                assert!(failure.is_cancelled());
                assert!(effects.step(&ctx, "after").await.unwrap_err().is_cancelled());
                effects.step(&ctx.for_cleanup(), "tidy").await?;
            }
            waited.map(|()| "never".to_owned())
        }
    })
}

#[tokio::test]
async fn a_cancelled_run_stops_tidies_up_and_says_why() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = endless(&effects);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    until(&effects, "wait", 1).await;
    assert_eq!(engine.cancel(handle.run(), "too dear", "ada").await.unwrap(), Delivered::Now);
    let outcome = handle.outcome().await.unwrap();
    assert_eq!((outcome.status(), outcome.stop()), (Status::Cancelled, Some(Stop::Cancelled)));
    assert_eq!(outcome.ending, Ending::Cancelled { reason: "too dear".to_owned(), output: None });
    assert_eq!(effects.all(), ["first", "wait", "tidy"]);
    let summary = engine.summary(handle.run()).await.unwrap();
    assert_eq!(summary.cancelled_by.as_deref(), Some("ada"));
    let error = engine.cancel(handle.run(), "again", "ada").await.unwrap_err();
    assert_eq!(error.code(), "run-ended");
    let error = engine.resume(handle.run()).await.unwrap_err();
    assert_eq!(error.code(), "run-ended");
}

#[tokio::test]
async fn a_cancellation_survives_the_engine_that_took_it() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = endless(&effects);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    until(&effects, "wait", 1).await;
    engine.shut_down().await;
    // Nobody drives it: the wish waits in the store.
    assert_eq!(engine.cancel(handle.run(), "too dear", "ada").await.unwrap(), Delivered::Left);
    drop(engine);
    let engine = on(&store, workflow).open().await.unwrap();
    let outcome = engine.handle(handle.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Cancelled);
    assert_eq!(effects.count("tidy"), 1);
}

#[tokio::test]
async fn a_gate_and_a_sleep_do_not_outlast_a_cancellation() {
    for at_gate in [true, false] {
        let waits = flow("waits", move |ctx: Ctx, ()| async move {
            if at_gate {
                ctx.gate("approve", Question::new("?")).await?;
            } else {
                ctx.sleep(std::time::Duration::from_secs(86_400)).await?;
            }
            Ok::<_, Failure>(())
        });
        let engine = on(&MemoryStore::new(), waits.clone()).open().await.unwrap();
        let handle = engine.start(&waits, ()).await.unwrap();
        if at_gate {
            handle.settled().await.unwrap();
        }
        engine.cancel(handle.run(), "enough", "ada").await.unwrap();
        assert_eq!(handle.outcome().await.unwrap().status(), Status::Cancelled);
    }
}

#[tokio::test]
async fn a_workflow_that_ends_well_in_spite_of_it_keeps_its_output() {
    let stubborn = flow("stubborn", |ctx: Ctx, ()| async move {
        match ctx.gate("approve", Question::new("?")).await {
            Ok(_) => Ok("answered".to_owned()),
            Err(failure) if failure.is_cancelled() => Ok::<_, Failure>("best so far".to_owned()),
            Err(failure) => Err(failure),
        }
    });
    let engine = on(&MemoryStore::new(), stubborn.clone()).open().await.unwrap();
    let handle = engine.start(&stubborn, ()).await.unwrap();
    handle.settled().await.unwrap();
    engine.cancel(handle.run(), "enough", "ada").await.unwrap();
    let outcome = handle.outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Cancelled);
    assert_eq!(outcome.output().map(String::as_str), Some("best so far"));
}

/// Cancelled while it sleeps or asks; dies while it tidies up; is resumed after the time was over.
#[tokio::test]
async fn a_cancellation_wins_over_a_deadline_that_passed_while_nobody_looked() {
    use std::time::Duration;
    const HOUR: Duration = Duration::from_secs(3600);
    for at_gate in [true, false] {
        let (store, effects) = (MemoryStore::new(), Effects::default());
        let clock = Arc::new(redraft::ManualClock::default());
        let make = |tidy_ends: bool| {
            let effects = effects.clone();
            flow("waits", move |ctx: Ctx, ()| {
                let effects = effects.clone();
                async move {
                    let waited = if at_gate {
                        ctx.gate("approve", Question::new("?").within(HOUR).default_to("approve"))
                            .await
                            .map(drop)
                    } else {
                        ctx.sleep(HOUR).await
                    };
                    let cleanup = ctx.for_cleanup();
                    effects.step(&cleanup, "tidy").await?;
                    cleanup
                        .step("more", || async {
                            effects.happen("more");
                            if !tidy_ends {
                                std::future::pending::<()>().await;
                            }
                            Ok::<_, Failure>(())
                        })
                        .await?;
                    waited
                }
            })
        };
        let first = make(false);
        let engine = on(&store, first.clone()).clock(clock.clone()).open().await.unwrap();
        let handle = engine.start(&first, ()).await.unwrap();
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        engine.cancel(handle.run(), "enough", "ada").await.unwrap();
        until(&effects, "more", 1).await;
        drop(engine);
        clock.advance(HOUR * 2);
        let engine = on(&store, make(true)).clock(clock).open().await.unwrap();
        let outcome = engine.handle(handle.run()).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.status(), Status::Cancelled);
        assert_eq!(effects.all(), ["tidy", "more", "more"]);
    }
}

/// Leaves a gate open and a friend behind that speaks up when it is called.
fn leaves_a_friend(calls: &Arc<Notify>, spoken: &Effects) -> redraft::Flow<(), String> {
    let (calls, spoken) = (Arc::clone(calls), spoken.clone());
    flow("leaves", move |ctx: Ctx, ()| {
        let (calls, spoken) = (Arc::clone(&calls), spoken.clone());
        async move {
            let (asking, writing) = (ctx.group("asking"), ctx.group("writing"));
            tokio::spawn(async move { asking.gate("late", Question::new("?")).await });
            tokio::spawn(async move {
                loop {
                    calls.notified().await;
                    writing.note("still here").await;
                    spoken.happen("note");
                }
            });
            ctx.step("work", || async {
                tokio::task::yield_now().await;
                Ok::<_, Failure>("worked".to_owned())
            })
            .await
        }
    })
}

#[tokio::test]
async fn nothing_follows_the_end_of_a_run_while_it_is_being_written_or_after() {
    let (disk, calls, spoken) = (SlowDisk::at("run_finished"), Arc::new(Notify::new()), Effects::default());
    let workflow = leaves_a_friend(&calls, &spoken);
    let engine = on(&disk, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    let run = handle.run();
    disk.is_writing().await;
    let events = disk.head(run).await.unwrap().unwrap().seq;
    for times in 1..=2 {
        let late = engine.cancel(run, "too late", "ada").await;
        assert_eq!(late.unwrap_err().code(), "run-ended");
        let late = engine.answer(run, "asking/late", Answer::new("approve")).await;
        assert_eq!(late.unwrap_err().code(), "run-ended");
        calls.notify_one();
        until(&spoken, "note", times).await;
        disk.go_on();
        let outcome = soon(handle.outcome()).await.unwrap();
        assert_eq!(
            (outcome.status(), outcome.into_output().unwrap().as_str()),
            (Status::Completed, "worked")
        );
        all_quiet().await;
    }
    let summary = engine.summary(run).await.unwrap();
    assert_eq!((summary.status, summary.cancelled_by, summary.events), (Status::Completed, None, events));
    engine.tree(run).await.unwrap();
    drop(engine);
    let engine = on(disk.disk(), workflow).open().await.unwrap();
    let outcome = engine.handle(run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), "worked");
}

#[tokio::test]
async fn a_workflow_does_not_know_of_a_cancellation_before_it_is_written() {
    let (disk, effects, paid) =
        (SlowDisk::at("cancel_requested"), Effects::default(), Arc::new(Notify::new()));
    let (log, till) = (effects.clone(), Arc::clone(&paid));
    let order = flow("order", move |ctx: Ctx, ()| {
        let (log, till) = (log.clone(), Arc::clone(&till));
        async move {
            ctx.step("pay", || async {
                log.happen("pay");
                till.notified().await;
                Ok::<_, Failure>(())
            })
            .await?;
            let shipped = ctx
                .step("ship", || {
                    log.happen("ship");
                    std::future::pending::<Result<(), Failure>>()
                })
                .await;
            log.step(&ctx.for_cleanup(), "refund").await?;
            shipped
        }
    });
    let engine = on(&disk, order.clone()).open().await.unwrap();
    let handle = engine.start(&order, ()).await.unwrap();
    until(&effects, "pay", 1).await;
    let cancel = || {
        let (engine, run) = (engine.clone(), handle.run());
        tokio::spawn(async move { engine.cancel(run, "changed my mind", "ada").await })
    };
    let first = cancel();
    disk.is_writing().await;
    paid.notify_one();
    let second = cancel();
    all_quiet().await;
    assert_eq!(effects.all(), ["pay", "ship"]);
    assert!(!first.is_finished() && !second.is_finished(), "a cancellation was promised that is not written");
    disk.go_on();
    assert_eq!(soon(first).await.unwrap(), Ok(Delivered::Now));
    assert_eq!(soon(second).await.unwrap(), Ok(Delivered::Now));
    assert_eq!(soon(handle.outcome()).await.unwrap().status(), Status::Cancelled);
    assert_eq!(effects.all(), ["pay", "ship", "refund"]);
    let requests = kinds(&engine, handle.run()).await.into_iter().filter(|kind| kind == "cancel_requested");
    assert_eq!(requests.count(), 1);
}
