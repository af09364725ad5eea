//! Timers, the time and dice: the same on every replay.

use std::sync::Arc;
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::{Clock, Ctx, Failure, ManualClock, Timestamp, flow};

use crate::support::{Effects, interrupted, on, until};

const DAY: Duration = Duration::from_secs(86_400);

async fn until_sleeping(clock: &ManualClock) {
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_restart_does_not_begin_a_sleep_anew() {
    let (store, clock) = (MemoryStore::new(), Arc::new(ManualClock::default()));
    let nap = flow("nap", |ctx: Ctx, ()| async move {
        ctx.sleep(DAY).await?;
        Ok::<_, Failure>(ctx.now().await)
    });
    let begun = clock.now();
    let engine = on(&store, nap.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&nap, ()).await.unwrap().run();
    until_sleeping(&clock).await;
    clock.advance(DAY / 2);
    engine.shut_down().await;
    drop(engine);
    let engine = on(&store, nap).clock(clock.clone()).open().await.unwrap();
    until_sleeping(&clock).await;
    clock.advance(DAY / 2);
    let woken = engine.handle(run).await.unwrap().typed::<Timestamp>().outcome().await.unwrap();
    assert_eq!(woken.into_output().unwrap(), begun.after(DAY));
}

#[tokio::test]
async fn a_clock_that_jumps_back_changes_nothing_that_is_recorded() {
    let (store, clock, effects) = (MemoryStore::new(), Arc::new(ManualClock::default()), Effects::default());
    let log = effects.clone();
    let timed = flow("timed", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            let values = (ctx.now().await, ctx.random().await);
            log.step(&ctx, "between").await?;
            let gate = ctx.gate("go-on", redraft::Question::new("?")).await?;
            Ok::<_, Failure>((values, gate.choice))
        }
    });
    let engine = on(&store, timed.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&timed, ()).await.unwrap();
    run.settled().await.unwrap();
    let before = clock.now();
    engine.shut_down().await;
    drop(engine);
    clock.jump(Timestamp::EPOCH);
    let engine = on(&store, timed).clock(clock).open().await.unwrap();
    engine.answer(run.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap().typed::<((Timestamp, u64), String)>();
    let ((now, _), choice) = handle.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((now, choice.as_str()), (before, "approve"));
    assert_eq!(effects.count("between"), 1);
}

#[tokio::test]
async fn dice_fall_the_same_on_every_replay() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let dice = flow("dice", move |ctx: Ctx, ends: bool| {
        let log = log.clone();
        async move {
            let rolled = (ctx.random().await, ctx.random().await);
            log.happen(format!("{rolled:?}"));
            let _ = ends;
            log.step(&ctx, "kept").await?;
            ctx.gate("go-on", redraft::Question::new("?")).await?;
            Ok::<_, Failure>(rolled)
        }
    });
    let engine = on(&store, dice.clone()).open().await.unwrap();
    let run = engine.start(&dice, true).await.unwrap();
    run.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, dice).open().await.unwrap();
    engine.handle(run.run()).await.unwrap().settled().await.unwrap();
    engine.answer(run.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap().typed::<(u64, u64)>();
    let rolled = handle.outcome().await.unwrap().into_output().unwrap();
    assert_ne!(rolled.0, rolled.1);
    let seen: Vec<String> = effects.all().into_iter().filter(|what| what != "kept").collect();
    assert_eq!(seen, vec![format!("{rolled:?}"); 2]);
}

#[tokio::test]
async fn dropping_the_engine_loses_nothing_that_was_committed() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let first_life = interrupted(&effects, false);
    let engine = on(&store, first_life.clone()).open().await.unwrap();
    let handle = engine.start(&first_life, ()).await.unwrap();
    until(&effects, "second", 1).await;
    drop(engine);
    assert_eq!(handle.outcome().await.unwrap_err().code(), "shut-down");
    let engine = on(&store, interrupted(&effects, true)).open().await.unwrap();
    let outcome = engine.handle(handle.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), "first second");
    assert_eq!(effects.all(), ["first", "second", "second"]);
}
