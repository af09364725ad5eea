//! What each node does when all goes well.

use std::sync::Arc;

use redraft::store::MemoryStore;
use redraft::workflow::{State, Workflow};
use redraft::{Answer, Ctx, Failure, LoopEnd, LoopEnded, Policy, Question, Status, Step};

use crate::support::{Trace, count, mark, on, output};

#[tokio::test]
async fn a_loop_whose_condition_never_holds_runs_its_body_exactly_max_times() {
    for max in [1, 2, 5] {
        let workflow = Workflow::<Trace>::named("loop")
            .repeat_until("five", max, |_| false, |body| body.then("count", count()))
            .build()
            .unwrap();
        assert_eq!(output(&workflow).await.count, max);
    }
}

#[tokio::test]
async fn a_loop_whose_condition_holds_at_once_still_runs_its_body_once() {
    let workflow = Workflow::<Trace>::named("loop")
        .repeat_until("once", 5, |_| true, |body| body.then("count", count()))
        .build()
        .unwrap();
    assert_eq!(output(&workflow).await.count, 1);
}

#[tokio::test]
async fn an_inner_loop_counts_from_zero_each_time_it_is_entered() {
    let workflow = Workflow::<Trace>::named("nested")
        .repeat_until(
            "outer",
            4,
            |_| false,
            |outer| outer.repeat_until("inner", 3, |_| false, |inner| inner.then("count", count())),
        )
        .build()
        .unwrap();
    let trace = output(&workflow).await;
    assert_eq!(trace.count, 12);
    let wanted: Vec<String> =
        (1..=4).flat_map(|a| (1..=3).map(move |b| format!("outer/{a}/inner/{b}/count"))).collect();
    assert_eq!(trace.seen, wanted);
    assert_eq!(workflow.phases(), ["outer/inner/count"]);
}

#[tokio::test]
async fn an_exit_leaves_the_loop_from_the_middle_and_through_a_branch() {
    let workflow = Workflow::<Trace>::named("exits")
        .repeat_until(
            "outer",
            5,
            |_| false,
            |outer| {
                outer
                    .then("count", count())
                    .repeat_until(
                        "inner",
                        5,
                        |_| false,
                        |inner| {
                            inner.then("look", mark()).branch("enough", |ways| {
                                ways.when(
                                    "yes",
                                    |_| true,
                                    |body| body.exit_when("leave", |_| true).then("never", mark()),
                                )
                            })
                        },
                    )
                    .exit_when("two", |trace| trace.count == 2)
                    .then("after", mark())
            },
        )
        .then("end", mark())
        .build()
        .unwrap();
    let seen = output(&workflow).await.seen;
    let wanted = [
        "outer/1/count",
        "outer/1/inner/1/look",
        "outer/1/after",
        "outer/2/count",
        "outer/2/inner/1/look",
        "end",
    ];
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn how_a_loop_ended_can_be_branched_on() {
    let build = |until: u32| {
        Workflow::<Trace>::named("capped")
            .repeat_until(
                "refinement",
                3,
                move |trace| trace.count >= until,
                |body| body.then("count", count()),
            )
            .branch("after", |ways| {
                ways.when(
                    "capped",
                    |at| at.loop_end("refinement") == Some(LoopEnd { iterations: 3, by: LoopEnded::Cap }),
                    |body| body.then("escalate", mark()),
                )
                .otherwise("fine", |body| body.then("publish", mark()))
            })
            .build()
            .unwrap()
    };
    assert_eq!(output(&build(9)).await.seen.last().unwrap(), "after/capped/escalate");
    assert_eq!(output(&build(2)).await.seen.last().unwrap(), "after/fine/publish");
}

#[tokio::test]
async fn a_branch_takes_the_first_way_that_fits_or_none() {
    let build = |start: u32| {
        Workflow::<Trace>::named("ways")
            .start_with(
                "set",
                move |_: Arc<Trace>| async move { Ok::<_, Failure>(Trace::update().count(start)) },
            )
            .branch("size", |ways| {
                ways.when("small", |trace| trace.count < 10, |body| body.then("a", mark())).when(
                    "medium",
                    |trace| trace.count < 100,
                    |body| body.then("b", mark()),
                )
            })
            .then("end", mark())
            .build()
            .unwrap()
    };
    for (start, way) in [(1, Some("size/small/a")), (50, Some("size/medium/b")), (500, None)] {
        let seen = output(&build(start)).await.seen;
        let wanted: Vec<&str> = way.into_iter().chain(["end"]).collect();
        assert_eq!(seen, wanted);
    }
}

#[tokio::test]
async fn the_paths_of_a_fork_begin_with_the_same_state_and_are_joined_in_the_order_written() {
    let workflow = Workflow::<Trace>::named("forked")
        .start_with("before", count())
        .fork("both", |paths| {
            paths
                .path("slow", |body| {
                    body.then("wait", |trace: Arc<Trace>| async move {
                        for _ in 0..50 {
                            tokio::task::yield_now().await;
                        }
                        Ok::<_, Failure>(
                            Trace::update().append_seen(format!("slow saw {}", trace.seen.len())),
                        )
                    })
                    .then("count", count())
                })
                .path("quick", |body| {
                    body.then("go", |trace: Arc<Trace>| async move {
                        Ok::<_, Failure>(
                            Trace::update().append_seen(format!("quick saw {}", trace.seen.len())),
                        )
                    })
                })
        })
        .join("together")
        .then("after", count())
        .build()
        .unwrap();
    let trace = output(&workflow).await;
    assert_eq!(trace.seen, ["before", "slow saw 1", "both/slow/count", "quick saw 1", "after"]);
    assert_eq!(trace.count, 3);
}

#[tokio::test]
async fn after_a_join_the_latest_end_of_a_loop_is_told_whichever_path_it_was_on() {
    // (iterations before the fork, on its first path, on its second), and what is told after the join.
    let cases =
        [((1, Some(3), None), 3), ((1, None, Some(3)), 3), ((2, None, None), 2), ((1, Some(3), Some(4)), 4)];
    for ((before, one, two), wanted) in cases {
        let told = Arc::new(std::sync::Mutex::new(None));
        let ear = Arc::clone(&told);
        let refine = |max: Option<u32>| {
            move |body: redraft::workflow::Body<Trace>| match max {
                Some(max) => body.repeat_until("refine", max, |_| false, |body| body.then("count", count())),
                None => body.then("mark", mark()),
            }
        };
        let workflow = Workflow::<Trace>::named("loops")
            .repeat_until("refine", before, |_| false, |body| body.then("count", count()))
            .fork("both", |paths| paths.path("one", refine(one)).path("two", refine(two)))
            .join("together")
            .branch("ask", |ways| {
                let listen = move |at: &redraft::workflow::At<'_, Trace>| {
                    *ear.lock().unwrap() = at.loop_end("refine");
                    false
                };
                ways.when("never", listen, |body| body.then("mark", mark()))
            })
            .build()
            .unwrap();
        output(&workflow).await;
        let wanted = LoopEnd { iterations: wanted, by: LoopEnded::Cap };
        assert_eq!(*told.lock().unwrap(), Some(wanted), "{before} {one:?} {two:?}");
    }
}

