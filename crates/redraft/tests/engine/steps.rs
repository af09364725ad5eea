//! Steps: once, in order, patient where the error says so.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::{
    Ctx, Ending, Engine, Failure, Fault, Faults, ManualClock, Path, Policy, Question, Retry, Status, Step,
    flow,
};
use serde_json::{Value, json};

use crate::support::{Effects, impatient, kinds, on, until};

#[tokio::test]
async fn a_run_returns_what_its_workflow_returns() {
    let report = flow("report", |ctx: Ctx, topic: String| async move {
        let draft = ctx.step("draft", || async { Ok::<_, Failure>(format!("On {topic}")) }).await?;
        ctx.step("publish", || async { Ok::<_, Failure>(draft.len()) }).await
    });
    let engine = on(&MemoryStore::new(), report.clone()).open().await.unwrap();
    let run = engine.start(&report, "tides".to_owned()).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Completed);
    assert_eq!(outcome.into_output().unwrap(), 8);
    let wanted =
        ["run_started", "step_started", "step_succeeded", "step_started", "step_succeeded", "run_finished"];
    assert_eq!(kinds(&engine, run.run()).await, wanted);
}

#[tokio::test]
async fn a_repeated_name_gets_a_number_and_a_result_of_its_own() {
    let twice = flow("twice", |ctx: Ctx, ()| async move {
        let mut results = Vec::new();
        for n in 0..3 {
            results.push(ctx.step("same", || async { Ok::<_, Failure>(n) }).await?);
        }
        let inner = ctx.group("inner");
        results.push(inner.step("same", || async { Ok::<_, Failure>(9) }).await?);
        Ok::<_, Failure>(results)
    });
    let engine = on(&MemoryStore::new(), twice.clone()).open().await.unwrap();
    let run = engine.start(&twice, ()).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap(), [0, 1, 2, 9]);
    let tree = engine.tree(run.run()).await.unwrap();
    for path in ["same", "same#2", "same#3", "inner/same"] {
        assert!(tree.find(path).is_some(), "{path} is not in\n{tree}");
    }
}

#[derive(Debug, thiserror::Error)]
enum PressError {
    #[error("the press is busy")]
    Busy,
    #[error("the press is on fire")]
    OnFire,
}

impl Fault for PressError {
    fn code(&self) -> &str {
        match self {
            Self::Busy => "press-busy",
            Self::OnFire => "press-on-fire",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Busy => Retry::Backoff,
            Self::OnFire => Retry::Never,
        }
    }
}

async fn attempts_until(fails: fn(u32) -> Option<PressError>) -> (u32, Result<u32, Failure>) {
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&attempts);
    let print = flow("print", move |ctx: Ctx, ()| {
        let counter = Arc::clone(&counter);
        async move {
            ctx.step("press", || async {
                let attempt = counter.fetch_add(1, Ordering::Relaxed) + 1;
                fails(attempt).map_or(Ok(attempt), Err)
            })
            .await
        }
    });
    let engine = on(&MemoryStore::new(), print.clone()).open().await.unwrap();
    let outcome = engine.start(&print, ()).await.unwrap().outcome().await.unwrap();
    (attempts.load(Ordering::Relaxed), outcome.into_output())
}

#[tokio::test]
async fn the_type_of_the_error_decides_whether_to_try_again() {
    let (attempts, result) = attempts_until(|attempt| (attempt < 3).then_some(PressError::Busy)).await;
    assert_eq!((attempts, result.unwrap()), (3, 3));
    let (attempts, result) = attempts_until(|_| Some(PressError::Busy)).await;
    assert_eq!((attempts, result.unwrap_err().code.as_str()), (3, "press-busy"));
    let (attempts, result) = attempts_until(|_| Some(PressError::OnFire)).await;
    let failure = result.unwrap_err();
    assert_eq!((attempts, failure.code.as_str()), (1, "press-on-fire"));
    assert_eq!(failure.at, [redraft::Path::new("press")]);
}

