//! Stopping on request: durable, cooperative, with a reason.

use redraft::store::MemoryStore;
use redraft::{Ctx, Delivered, Ending, Failure, Question, Status, Stop, flow};

use crate::support::{Effects, on, until};

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
    use std::sync::Arc;
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