#[tokio::test]
async fn a_gate_turns_an_answer_into_an_update() {
    let workflow = Workflow::<Trace>::named("asks")
        .start_with("draft", mark())
        .gate(
            "approve",
            |trace| Question::new(format!("{} steps. Publish?", trace.seen.len())),
            |answer| Trace::update().note(Some(format!("{} by {}", answer.choice, answer.by))),
        )
        .build()
        .unwrap();
    let store = MemoryStore::new();
    let engine = on(&store, &workflow).open().await.unwrap();
    let run = engine.start(&workflow, Trace::default()).await.unwrap();
    assert_eq!(run.settled().await.unwrap().status(), Status::Waiting);
    assert_eq!(engine.summary(run.run()).await.unwrap().gates[0].question, "1 steps. Publish?");
    engine.answer(run.run(), "approve", Answer::new("reject").by("ada")).await.unwrap();
    let trace = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(trace.note.as_deref(), Some("reject by ada"));
}

#[tokio::test]
async fn an_imperative_part_stands_in_the_same_tree() {
    let workflow = Workflow::<Trace>::named("mixed")
        .start_with("first", mark())
        .flow("inside", |ctx: Ctx, trace: Arc<Trace>| async move {
            let results = ctx
                .parallel("items", 1..=3_u32, 2, |ctx, n| async move {
                    ctx.step("square", || async { Ok::<_, Failure>(n * n) }).await
                })
                .await;
            let sum: u32 = results.into_iter().sum::<Result<u32, Failure>>()?;
            Ok(Trace::update().count(trace.count + sum))
        })
        .then("last", mark())
        .build()
        .unwrap();
    let engine = on(&MemoryStore::new(), &workflow).open().await.unwrap();
    let run = engine.start(&workflow, Trace::default()).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap().count, 14);
    let tree = engine.tree(run.run()).await.unwrap();
    assert!(tree.find("inside/items/3/square").is_some(), "{tree}");
}

#[tokio::test]
async fn patience_is_set_at_the_step_or_by_phase() {
    let attempts = |workflow: Workflow<Trace>| async move {
        let engine = on(&MemoryStore::new(), &workflow).open().await.unwrap();
        let run = engine.start(&workflow, Trace::default()).await.unwrap();
        run.outcome().await.unwrap();
        let mut events = engine.events(run.run(), 0).await.unwrap();
        let mut failed = 0;
        while let Some(event) = events.next().await.unwrap() {
            failed += usize::from(event.kind == "step_failed");
        }
        failed
    };
    let flaky = || |_: Arc<Trace>| async { Err::<_, Failure>(Failure::passing("flaky", "no")) };
    let quick = redraft::Backoff { first: std::time::Duration::ZERO, ..redraft::Backoff::default() };
    let policy = |attempts| Policy { attempts, backoff: quick.clone(), timeout: None };
    let plain = Workflow::<Trace>::named("p").start_with("a", flaky()).build().unwrap();
    assert_eq!(attempts(plain).await, 3);
    let step = Step::named("a").policy(policy(2));
    let stepwise = Workflow::<Trace>::named("p").start_with(step.clone(), flaky()).build().unwrap();
    assert_eq!(attempts(stepwise).await, 2);
    let phased = Workflow::<Trace>::named("p")
        .repeat_until("loop", 1, |_| true, |body| body.then(step, flaky()))
        .policy_for("loop/a", policy(5))
        .build()
        .unwrap();
    assert_eq!(attempts(phased).await, 5);
}