#[tokio::test]
async fn a_server_that_says_when_to_come_back_is_obeyed() {
    let clock = Arc::new(ManualClock::default());
    let effects = Effects::default();
    let log = effects.clone();
    let ask = flow("ask", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            ctx.step_with("model", |call| {
                log.happen(format!("attempt {}", call.attempt));
                async move {
                    if call.attempt == 1 {
                        let retry = Retry::After(Duration::from_secs(90));
                        return Err(Failure::terminal("rate-limited", "slow down").with_retry(retry));
                    }
                    Ok(call.idempotency_key())
                }
            })
            .await
        }
    });
    let store = MemoryStore::new();
    let engine = on(&store, ask.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&ask, ()).await.unwrap();
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(89));
    tokio::task::yield_now().await;
    assert_eq!(effects.all(), ["attempt 1"]);
    clock.advance(Duration::from_secs(1));
    let key = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(effects.all(), ["attempt 1", "attempt 2"]);
    assert_eq!(key, format!("{}/model", run.run()));
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_given_up_and_tried_again() {
    let clock = Arc::new(ManualClock::default());
    let slow = flow("slow", |ctx: Ctx, ()| async move {
        let step = Step::named("think")
            .policy(redraft::Policy { timeout: Some(Duration::from_secs(5)), ..impatient() });
        ctx.step_with(step, |call| async move {
            if call.attempt < 3 {
                std::future::pending::<()>().await;
            }
            Ok::<_, Failure>(call.attempt)
        })
        .await
    });
    let engine = on(&MemoryStore::new(), slow.clone()).clock(clock.clone()).open().await.unwrap();
    let run = engine.start(&slow, ()).await.unwrap();
    for _ in 0..2 {
        while clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_secs(5));
    }
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap(), 3);
    let tree = engine.tree(run.run()).await.unwrap();
    let redraft::view::NodeKind::Step { attempts, .. } = &tree.find("think").unwrap().kind else {
        panic!("{tree}")
    };
    let codes: Vec<_> = attempts.iter().map(|a| a.failure.as_ref().map(|f| f.code.as_str())).collect();
    assert_eq!(codes, [Some("timeout"), Some("timeout"), None]);
}

