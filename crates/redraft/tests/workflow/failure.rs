//! When things go wrong: undoing in reverse, telling, tidying up.

use std::sync::Arc;

use redraft::store::MemoryStore;
use redraft::workflow::{State, Workflow};
use redraft::{Ctx, Ending, Failure, Status};

use crate::support::{Log, Trace, fail, mark, on, run};

#[tokio::test]
async fn completed_steps_are_undone_in_reverse_then_failure_is_told_then_all_is_tidied() {
    let log = Log::default();
    let workflow = Workflow::<Trace>::named("order")
        .start_with("reserve", log.step())
        .compensate("release", log.step())
        .then("look", log.step())
        .fork("both", |paths| {
            paths.path("charge", |body| body.then("pay", log.step()).compensate("refund", log.step()))
        })
        .join("paid")
        .repeat_until(
            "ship",
            2,
            |_| false,
            |body| body.then("pack", log.step()).compensate("unpack", log.step()),
        )
        .then("send", fail())
        .compensate("recall", log.step())
        .then("never", log.step())
        .on_failure(|body| body.then("tell", log.step()))
        .finally(|body| body.then("tidy", log.step()))
        .build()
        .unwrap();
    let outcome = run(&workflow).await;
    let Ending::Failed(failure) = outcome.ending else { panic!("it did not fail") };
    assert_eq!((failure.code.as_str(), failure.at[0].as_str()), ("broken", "send"));
    let wanted = [
        "reserve",
        "look",
        "both/charge/pay",
        "ship/1/pack",
        "ship/2/pack",
        "compensation/unpack after broken",
        "compensation/unpack#2 after broken",
        "compensation/refund after broken",
        "compensation/release after broken",
        "on-failure/tell after broken",
        "finally/tidy after broken",
    ];
    assert_eq!(log.all(), wanted);
}

#[tokio::test]
async fn what_runs_at_the_end_runs_after_success_too_and_its_failure_counts() {
    let log = Log::default();
    let fine = Workflow::<Trace>::named("fine")
        .start_with("work", mark())
        .on_failure(|body| body.then("tell", log.step()))
        .finally(|body| body.then("tidy", log.step()))
        .build()
        .unwrap();
    assert_eq!(run(&fine).await.status(), Status::Completed);
    assert_eq!(log.all(), ["finally/tidy"]);
    let untidy = Workflow::<Trace>::named("untidy")
        .start_with("work", mark())
        .finally(|body| body.then("tidy", fail()))
        .build()
        .unwrap();
    assert_eq!(run(&untidy).await.status(), Status::Failed);
}

#[tokio::test]
async fn one_step_that_cannot_be_undone_does_not_keep_the_others_from_it() {
    let log = Log::default();
    let workflow = Workflow::<Trace>::named("stuck")
        .start_with("a", mark())
        .compensate("undo-a", log.step())
        .then("b", mark())
        .compensate("undo-b", fail())
        .then("c", fail())
        .build()
        .unwrap();
    let outcome = run(&workflow).await;
    let Ending::Failed(failure) = outcome.ending else { panic!("it did not fail") };
    assert_eq!(failure.at[0].as_str(), "c", "the first failure is the one to report");
    assert_eq!(log.all(), ["compensation/undo-a after broken"]);
}

#[tokio::test]
async fn a_cancelled_workflow_is_undone_and_tidied_but_not_told_as_a_failure() {
    let log = Log::default();
    let workflow = Workflow::<Trace>::named("stopped")
        .start_with("a", log.step())
        .compensate("undo-a", log.step())
        .gate("wait", |_| redraft::Question::new("?"), |_| Trace::update())
        .on_failure(|body| body.then("tell", log.step()))
        .finally(|body| body.then("tidy", log.step()))
        .build()
        .unwrap();
    let store = MemoryStore::new();
    let engine = on(&store, &workflow).open().await.unwrap();
    let run = engine.start(&workflow, Trace::default()).await.unwrap();
    run.settled().await.unwrap();
    engine.cancel(run.run(), "enough", "ada").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().status(), Status::Cancelled);
    assert_eq!(log.all(), ["a", "compensation/undo-a after cancelled", "finally/tidy after cancelled"]);
}

#[tokio::test]
async fn all_paths_of_a_fork_are_waited_for_before_it_fails() {
    let log = Log::default();
    let workflow = Workflow::<Trace>::named("forked")
        .fork("both", |paths| {
            paths
                .path("bad", |body| body.then("fail", fail()))
                .path("good", |body| body.then("one", log.step()).then("two", log.step()))
                .path("worse", |body| body.then("fail", fail()))
        })
        .join("end")
        .build()
        .unwrap();
    let outcome = run(&workflow).await;
    let Ending::Failed(failure) = outcome.ending else { panic!("it did not fail") };
    let at: Vec<&str> = failure.at.iter().map(redraft::Path::as_str).collect();
    assert_eq!(at, ["both/bad/fail", "both/worse/fail"]);
    assert_eq!(log.all(), ["both/good/one", "both/good/two"]);
}

