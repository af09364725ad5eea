//! Several at once: bounded, in order, one failure does not sink the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redraft::store::MemoryStore;
use redraft::{Ctx, Engine, Failure, Status, flow};
use tokio::sync::Notify;

use crate::support::{Effects, SlowDisk, on, soon, until};

#[tokio::test]
async fn never_more_than_the_limit_are_under_way_and_results_keep_their_order() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let many = flow("many", move |ctx: Ctx, ()| {
        let seen = Arc::clone(&seen);
        async move {
            let now = AtomicUsize::new(0);
            let results = ctx
                .parallel("items", 0..40_u64, 7, |ctx, n| {
                    let (now, seen) = (&now, &seen);
                    async move {
                        ctx.step("work", || async {
                            seen.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                            for _ in 0..(n % 5) {
                                tokio::task::yield_now().await;
                            }
                            now.fetch_sub(1, Ordering::Relaxed);
                            Ok::<_, Failure>(n * n)
                        })
                        .await
                    }
                })
                .await;
            results.into_iter().collect::<Result<Vec<_>, _>>()
        }
    });
    let engine = on(&MemoryStore::new(), many.clone()).open().await.unwrap();
    let outcome = engine.start(&many, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), (0..40).map(|n| n * n).collect::<Vec<u64>>());
    assert_eq!(most.load(Ordering::Relaxed), 7);
}

#[tokio::test]
async fn one_failure_does_not_sink_the_rest_unless_asked() {
    let topics = flow("topics", |ctx: Ctx, strict: bool| async move {
        let write = |ctx: Ctx, n: u32| async move {
            ctx.step("write", || async { if n == 2 { Err(Failure::from("no")) } else { Ok(n) } }).await
        };
        if strict {
            return ctx.try_parallel("topics", 1..=3, 1, write).await;
        }
        let results = ctx.parallel("topics", 1..=3, 2, write).await;
        Ok(results.into_iter().map(|result| result.unwrap_or(0)).collect())
    });
    let engine = on(&MemoryStore::new(), topics.clone()).open().await.unwrap();
    let lenient = engine.start(&topics, false).await.unwrap().outcome().await.unwrap();
    assert_eq!(lenient.into_output().unwrap(), [1, 0, 3]);
    let strict = engine.start(&topics, true).await.unwrap();
    let failure = strict.outcome().await.unwrap().into_output().unwrap_err();
    assert_eq!(failure.at, [redraft::Path::new("topics/2/write")]);
    let tree = engine.tree(strict.run()).await.unwrap();
    assert!(tree.find("topics/3").is_none(), "the third was begun after the second failed:\n{tree}");
}

#[tokio::test]
async fn a_limit_of_zero_is_refused() {
    let none = flow("none", |ctx: Ctx, ()| async move {
        let results = ctx.parallel("items", [1, 2], 0, |_, n: u32| async move { Ok(n) }).await;
        results.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let engine = on(&MemoryStore::new(), none.clone()).open().await.unwrap();
    let outcome = engine.start(&none, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap_err().code, "zero-limit");
}

/// Three candidates; the second passes while the others are still at it. Then the process dies.
fn candidates(effects: &Effects, go_on: &Arc<Notify>) -> redraft::Flow<(), (Vec<usize>, String)> {
    let (effects, go_on) = (effects.clone(), Arc::clone(go_on));
    flow("candidates", move |ctx: Ctx, ()| {
        let (effects, go_on) = (effects.clone(), Arc::clone(&go_on));
        async move {
            let ended = ctx
                .parallel_until(
                    "candidates",
                    0..3_usize,
                    3,
                    |ctx, n| {
                        let effects = effects.clone();
                        async move {
                            let name = ["one", "two", "three"][n];
                            ctx.step("draft", || async {
                                effects.happen(name);
                                if n != 1 {
                                    std::future::pending::<()>().await;
                                }
                                // Let the others begin.
                                tokio::task::yield_now().await;
                                Ok::<_, Failure>(n)
                            })
                            .await
                        }
                    },
                    |result| result.is_ok(),
                )
                .await;
            let winners = ended.into_iter().flatten().flatten().collect();
            let last = ctx
                .step("after", || async {
                    effects.happen("after");
                    go_on.notified().await;
                    Ok::<_, Failure>("done".to_owned())
                })
                .await?;
            Ok((winners, last))
        }
    })
}

#[tokio::test]
async fn what_was_abandoned_stays_abandoned_after_a_restart() {
    let (store, effects, go_on) = (MemoryStore::new(), Effects::default(), Arc::new(Notify::new()));
    let workflow = candidates(&effects, &go_on);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap().run();
    until(&effects, "after", 1).await;
    engine.shut_down().await;
    drop(engine);
    let engine: Engine = on(&store, workflow).open().await.unwrap();
    go_on.notify_one();
    let outcome = engine.handle(run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Completed);
    assert_eq!(outcome.into_output().unwrap(), serde_json::json!([[1], "done"]));
    for candidate in ["one", "two", "three"] {
        assert_eq!(effects.count(candidate), 1, "{:?}", effects.all());
    }
}

/// Two items; the first fails while the second, which has done a step, is at its next one.
fn pair(effects: &Effects) -> redraft::Flow<(), Vec<()>> {
    let effects = effects.clone();
    flow("pair", move |ctx: Ctx, ()| {
        let effects = effects.clone();
        async move {
            ctx.try_parallel("pair", 1..=2, 2, |ctx, n: u32| {
                let effects = &effects;
                async move {
                    if n == 1 {
                        return ctx
                            .step("fail", || async {
                                until(effects, "stuck", 1).await;
                                effects.happen("fail");
                                Err::<(), _>(Failure::terminal("broken", "it broke"))
                            })
                            .await;
                    }
                    effects.step(&ctx, "one").await?;
                    ctx.step("stuck", || {
                        effects.happen("stuck");
                        std::future::pending::<Result<(), Failure>>()
                    })
                    .await
                }
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_crash_between_the_failure_of_an_item_and_that_of_the_group_changes_nothing() {
    let (disk, effects) = (SlowDisk::at("step_failed"), Effects::default());
    let workflow = pair(&effects);
    let engine = on(&disk, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap().run();
    disk.is_writing().await;
    drop(engine);
    let engine = on(disk.disk(), workflow).open().await.unwrap();
    let outcome = soon(engine.handle(run).await.unwrap().outcome()).await.unwrap();
    let failure = outcome.into_output().unwrap_err();
    assert_eq!((failure.code.as_str(), failure.at), ("broken", vec![redraft::Path::new("pair/1/fail")]));
    assert_eq!(engine.summary(run).await.unwrap().status, Status::Failed);
    assert_eq!((effects.count("one"), effects.count("fail")), (1, 1));
}