#[tokio::test]
async fn a_step_that_names_a_part_of_its_policy_takes_the_rest_from_the_engine() {
    let clock = Arc::new(ManualClock::default());
    let minute = Duration::from_secs(60);
    let engines = Policy { attempts: 4, timeout: Some(minute * 2), ..impatient() };
    let cases = [
        (Step::named("all"), 4, minute * 2),
        (Step::named("patient").timeout(minute * 5), 4, minute * 5),
        (Step::named("hasty").attempts(2), 2, minute * 2),
        (Step::named("both").timeout(minute).attempts(1), 1, minute),
        (Step::named("own").policy(Policy { attempts: 2, ..engines.clone() }).timeout(minute), 2, minute),
    ];
    let steps: Vec<Step> = cases.iter().map(|(step, ..)| step.clone()).collect();
    let stuck = flow("stuck", move |ctx: Ctx, n: usize| {
        let step = steps[n].clone();
        async move { ctx.step(step, std::future::pending::<Result<(), Failure>>).await }
    });
    let builder = Engine::on(MemoryStore::new()).workflow(stuck.clone());
    let engine = builder.policy(engines).clock(clock.clone()).open().await.unwrap();
    for (n, (step, attempts, timeout)) in cases.into_iter().enumerate() {
        let run = engine.start(&stuck, n).await.unwrap();
        for _ in 0..attempts {
            while clock.sleepers() == 0 {
                tokio::task::yield_now().await;
            }
            clock.advance(timeout - Duration::from_millis(1));
            assert_eq!(clock.sleepers(), 1, "{step:?} gave up too early");
            clock.advance(Duration::from_millis(1));
        }
        let failure = run.outcome().await.unwrap().into_output().unwrap_err();
        assert_eq!(failure.code, "timeout", "{step:?}");
        let failed = kinds(&engine, run.run()).await.into_iter().filter(|kind| kind == "step_failed").count();
        assert_eq!(failed, attempts, "{step:?}");
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_and_harms_nobody_else() {
    let bad = flow("bad", |ctx: Ctx, outside: bool| async move {
        if outside {
            panic!("outside of any step");
        }
        ctx.step("boom", || async { if true { panic!("inside {}", "a step") } else { Ok::<_, Failure>(()) } })
            .await
    });
    let engine = on(&MemoryStore::new(), bad.clone()).open().await.unwrap();
    for (outside, words) in [(false, "inside a step"), (true, "outside of any step")] {
        let outcome = engine.start(&bad, outside).await.unwrap().outcome().await.unwrap();
        let Ending::Failed(failure) = outcome.ending else { panic!("it did not fail") };
        assert_eq!(failure.code, "panicked");
        assert!(failure.message.contains(words), "{failure}");
    }
}

/// Serialises, but not back: JSON has no NaN.
#[tokio::test]
async fn a_value_that_json_cannot_hold_is_refused_before_it_is_remembered() {
    let odd = flow("odd", |ctx: Ctx, which: u32| async move {
        match which {
            0 => ctx.step("nan", || async { Ok::<_, Failure>(f64::NAN) }).await.map(drop),
            1 => {
                let map = HashMap::from([((1, 2), 3)]);
                ctx.step("map", || async { Ok::<_, Failure>(map.clone()) }).await.map(drop)
            }
            2 => ctx.step("large", || async { Ok::<_, Failure>("x".repeat(50 << 20)) }).await.map(drop),
            _ => {
                let step = Step::named("input").input(&HashMap::from([((1, 2), 3)]));
                ctx.step(step, || async { Ok::<_, Failure>(()) }).await
            }
        }
    });
    let engine = on(&MemoryStore::new(), odd.clone()).open().await.unwrap();
    let wanted =
        ["output-not-readable", "output-not-serializable", "output-too-large", "input-not-serializable"];
    for (which, code) in (0..).zip(wanted) {
        let run = engine.start(&odd, which).await.unwrap();
        let failure = run.outcome().await.unwrap().into_output().unwrap_err();
        assert_eq!(failure.code, code);
        assert_eq!(failure.at.len(), 1, "{failure}");
    }
}

#[tokio::test]
async fn a_step_that_cannot_say_what_it_depends_on_takes_no_place_in_the_journal() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let odd = flow("odd", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            let step = Step::named("bad").input(&HashMap::from([((1, 2), 3)]));
            let failure = ctx.step(step, || async { Ok::<_, Failure>(()) }).await.unwrap_err();
            assert_eq!(
                (failure.code.as_str(), failure.at),
                ("input-not-serializable", vec![Path::new("bad")])
            );
            log.step(&ctx, "good").await?;
            ctx.gate("go-on", Question::new("?")).await
        }
    });
    let engine = on(&store, odd.clone()).open().await.unwrap();
    let handle = engine.start(&odd, ()).await.unwrap();
    let waiting = Ending::Waiting { gates: vec![Path::new("go-on")] };
    assert_eq!(handle.settled().await.unwrap().ending, waiting);
    drop(engine);
    let engine = on(&store, odd).open().await.unwrap();
    let handle = engine.handle(handle.run()).await.unwrap().typed::<redraft::Answer>();
    assert_eq!(handle.settled().await.unwrap().ending, waiting);
    assert_eq!(effects.all(), ["good"]);
}

#[tokio::test]
async fn a_map_among_the_inputs_is_the_same_whatever_order_it_keeps() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let mapped = flow("mapped", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            // Made anew in every life, each time in another order.
            let scores: HashMap<String, u32> = (0..20).map(|n| (n.to_string(), n)).collect();
            let nested = [(1, HashMap::from([("scores", &scores)]))];
            let step = Step::named("rank").input(&scores).input(&nested);
            ctx.step(step, || async {
                log.happen("rank");
                Ok::<_, Failure>(())
            })
            .await?;
            ctx.gate("go-on", Question::new("?")).await
        }
    });
    let engine = on(&store, mapped.clone()).open().await.unwrap();
    let run = engine.start(&mapped, ()).await.unwrap();
    run.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, mapped).open().await.unwrap();
    let settled = engine.handle(run.run()).await.unwrap().settled().await.unwrap();
    assert_eq!(settled.status(), Status::Waiting);
    assert_eq!(effects.count("rank"), 1);
}