/// Fails at `publish` as long as `broken` says so.
fn press(log: &Log, broken: &Arc<std::sync::atomic::AtomicBool>, undo: bool) -> Workflow<Trace> {
    let broken = Arc::clone(broken);
    let start = Workflow::<Trace>::named("press").start_with("draft", log.step());
    let start = if undo { start.compensate("shred", log.step()) } else { start };
    start
        .then("publish", move |_: Arc<Trace>| {
            let broken = broken.load(std::sync::atomic::Ordering::Relaxed);
            async move { if broken { Err(Failure::terminal("jam", "jammed")) } else { Ok(Trace::update()) } }
        })
        .on_failure(|body| body.then("tell", log.step()))
        .finally(|body| body.then("tidy", log.step()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_failed_workflow_can_be_resumed_unless_it_was_undone() {
    for undo in [false, true] {
        let (log, broken) = (Log::default(), Arc::new(true.into()));
        let workflow = press(&log, &broken, undo);
        let engine = on(&MemoryStore::new(), &workflow).open().await.unwrap();
        let run = engine.start(&workflow, Trace::default()).await.unwrap();
        assert_eq!(run.outcome().await.unwrap().status(), Status::Failed);
        broken.store(false, std::sync::atomic::Ordering::Relaxed);
        let resumed = engine.resume(run.run()).await;
        if undo {
            assert_eq!(resumed.unwrap_err().code(), "run-compensated");
            continue;
        }
        assert_eq!(resumed.unwrap().outcome().await.unwrap().status(), Status::Completed);
        let wanted = ["draft", "on-failure/tell after jam", "finally/tidy after jam", "finally/tidy"];
        assert_eq!(log.all(), wanted);
    }
}

#[tokio::test]
async fn a_changed_definition_is_refused_and_named_and_nothing_is_run() {
    let log = Log::default();
    let gate = |log: &Log, critique: &str, max: u32| {
        let step = log.step();
        Workflow::<Trace>::named("essay")
            .start_with("draft", log.step())
            .repeat_until("refinement", max, |_| true, |body| body.then(critique.to_owned(), step))
            .gate("approve", |_| redraft::Question::new("?"), |_| Trace::update())
            .build()
            .unwrap()
    };
    let store = MemoryStore::new();
    let original = gate(&log, "critique", 5);
    let engine = on(&store, &original).open().await.unwrap();
    let run = engine.start(&original, Trace::default()).await.unwrap();
    run.settled().await.unwrap();
    let before = (log.all(), engine.summary(run.run()).await.unwrap().events);
    drop(engine);
    let cases = [
        (
            gate(&log, "judge", 5),
            "it had `step refinement/critique v1` where there is `step refinement/judge v1` now",
        ),
        (
            gate(&log, "critique", 6),
            "it had `loop refinement max 5` where there is `loop refinement max 6` now",
        ),
    ];
    for (changed, difference) in cases {
        let engine = on(&store, &changed).open().await.unwrap();
        let refused = engine.refused();
        let [(refused, error)] = refused.as_slice() else { panic!("{refused:?}") };
        assert_eq!((*refused, error.code()), (run.run(), "definition-changed"));
        assert!(error.to_string().ends_with(difference), "{error}");
        assert_eq!(engine.resume(run.run()).await.unwrap_err().code(), "definition-changed");
        assert_eq!((log.all(), engine.summary(run.run()).await.unwrap().events), before);
    }
    let engine = on(&store, &original).open().await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(run.run(), "approve", redraft::Answer::new("approve")).await.unwrap();
    handle.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(log.all(), before.0);
}

#[tokio::test]
async fn a_failure_in_the_cleanup_can_be_resumed_too() {
    let (log, broken) = (Log::default(), Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let jam = Arc::clone(&broken);
    let workflow = Workflow::<Trace>::named("untidy")
        .start_with("work", log.step())
        .finally(|body| {
            body.then("one", log.step()).then("two", move |_: Arc<Trace>| {
                let broken = jam.load(std::sync::atomic::Ordering::Relaxed);
                async move { if broken { Err(Failure::from("jam")) } else { Ok(Trace::update()) } }
            })
        })
        .build()
        .unwrap();
    let engine = on(&MemoryStore::new(), &workflow).open().await.unwrap();
    let run = engine.start(&workflow, Trace::default()).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().status(), Status::Failed);
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let resumed = engine.resume(run.run()).await.unwrap();
    assert_eq!(resumed.outcome().await.unwrap().status(), Status::Completed);
    assert_eq!(log.all(), ["work", "finally/one", "finally/one"]);
}

/// The failure no longer says where it came from, and the cleanup failed after it.
#[tokio::test]
async fn a_failure_in_other_words_is_resumed_where_it_began_and_not_in_the_cleanup() {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let try_it = |broken: &Arc<std::sync::atomic::AtomicBool>| {
        let is_broken = broken.load(std::sync::atomic::Ordering::Relaxed);
        async move { if is_broken { Err(Failure::from("jam")) } else { Ok(()) } }
    };
    let (press, broom) = (Arc::clone(&broken), Arc::clone(&broken));
    let workflow = Workflow::<Trace>::named("reworded")
        .flow("print", move |ctx: Ctx, _: Arc<Trace>| {
            let press = Arc::clone(&press);
            async move {
                let printed = ctx.step("press", || try_it(&press)).await;
                printed.map_err(|_| Failure::terminal("unprinted", "could not print"))?;
                Ok(Trace::update())
            }
        })
        .finally(|body| {
            body.then("tidy", move |_: Arc<Trace>| {
                let tidied = try_it(&broom);
                async move { tidied.await.map(|()| Trace::update()) }
            })
        })
        .build()
        .unwrap();
    let engine = on(&MemoryStore::new(), &workflow).open().await.unwrap();
    let run = engine.start(&workflow, Trace::default()).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap_err().code, "unprinted");
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let resumed = engine.resume(run.run()).await.unwrap();
    assert_eq!(resumed.outcome().await.unwrap().status(), Status::Completed);
}
