//! For every prefix of the journal of a run that goes wrong: resume, same end, nothing done twice, nothing undone twice.

use std::sync::Arc;

use redraft::workflow::{State, Workflow, with_call};
use redraft::{Call, Ctx, Ending, Failure, Flow, Path, Question, Step, flow};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Effects, Life, STOP_HERE, WhenFailed, crash_everywhere, happened};

/// A step that happens.
async fn work(effects: &Effects, ctx: &Ctx, name: &'static str) -> Result<(), Failure> {
    ctx.step_with(name, |call| async move {
        // Something always happens between the beginning and the end of real work.
        tokio::task::yield_now().await;
        happened(effects, &call);
        Ok::<_, Failure>(())
    })
    .await
}

/// A step that happens and never ends.
async fn get_stuck(effects: &Effects, ctx: &Ctx) -> Result<(), Failure> {
    ctx.step_with("get-stuck", |call| {
        happened(effects, &call);
        std::future::pending::<Result<(), Failure>>()
    })
    .await
}

/// Five candidates, four at a time. The first is no good, the second is; by then the third asks somebody, the fourth is
/// stuck, and the fifth has just begun.
fn race(effects: &Effects) -> Flow<(), Value> {
    let effects = Arc::clone(effects);
    flow("race", move |ctx: Ctx, ()| {
        let effects = Arc::clone(&effects);
        async move {
            let ended = ctx
                .parallel_until(
                    "candidates",
                    1..=5,
                    4,
                    |ctx, n: u32| {
                        let effects = &effects;
                        async move {
                            work(effects, &ctx, "think").await?;
                            let draft = ctx.group("draft");
                            work(effects, &draft, "write").await?;
                            match n {
                                1 => return Err(Failure::terminal("rejected", "not good enough")),
                                2 => {
                                    work(effects, &draft, "polish").await?;
                                    work(effects, &draft, "check").await?;
                                }
                                3 => drop(draft.gate("ask", Question::new("Is it any good?")).await?),
                                _ => get_stuck(effects, &draft).await?,
                            }
                            Ok(n)
                        }
                    },
                    Result::is_ok,
                )
                .await;
            let winners: Vec<u32> = ended.into_iter().flatten().flatten().collect();
            ctx.gate("approve", Question::new("Publish it?")).await?;
            work(&effects, &ctx, "publish").await?;
            Ok::<_, Failure>(json!(winners))
        }
    })
}

#[tokio::test]
async fn a_race_that_has_a_winner_keeps_it_after_a_crash_at_every_event() {
    let (first, lives) = crash_everywhere(race, (), WhenFailed::LeaveIt).await;
    assert!(
        matches!(&first.ending, Ending::Done { output, .. } if *output == json!([2])),
        "{:?}",
        first.ending
    );
    assert!(lives.len() > 30, "the journal has only {} events", first.events.len());
    for path in ["3/think", "3/draft/write", "4/think", "4/draft/write"] {
        let path = format!("candidates/{path}");
        assert!(first.succeeded().contains(&path), "`{path}` was not committed before it was abandoned");
    }
}

/// Three parts at once; the second breaks while the others are stuck. The workflow goes on without them, or fails.
fn strict(effects: &Effects) -> Flow<bool, String> {
    let effects = Arc::clone(effects);
    flow("strict", move |ctx: Ctx, has_fallback: bool| {
        let effects = Arc::clone(&effects);
        async move {
            let parts = ctx
                .try_parallel("parts", 1..=3, 3, |ctx, n: u32| {
                    let effects = &effects;
                    async move {
                        work(effects, &ctx, "think").await?;
                        work(effects, &ctx, "write").await?;
                        if n != 2 {
                            get_stuck(effects, &ctx).await?;
                        }
                        work(effects, &ctx, "polish").await?;
                        ctx.step_with("break", |call| {
                            happened(effects, &call);
                            async { Err::<(), _>(Failure::terminal("broken", "it broke")) }
                        })
                        .await
                    }
                })
                .await;
            let failure = parts.map(drop).unwrap_err();
            if !has_fallback {
                return Err(failure);
            }
            work(&effects, &ctx, "fall-back").await?;
            work(&effects, &ctx, "publish").await?;
            Ok(failure.code)
        }
    })
}