#[tokio::test]
async fn a_failure_that_was_given_up_on_says_so_in_life_as_on_replay() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let busy = flow("busy", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            let result = ctx.step("press", || async { Err::<(), _>(PressError::Busy) }).await;
            log.happen(format!("{:?}", result.unwrap_err()));
            ctx.gate("go-on", Question::new("?")).await
        }
    });
    let engine = on(&store, busy.clone()).open().await.unwrap();
    let run = engine.start(&busy, ()).await.unwrap();
    run.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, busy).open().await.unwrap();
    engine.handle(run.run()).await.unwrap().settled().await.unwrap();
    let seen = effects.all();
    assert!(seen[0].contains("retry: Never"), "{}", seen[0]);
    assert_eq!(seen, [seen[0].clone(), seen[0].clone()]);
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test]
async fn a_detail_that_is_nested_too_deeply_is_kept_as_text() {
    let store = MemoryStore::new();
    let detailed = flow("detailed", |ctx: Ctx, levels: usize| async move {
        let complain = || async { Err::<(), _>(Failure::from("bad answer").with_detail(nested(levels))) };
        let caught = ctx.step("caught", complain).await.unwrap_err();
        let again = ctx.step("kept", || async { Ok::<_, Failure>(caught.detail.clone()) }).await?;
        assert_eq!(again, caught.detail);
        ctx.step("fatal", complain).await
    });
    let engine = on(&store, detailed.clone()).open().await.unwrap();
    for (levels, is_text) in [(1, false), (64, false), (65, true), (126, true), (500, true)] {
        let run = engine.start(&detailed, levels).await.unwrap();
        let failure = run.outcome().await.unwrap().into_output().unwrap_err();
        let wanted = if is_text { json!(nested(levels).to_string()) } else { nested(levels) };
        assert_eq!(failure.detail.as_deref(), Some(&wanted), "{levels} levels");
        let summary = engine.summary(run.run()).await.unwrap();
        assert_eq!(summary.failure, Some(failure));
        engine.tree(run.run()).await.unwrap();
        assert!(kinds(&engine, run.run()).await.ends_with(&["run_finished".to_owned()]));
    }
}

#[tokio::test]
async fn life_hands_over_exactly_what_replay_will() {
    #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Lossy {
        kept: u32,
        #[serde(skip)]
        lost: u32,
    }
    let lossy = flow("lossy", |ctx: Ctx, ()| async move {
        let value = ctx.step("step", || async { Ok::<_, Failure>(Lossy { kept: 1, lost: 2 }) }).await?;
        Ok::<_, Failure>((value.kept, value.lost))
    });
    let engine = on(&MemoryStore::new(), lossy.clone()).open().await.unwrap();
    let outcome = engine.start(&lossy, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), (1, 0));
}

#[tokio::test]
async fn faults_on_demand_fail_delay_and_repeat_steps() {
    let effects = Effects::default();
    let log = effects.clone();
    let plain = flow("plain", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            log.step(&ctx, "a").await?;
            log.step(&ctx.group("g"), "b").await?;
            log.step(&ctx, "c").await
        }
    });
    let clock = Arc::new(ManualClock::default());
    let faults = Faults::new()
        .fail_step("a", 2, Failure::passing("flaky", "not now"))
        .repeat_step("g/b")
        .delay_step("c", Duration::from_secs(60));
    let engine =
        on(&MemoryStore::new(), plain.clone()).clock(clock.clone()).faults(faults).open().await.unwrap();
    let run = engine.start(&plain, ()).await.unwrap();
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(effects.all(), ["a", "b", "b"]);
    clock.advance(Duration::from_secs(60));
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap(), "c");
    let tree = engine.tree(run.run()).await.unwrap();
    assert!(tree.to_string().contains("a  0 ms  3 attempts"), "{tree}");
}

