//! Going on: after a failure, after a change, after a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use redraft::store::{self, MemoryStore};
use redraft::{Ctx, Engine, Failure, Faults, Status, Step, When, flow};

use crate::support::{Effects, interrupted, on, soon, until};

/// Fails at `publish` until the press is mended.
fn press(effects: &Effects, mended: &Arc<AtomicBool>) -> redraft::Flow<(), String> {
    let (effects, mended) = (effects.clone(), Arc::clone(mended));
    flow("press", move |ctx: Ctx, ()| {
        let (effects, mended) = (effects.clone(), Arc::clone(&mended));
        async move {
            effects.step(&ctx, "draft").await?;
            ctx.step("publish", || async {
                effects.happen("publish");
                if mended.load(Ordering::Relaxed) {
                    Ok("published".to_owned())
                } else {
                    Err(Failure::passing("press-broken", "it is broken"))
                }
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_failed_run_goes_on_at_the_step_that_failed() {
    let (store, effects, mended) = (MemoryStore::new(), Effects::default(), Arc::new(AtomicBool::new(false)));
    let workflow = press(&effects, &mended);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Failed);
    assert_eq!(effects.count("publish"), 3);
    mended.store(true, Ordering::Relaxed);
    let resumed = engine.resume(handle.run()).await.unwrap();
    assert_eq!(resumed.outcome().await.unwrap().into_output().unwrap(), "published");
    assert_eq!((effects.count("draft"), effects.count("publish")), (1, 4));
    let tree = engine.tree(handle.run()).await.unwrap();
    assert!(
        tree.to_string().contains("publish  0 ms  4 attempts") || tree.to_string().contains("4 attempts"),
        "{tree}"
    );
}

#[tokio::test]
async fn a_failure_that_was_handled_is_replayed_and_not_tried_again() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let fallback = flow("fallback", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            let first = ctx
                .step("first", || async {
                    log.happen("first");
                    Err::<(), _>(Failure::from("no"))
                })
                .await;
            assert!(first.is_err());
            log.step(&ctx, "second").await?;
            ctx.gate("go-on", redraft::Question::new("?")).await?;
            Ok::<_, Failure>(())
        }
    });
    let engine = on(&store, fallback.clone()).open().await.unwrap();
    let handle = engine.start(&fallback, ()).await.unwrap();
    handle.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, fallback).open().await.unwrap();
    let handle = engine.handle(handle.run()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(handle.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
    handle.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(effects.all(), ["first", "second"]);
}

async fn diverges(changed: redraft::Flow<(), ()>) -> redraft::Error {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let original = flow("flow", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            ctx.step(Step::named("a").input("prompt"), || async { Ok::<_, Failure>(1) }).await?;
            ctx.group("g").step("b", || async { Ok::<_, Failure>(2) }).await?;
            ctx.gate("gate", redraft::Question::new("Really?")).await?;
            log.happen("ended");
            Ok::<_, Failure>(())
        }
    });
    let engine = on(&store, original.clone()).open().await.unwrap();
    let handle = engine.start(&original, ()).await.unwrap();
    handle.settled().await.unwrap();
    let before = engine.summary(handle.run()).await.unwrap();
    drop(engine);

    let engine = on(&store, changed).open().await.unwrap();
    let error = engine.handle(handle.run()).await.unwrap().settled().await.unwrap_err();
    assert_eq!(error.code(), "diverged");
    assert!(error.hint().unwrap().contains("fork"));
    let after = engine.summary(handle.run()).await.unwrap();
    assert_eq!((after.events, after.status), (before.events, before.status), "something was written");
    drop(engine);

    let engine = on(&store, original).open().await.unwrap();
    engine.handle(handle.run()).await.unwrap().settled().await.unwrap();
    engine.answer(handle.run(), "gate", redraft::Answer::new("approve")).await.unwrap();
    engine.handle(handle.run()).await.unwrap().outcome().await.unwrap().into_output().unwrap();
    assert_eq!(effects.count("ended"), 1);
    error
}

/// A flow that must not get to do anything: whatever it does is a divergence first.
macro_rules! changed {
    ($ctx:ident, $($body:tt)*) => {
        flow("flow", |$ctx: Ctx, ()| async move {
            $($body)*
            Ok::<_, Failure>(())
        })
    };
}

/// How often a step of a changed workflow was run. Its panic alone would be taken for a failure of the step.
static RUN_IN_VAIN: AtomicUsize = AtomicUsize::new(0);

async fn never() -> Result<i32, Failure> {
    RUN_IN_VAIN.fetch_add(1, Ordering::Relaxed);
    panic!("a step of a changed workflow was run")
}

#[tokio::test]
async fn a_changed_workflow_is_refused_at_the_step_that_changed_and_nothing_is_run() {
    let cases = [
        ("a", changed!(ctx, ctx.step(Step::named("a").input("another prompt"), never).await?;)),
        ("a", changed!(ctx, ctx.step(Step::named("a").input("prompt").version(2), never).await?;)),
        ("new", changed!(ctx, ctx.step("new", never).await?;)),
        ("a", changed!(ctx, ctx.sleep(std::time::Duration::ZERO).await?; let _ = &ctx;)),
        ("a", changed!(ctx, ctx.gate("a", redraft::Question::new("?")).await?;)),
        (
            "a",
            changed!(ctx, ctx.step(Step::named("a").input("prompt"), || async { never().await.map(|_| String::new()) }).await?;),
        ),
        (
            "g",
            changed!(ctx, ctx.step(Step::named("a").input("prompt"), never).await?; ctx.step("g", never).await?;),
        ),
        (
            "g/c",
            changed!(ctx, ctx.step(Step::named("a").input("prompt"), never).await?; ctx.group("g").step("c", never).await?;),
        ),
        (
            "gate",
            changed!(ctx, ctx.step(Step::named("a").input("prompt"), never).await?;
                ctx.group("g").step("b", never).await?;
                ctx.gate("gate", redraft::Question::new("Another question?")).await?;),
        ),
        ("g", changed!(ctx, ctx.step(Step::named("a").input("prompt"), never).await?;)),
        ("round", changed!(ctx, ctx.group("round").step("call", never).await?;)),
        ("a", changed!(ctx, ctx.group("a").step("call", never).await?;)),
        ("round", changed!(ctx, ctx.group("round").group("deep").step("call", never).await?;)),
        (
            "round",
            changed!(ctx, ctx.try_parallel("round", [1, 2], 2, |ctx, _| async move { ctx.step("call", never).await }).await?;),
        ),
        (
            "round",
            changed!(ctx, ctx.repeat_until("round", 2, 0, |_| false, |ctx, _| async move { ctx.step("call", never).await }).await?;),
        ),
        (
            "h",
            changed!(ctx, ctx.step(Step::named("a").input("prompt"), never).await?; ctx.group("h").step("b", never).await?;),
        ),
    ];
    for (n, (path, changed)) in cases.into_iter().enumerate() {
        let error = diverges(changed).await;
        let redraft::Error::Diverged { path: at, .. } = &error else { panic!("{error}") };
        let wanted = if n == 3 { "sleep" } else { path };
        assert_eq!(at.as_str(), wanted, "case {n}: {error}");
        assert_eq!(RUN_IN_VAIN.load(Ordering::Relaxed), 0, "case {n} ran a step");
    }
}

#[tokio::test]
async fn a_run_keeps_the_version_it_started_with() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let old = interrupted(&effects, false);
    let engine = on(&store, old.clone()).open().await.unwrap();
    let handle = engine.start(&old, ()).await.unwrap();
    until(&effects, "second", 1).await;
    drop(engine);
    let new = flow("interrupted", |_: Ctx, ()| async { Ok::<_, Failure>("new".to_owned()) }).version(2);
    let engine = on(&store, new.clone()).open().await.unwrap();
    let refused = engine.refused();
    assert_eq!((refused[0].0, refused[0].1.code()), (handle.run(), "unknown-workflow"));
    drop(engine);
    let engine = on(&store, new.clone()).workflow(interrupted(&effects, true)).open().await.unwrap();
    let old = engine.handle(handle.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(old.into_output().unwrap(), "first second");
    let fresh = engine.start(&new, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(fresh.into_output().unwrap(), "new");
}

#[tokio::test]
async fn an_append_that_fails_stops_the_run_and_it_can_be_resumed() {
    for nth in 1..=3 {
        let (store, effects) = (MemoryStore::new(), Effects::default());
        let workflow = interrupted(&effects, true);
        let faults = Faults::new().fail_append(nth, store::Error::Full);
        let engine = on(&store, workflow.clone()).faults(faults).open().await.unwrap();
        let handle = engine.start(&workflow, ()).await.unwrap();
        assert_eq!(handle.outcome().await.unwrap_err().code(), "store-full");
        let resumed = engine.resume(handle.run()).await.unwrap();
        assert_eq!(resumed.outcome().await.unwrap().into_output().unwrap(), "first second");
        let committed = nth - 1;
        assert_eq!(effects.count("first"), if committed >= 1 { 1 } else { 2 });
        assert_eq!(effects.count("second"), if nth == 2 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_crash_on_either_side_of_an_append_loses_nothing_that_is_on_disk() {
    // The third append is the last: the end of the run.
    for (nth, when, firsts, seconds) in [
        (1, When::Before, 2, 1),
        (1, When::After, 1, 1),
        (2, When::Before, 1, 2),
        (2, When::After, 1, 1),
        (3, When::Before, 1, 1),
        (3, When::After, 1, 1),
    ] {
        let (store, effects) = (MemoryStore::new(), Effects::default());
        let workflow = interrupted(&effects, true);
        let faults = Faults::new().crash_at_append(nth, when);
        let engine = on(&store, workflow.clone()).faults(faults).open().await.unwrap();
        let handle = engine.start(&workflow, ()).await.unwrap();
        assert_eq!(soon(handle.outcome()).await.unwrap_err().code(), "crashed", "{nth} {when:?}");
        assert!(engine.start(&workflow, ()).await.is_err(), "a crashed engine started a run");
        let engine: Engine = on(&store, workflow).open().await.unwrap();
        let outcome = soon(engine.handle(handle.run()).await.unwrap().outcome()).await.unwrap();
        assert_eq!(outcome.into_output().unwrap(), "first second");
        assert_eq!((effects.count("first"), effects.count("second")), (firsts, seconds), "{nth} {when:?}");
    }
}

#[tokio::test]
async fn whoever_answers_or_cancels_while_the_engine_crashes_is_told() {
    let asks = flow("asks", |ctx: Ctx, ()| async move {
        ctx.gate("approve", redraft::Question::new("?")).await.map(|answer| answer.by)
    });
    for (cancels, when) in
        [(false, When::Before), (false, When::After), (true, When::Before), (true, When::After)]
    {
        let store = MemoryStore::new();
        let faults = Faults::new().crash_at_append(2, when);
        let engine = on(&store, asks.clone()).faults(faults).open().await.unwrap();
        let run = engine.start(&asks, ()).await.unwrap();
        run.settled().await.unwrap();
        let tell = |engine: Engine, run, who: &'static str| async move {
            if cancels {
                engine.cancel(run, "enough", who).await
            } else {
                engine.answer(run, "approve", redraft::Answer::new("approve").by(who)).await
            }
        };
        let told = soon(tell(engine.clone(), run.run(), "ada")).await;
        assert_eq!(told.unwrap_err().code(), "crashed", "cancels: {cancels}, {when:?}");
        assert_eq!(soon(run.outcome()).await.unwrap_err().code(), "crashed");
        let engine = on(&store, asks.clone()).open().await.unwrap();
        let handle = engine.handle(run.run()).await.unwrap();
        let teller = match when {
            When::After => "ada",
            When::Before => {
                assert_eq!(soon(handle.settled()).await.unwrap().status(), Status::Waiting);
                tell(engine.clone(), run.run(), "bob").await.unwrap();
                "bob"
            }
        };
        let outcome = soon(handle.outcome()).await.unwrap();
        if cancels {
            assert_eq!(outcome.status(), Status::Cancelled);
            assert_eq!(engine.summary(run.run()).await.unwrap().cancelled_by.as_deref(), Some(teller));
        } else {
            assert_eq!(outcome.into_output().unwrap(), teller);
        }
    }
}

#[tokio::test]
async fn a_resumed_step_has_a_fresh_set_of_attempts() {
    let (store, effects, mended) = (MemoryStore::new(), Effects::default(), Arc::new(AtomicBool::new(false)));
    let workflow = press(&effects, &mended);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    handle.outcome().await.unwrap();
    for n in 2..=4 {
        let again = engine.resume(handle.run()).await.unwrap().outcome().await.unwrap();
        assert_eq!((again.status(), effects.count("publish")), (Status::Failed, n * 3));
    }
}

#[tokio::test]
async fn a_failure_the_workflow_went_on_after_cannot_be_taken_back() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let stubborn = flow("stubborn", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            let results = ctx
                .parallel("items", [1, 2], 2, |ctx, n| async move {
                    ctx.step("try", || async { if n == 1 { Err(Failure::from("no")) } else { Ok(n) } }).await
                })
                .await;
            log.step(&ctx, "after").await?;
            results.into_iter().collect::<Result<Vec<_>, _>>()
        }
    });
    let engine = on(&store, stubborn.clone()).open().await.unwrap();
    let handle = engine.start(&stubborn, ()).await.unwrap();
    handle.outcome().await.unwrap();
    let error = engine.resume(handle.run()).await.unwrap_err();
    assert_eq!(error.code(), "run-went-on");
    assert!(error.hint().unwrap().ends_with("--at items/1/try"), "{:?}", error.hint());
}

#[tokio::test]
async fn all_failed_items_of_a_parallel_group_are_tried_again() {
    let (store, mended) = (MemoryStore::new(), Arc::new(AtomicBool::new(false)));
    let effects = Effects::default();
    let (log, press) = (effects.clone(), Arc::clone(&mended));
    let batch = flow("batch", move |ctx: Ctx, ()| {
        let (log, press) = (log.clone(), Arc::clone(&press));
        async move {
            let results = ctx
                .parallel("items", 1..=4_u32, 4, |ctx, n| {
                    let (log, press) = (log.clone(), Arc::clone(&press));
                    async move {
                        ctx.step("try", || async {
                            log.happen(n.to_string());
                            if n % 2 == 0 && !press.load(Ordering::Relaxed) {
                                Err(Failure::from("no"))
                            } else {
                                Ok(n)
                            }
                        })
                        .await
                    }
                })
                .await;
            Failure::gather(results)
        }
    });
    let engine = on(&store, batch.clone()).open().await.unwrap();
    let handle = engine.start(&batch, ()).await.unwrap();
    let failure = handle.outcome().await.unwrap().into_output().unwrap_err();
    assert_eq!(failure.at.len(), 2);
    mended.store(true, Ordering::Relaxed);
    let resumed = engine.resume(handle.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(resumed.into_output().unwrap(), serde_json::json!([1, 2, 3, 4]));
    let mut tried = effects.all();
    tried.sort();
    assert_eq!(tried, ["1", "2", "2", "3", "4", "4"]);
}

/// Four items, three at a time. The first ends, the second fails until it is mended; meanwhile the third has done a step
/// and is at its next one, and the fourth has just begun.
fn batch(effects: &Effects, mended: &Arc<AtomicBool>) -> redraft::Flow<(), Vec<u32>> {
    let (effects, mended) = (effects.clone(), Arc::clone(mended));
    flow("batch", move |ctx: Ctx, ()| {
        let (effects, mended) = (effects.clone(), Arc::clone(&mended));
        async move {
            ctx.try_parallel("items", 1..=5, 3, |ctx, n: u32| {
                let (effects, mended) = (effects.clone(), Arc::clone(&mended));
                async move {
                    let is_mended = || mended.load(Ordering::Relaxed);
                    ctx.step("begin", || async {
                        effects.happen(format!("begin {n}"));
                        Ok::<_, Failure>(())
                    })
                    .await?;
                    if n == 1 {
                        return Ok(n);
                    }
                    ctx.step("end", || async {
                        effects.happen(format!("end {n}"));
                        match n {
                            _ if is_mended() => Ok(()),
                            2 => {
                                until(&effects, "end 3", 1).await;
                                until(&effects, "end 4", 1).await;
                                Err(Failure::from("no"))
                            }
                            _ => std::future::pending().await,
                        }
                    })
                    .await?;
                    Ok(n)
                }
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_parallel_group_that_stopped_at_a_failure_is_done_to_its_end() {
    let (store, effects, mended) = (MemoryStore::new(), Effects::default(), Arc::new(AtomicBool::new(false)));
    let workflow = batch(&effects, &mended);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let handle = engine.start(&workflow, ()).await.unwrap();
    let failure = soon(handle.outcome()).await.unwrap().into_output().unwrap_err();
    assert_eq!(failure.at, [redraft::Path::new("items/2/end")]);
    mended.store(true, Ordering::Relaxed);
    let resumed = engine.resume(handle.run()).await.unwrap();
    let outcome = soon(resumed.outcome()).await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), serde_json::json!([1, 2, 3, 4, 5]));
    for n in 1..=5 {
        // Begun once, whether it ended, failed or was abandoned; ended again where it did not come to its end.
        let tries = [0, 2, 2, 2, 1][n - 1];
        let counted = (effects.count(&format!("begin {n}")), effects.count(&format!("end {n}")));
        assert_eq!(counted, (1, tries), "item {n}: {:?}", effects.all());
    }
}

#[tokio::test]
async fn a_failure_that_was_put_in_other_words_is_resumed_at_the_step_it_came_from() {
    type Reword = fn(&Failure) -> Failure;
    let cases: [(Reword, &[&str]); 3] = [
        (|_| Failure::terminal("unpublished", "could not publish"), &[]),
        (|cause| Failure::terminal("unpublished", "could not publish").because(cause), &["deliver/print"]),
        (|cause| Failure::from(cause.message.clone()), &[]),
    ];
    for (reword, at) in cases {
        let (effects, mended) = (Effects::default(), Arc::new(AtomicBool::new(false)));
        let (log, press) = (effects.clone(), Arc::clone(&mended));
        let workflow = flow("reworded", move |ctx: Ctx, ()| {
            let (log, press) = (log.clone(), Arc::clone(&press));
            async move {
                // A failure that was dealt with is not the one to try again.
                let _ = ctx.step("optional", || async { Err::<(), _>(Failure::from("never mind")) }).await;
                log.step(&ctx, "draft").await?;
                let deliver = ctx.group("deliver");
                let printed = deliver.step("print", || async {
                    log.happen("print");
                    if press.load(Ordering::Relaxed) { Ok(()) } else { Err(Failure::from("it is broken")) }
                });
                printed.await.map_err(|cause| reword(&cause))?;
                log.step(&ctx, "bind").await
            }
        });
        let engine = on(&MemoryStore::new(), workflow.clone()).open().await.unwrap();
        let handle = engine.start(&workflow, ()).await.unwrap();
        let failure = handle.outcome().await.unwrap().into_output().unwrap_err();
        let places: Vec<&str> = failure.at.iter().map(redraft::Path::as_str).collect();
        assert_eq!(places, at, "{failure}");
        mended.store(true, Ordering::Relaxed);
        let resumed = engine.resume(handle.run()).await.unwrap();
        assert_eq!(soon(resumed.outcome()).await.unwrap().into_output().unwrap(), "bind");
        assert_eq!(effects.all(), ["draft", "print", "print", "bind"]);
    }
}

#[tokio::test]
async fn a_run_that_diverges_while_an_engine_opens_is_among_the_refused() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let original = interrupted(&effects, false);
    let engine = on(&store, original.clone()).open().await.unwrap();
    let run = engine.start(&original, ()).await.unwrap().run();
    until(&effects, "second", 1).await;
    drop(engine);
    let changed = flow("interrupted", |ctx: Ctx, ()| async move {
        ctx.step("other", || async { Ok::<_, Failure>(String::new()) }).await
    });
    let engine = on(&store, changed).open().await.unwrap();
    // Whether it is asked for before or after it was found out.
    for _ in 0..2 {
        let error = engine.handle(run).await.unwrap().outcome().await.unwrap_err();
        let redraft::Error::Diverged { fork_at, .. } = &error else { panic!("{error}") };
        assert_eq!(engine.refused(), [(run, error.clone())]);
        // The advice can be followed.
        let forked = engine.fork(run, &redraft::ForkAt::Step(fork_at.clone())).await.unwrap();
        assert_eq!(forked.outcome().await.unwrap().into_output().unwrap(), "");
    }
}

#[tokio::test]
async fn a_panic_before_the_future_is_a_failure_of_the_step() {
    let early = flow("early", |ctx: Ctx, ()| async move {
        let result =
            ctx.step("boom", || -> std::future::Ready<Result<(), Failure>> { panic!("no future") }).await;
        Ok::<_, Failure>(result.unwrap_err().code)
    });
    let engine = on(&MemoryStore::new(), early.clone()).open().await.unwrap();
    let outcome = engine.start(&early, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), "panicked");
}