#[tokio::test]
async fn parts_that_fail_together_fail_the_same_way_after_a_crash_at_every_event() {
    for has_fallback in [true, false] {
        let (first, lives) = crash_everywhere(strict, has_fallback, WhenFailed::LeaveIt).await;
        match &first.ending {
            Ending::Done { output, .. } => assert_eq!((has_fallback, output), (true, &json!("broken"))),
            Ending::Failed(failure) => {
                assert_eq!((has_fallback, failure.code.as_str()), (false, "broken"));
                assert_eq!(failure.at, [Path::new("parts/2/break")]);
            }
            other => panic!("{other:?}"),
        }
        assert!(lives.len() > 15, "the journal has only {} events", first.events.len());
        for life in &lives {
            // The failure is as final as a success: it is not tried again.
            let broke = life.events[..life.found].iter().any(|event| event.contains("step_failed"));
            assert_ne!(life.done().contains("parts/2/break"), broke, "after {} events", life.found);
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
struct Order {
    #[state(append)]
    log: Vec<String>,
}

/// How an order comes to nothing.
#[derive(Clone, Copy)]
enum Undone {
    ByFailure,
    ByCancellation,
}

/// Steps that are undone, inside and outside of loops and forks, and a cleanup of several steps.
fn order(effects: &Effects, undone: Undone) -> Workflow<Order> {
    let step = || {
        let effects = Arc::clone(effects);
        with_call(move |_: Arc<Order>, call: Call| {
            let effects = Arc::clone(&effects);
            async move {
                tokio::task::yield_now().await;
                happened(&effects, &call);
                Ok::<_, Failure>(Order::update().append_log(call.path.to_string()))
            }
        })
    };
    let send =
        |_: Arc<Order>| async { Err::<OrderUpdate, _>(Failure::terminal("lost", "the parcel is lost")) };
    let ready = Workflow::<Order>::named("order")
        .start_with("reserve", step())
        .compensate("release", step())
        .then("look", step())
        .repeat_until(
            "parcels",
            2,
            |_| false,
            |body| body.then("pack", step()).compensate("unpack", step()).then("weigh", step()),
        )
        .fork("both", |paths| {
            paths
                .path("pay", |body| body.then("charge", step()).compensate("refund", step()))
                .path("tell", |body| body.then("write", step()).then("mail", step()))
        })
        .join("paid");
    let ends = match undone {
        Undone::ByFailure => ready.then("send", send),
        Undone::ByCancellation => ready.gate(STOP_HERE, |_| Question::new("Send it?"), |_| Order::update()),
    };
    ends.then("never", step())
        .on_failure(|body| body.then("apologise", step()).then("report", step()))
        .finally(|body| body.then("tidy", step()).then("lock-up", step()))
        .build()
        .unwrap()
}

/// What was done about the end, in order.
fn aftermath(life: &Life) -> Vec<String> {
    let about_the_end =
        |path: &String| !["reserve", "look", "parcels", "both"].contains(&path.split('/').next().unwrap());
    life.succeeded().into_iter().filter(about_the_end).collect()
}

const UNDOING: [&str; 4] =
    ["compensation/refund", "compensation/unpack", "compensation/unpack#2", "compensation/release"];
const TELLING: [&str; 2] = ["on-failure/apologise", "on-failure/report"];
const TIDYING: [&str; 2] = ["finally/tidy", "finally/lock-up"];

#[tokio::test]
async fn a_failed_workflow_is_undone_once_and_in_order_after_a_crash_at_every_event() {
    let make = |effects: &Effects| order(effects, Undone::ByFailure);
    let (first, lives) = crash_everywhere(make, Order::default(), WhenFailed::LeaveIt).await;
    let Ending::Failed(failure) = &first.ending else { panic!("{:?}", first.ending) };
    assert_eq!((failure.code.as_str(), failure.at.as_slice()), ("lost", &[Path::new("send")][..]));
    assert_eq!(aftermath(&first), [&UNDOING[..], &TELLING, &TIDYING].concat());
    assert!(lives.len() > 35, "the journal has only {} events", first.events.len());
    for life in &lives {
        life.does_the_rest_of(&first);
        assert_eq!(aftermath(life), aftermath(&first), "after a crash behind event {}", life.found);
    }
}

#[tokio::test]
async fn a_cancelled_workflow_is_undone_once_and_in_order_after_a_crash_at_every_event() {
    let make = |effects: &Effects| order(effects, Undone::ByCancellation);
    let (first, lives) = crash_everywhere(make, Order::default(), WhenFailed::LeaveIt).await;
    let reason = "it came to the gate".to_owned();
    assert_eq!(first.ending, Ending::Cancelled { reason, output: None });
    assert_eq!(aftermath(&first), [&UNDOING[..], &TIDYING].concat());
    assert!(lives.len() > 35, "the journal has only {} events", first.events.len());
    for life in &lives {
        life.does_the_rest_of(&first);
        assert_eq!(aftermath(life), aftermath(&first), "after a crash behind event {}", life.found);
    }
}

/// Fails at the second of three parts until it has been tried three times; the third part is still at it then.
fn mended(effects: &Effects) -> Flow<(), Value> {
    let effects = Arc::clone(effects);
    flow("mended", move |ctx: Ctx, ()| {
        let effects = Arc::clone(&effects);
        async move {
            work(&effects, &ctx, "outline").await?;
            let parts = ctx
                .try_parallel("parts", 1..=3, 3, |ctx, n: u32| {
                    let effects = &effects;
                    async move {
                        work(effects, &ctx, "write").await?;
                        for _ in 0..if n == 3 { 9 } else { 1 } {
                            work(effects, &ctx, "polish").await?;
                        }
                        if n == 2 {
                            ctx.step_with(Step::named("print").attempts(3), |call| async move {
                                tokio::task::yield_now().await;
                                if call.attempt <= 3 {
                                    return Err(Failure::passing("jam", "the press is jammed"));
                                }
                                happened(effects, &call);
                                Ok(())
                            })
                            .await?;
                        }
                        Ok(n)
                    }
                })
                .await?;
            work(&effects, &ctx, "bind").await?;
            Ok::<_, Failure>(json!(parts))
        }
    })
}

#[tokio::test]
async fn a_failed_run_that_is_resumed_completes_after_a_crash_at_every_event() {
    let (first, lives) = crash_everywhere(mended, (), WhenFailed::Resume).await;
    let is_whole =
        |life: &Life| matches!(&life.ending, Ending::Done { output, .. } if *output == json!([1, 2, 3]));
    assert!(is_whole(&first), "{:?}", first.ending);
    let reopened = |life: &Life| life.events.iter().any(|event| event.contains("run_reopened"));
    assert!(reopened(&first), "it never failed");
    assert!(lives.len() > 30, "the journal has only {} events", first.events.len());
    for life in &lives {
        life.does_the_rest_of(&first);
    }
}