#[tokio::test]
async fn a_key_gives_the_same_run_and_refuses_another_input() {
    let effects = Effects::default();
    let log = effects.clone();
    let order = flow("order", move |ctx: Ctx, n: u32| {
        let log = log.clone();
        async move { log.step(&ctx, "charge").await.map(|_| n) }
    });
    let engine = on(&MemoryStore::new(), order.clone()).open().await.unwrap();
    let start = || redraft::Start::default().key("order-17");
    let first = engine.start_with(&order, 5, start()).await.unwrap();
    let second = engine.start_with(&order, 5, start()).await.unwrap();
    assert_eq!(first.run(), second.run());
    assert_eq!(first.outcome().await.unwrap().into_output().unwrap(), 5);
    let third = engine.start_with(&order, 5, start()).await.unwrap();
    assert_eq!(third.outcome().await.unwrap().into_output().unwrap(), 5);
    assert_eq!(effects.count("charge"), 1);
    let error = engine.start_with(&order, 6, start()).await.unwrap_err();
    assert_eq!(error.code(), "key-reused");
}

#[tokio::test]
async fn groups_hold_the_pages_own_example() {
    let effects = Effects::default();
    let log = effects.clone();
    let report = flow("report_pipeline", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            log.step(&ctx, "generate_initial_draft").await?;
            for i in 1..=2 {
                let group = ctx.group(&format!("refinement_{i}"));
                log.step(&group, "critique_content").await?;
                log.step(&group, "revise_content").await?;
            }
            log.step(&ctx, "format_outputs").await
        }
    });
    let engine: Engine = on(&MemoryStore::new(), report.clone()).open().await.unwrap();
    let run = engine.start(&report, ()).await.unwrap();
    run.outcome().await.unwrap().into_output().unwrap();
    let drawn = engine.tree(run.run()).await.unwrap().to_string();
    let names: Vec<&str> =
        drawn.lines().skip(1).map(|line| line.split("  ").next().unwrap_or(line)).collect();
    assert!(drawn.contains("├─ ✓ refinement_2\n│  ├─ ✓ critique_content"), "{names:?}\n{drawn}");
}

#[tokio::test]
async fn a_key_gives_a_failed_run_as_it_is_and_does_not_try_it_again() {
    let effects = Effects::default();
    let log = effects.clone();
    let order = flow("order", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            ctx.step("charge", || async {
                log.happen("charge");
                Err::<(), _>(Failure::terminal("card-refused", "no"))
            })
            .await
        }
    });
    let engine = on(&MemoryStore::new(), order.clone()).open().await.unwrap();
    let start = || redraft::Start::default().key("order-17");
    for _ in 0..3 {
        let run = engine.start_with(&order, (), start()).await.unwrap();
        assert_eq!(run.outcome().await.unwrap().into_output().unwrap_err().code, "card-refused");
    }
    assert_eq!(effects.count("charge"), 1);
}

#[tokio::test]
async fn a_ctx_that_outlives_its_run_gets_nothing_done() {
    let (effects, go) = (Effects::default(), Arc::new(tokio::sync::Notify::new()));
    let (log, late) = (effects.clone(), Arc::clone(&go));
    let leaky = flow("leaky", move |ctx: Ctx, ()| {
        let (log, late) = (log.clone(), Arc::clone(&late));
        async move {
            let kept = ctx.clone();
            tokio::spawn(async move {
                late.notified().await;
                log.happen("woken");
                log.step(&kept, "too late").await
            });
            ctx.step("work", || async { Ok::<_, Failure>(()) }).await
        }
    });
    let engine = on(&MemoryStore::new(), leaky.clone()).open().await.unwrap();
    let run = engine.start(&leaky, ()).await.unwrap();
    run.outcome().await.unwrap().into_output().unwrap();
    go.notify_one();
    until(&effects, "woken", 1).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(effects.all(), ["woken"]);
    assert_eq!(engine.summary(run.run()).await.unwrap().steps_done, 1);
}
