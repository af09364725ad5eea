//! What people and programs see.

use redraft::store::{MemoryStore, Query};
use redraft::{Conclusion, Ctx, Failure, LoopEnded, Question, Status, Stop, flow};
use serde_json::{Value, json};

use crate::support::{Effects, kinds, on, until};

#[tokio::test]
async fn the_tree_shows_everything_in_its_place() {
    let effects = Effects::default();
    let log = effects.clone();
    let book = flow("book", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            log.step(&ctx, "outline").await?;
            ctx.note("*two* chapters").await;
            let (_, end) = ctx
                .repeat_until(
                    "chapters",
                    2,
                    0,
                    |n| *n >= 9,
                    |ctx, n| {
                        let log = log.clone();
                        async move {
                            log.step(&ctx, "write").await?;
                            Ok(n + 1)
                        }
                    },
                )
                .await?;
            assert_eq!((end.iterations, end.by), (2, LoopEnded::Cap));
            ctx.parallel("formats", ["html", "md"], 2, |ctx, format| {
                let log = log.clone();
                async move {
                    ctx.step("render", || async {
                        log.happen(format);
                        Ok::<_, Failure>(format.to_owned())
                    })
                    .await
                }
            })
            .await;
            ctx.gate("publish", Question::new("Publish?")).await?;
            Ok::<_, Failure>(())
        }
    });
    let engine = on(&MemoryStore::new(), book.clone()).open().await.unwrap();
    let handle = engine.start(&book, ()).await.unwrap();
    handle.settled().await.unwrap();
    let tree = engine.tree(handle.run()).await.unwrap();
    let drawn: Vec<String> = tree
        .to_string()
        .lines()
        .skip(1)
        .map(|line| line.split("  ").filter(|part| !part.ends_with(" ms")).collect::<Vec<_>>().join("  "))
        .collect();
    let wanted = "\
├─ ✓ outline
├─ ✓ note  “*two* chapters”
├─ ✓ chapters
│  ├─ ✓ iteration 1
│  │  └─ ✓ write
│  └─ ✓ iteration 2
│     └─ ✓ write
├─ ✓ formats
│  ├─ ✓ 1
│  │  └─ ✓ render
│  └─ ✓ 2
│     └─ ✓ render
└─ ◔ publish  “Publish?”";
    assert_eq!(drawn.join("\n"), wanted);
    let json: Value = serde_json::to_value(&tree).unwrap();
    assert_eq!(json["children"][2]["type"], "loop");
    assert_eq!(json["children"][2]["children"][1]["n"], 2);
    assert_eq!(json["children"][0]["output"], "outline");
    assert_eq!(serde_json::from_value::<redraft::view::Tree>(json).unwrap(), tree);
    let summary = engine.summary(handle.run()).await.unwrap();
    assert_eq!((summary.steps_done, summary.phase.as_deref()), (5, Some("formats/2/render")));
    assert_eq!(serde_json::to_value(&summary).unwrap()["gates"][0]["gate"], "publish");
}

#[tokio::test]
async fn replayed_steps_are_marked_as_such() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = crate::support::interrupted(&effects, false);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap().run();
    until(&effects, "second", 1).await;
    assert!(!engine.tree(run).await.unwrap().find("first").unwrap().replayed);
    drop(engine);
    let engine = on(&store, crate::support::interrupted(&effects, true)).open().await.unwrap();
    engine.handle(run).await.unwrap().outcome().await.unwrap();
    let tree = engine.tree(run).await.unwrap();
    assert!(tree.find("first").unwrap().replayed && !tree.find("second").unwrap().replayed, "{tree}");
    assert!(tree.to_string().contains("↺ first"));
}

#[tokio::test]
async fn events_are_followed_from_any_number_without_loss() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let counting = flow("counting", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            ctx.gate("begin", Question::new("?")).await?;
            for _ in 0..50 {
                log.step(&ctx, "count").await?;
            }
            Ok::<_, Failure>(())
        }
    });
    let engine = on(&store, counting.clone()).open().await.unwrap();
    let handle = engine.start(&counting, ()).await.unwrap();
    let mut following = engine.events(handle.run(), 0).await.unwrap();
    let follower = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(event) = following.next().await.unwrap() {
            seen.push(event.seq);
        }
        seen
    });
    handle.settled().await.unwrap();
    engine.answer(handle.run(), "begin", redraft::Answer::new("approve")).await.unwrap();
    handle.outcome().await.unwrap();
    let seen = follower.await.unwrap();
    let last = engine.summary(handle.run()).await.unwrap().events;
    assert_eq!(seen, (1..=last).collect::<Vec<_>>());
    let mut tail = engine.events(handle.run(), last - 2).await.unwrap();
    assert_eq!(tail.next().await.unwrap().unwrap().kind, "step_succeeded");
    let end = tail.next().await.unwrap().unwrap();
    assert_eq!((end.kind.as_str(), &end.details["status"]), ("run_finished", &json!("completed")));
    assert_eq!(tail.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_started_step_is_seen_before_it_ends() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = crate::support::interrupted(&effects, false);
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, ()).await.unwrap().run();
    let mut events = engine.events(run, 0).await.unwrap();
    let mut started = Vec::new();
    while started.len() < 2 {
        let event = events.next().await.unwrap().unwrap();
        if event.kind == "step_started" {
            started.push(event.path.unwrap().to_string());
        }
    }
    assert_eq!(started, ["first", "second"]);
}

#[tokio::test]
async fn lists_show_how_runs_ended() {
    let judged = flow("judged", |ctx: Ctx, conclusion: u32| async move {
        let summary = json!({"best_score": 0.9});
        ctx.summarize(summary.as_object().unwrap());
        ctx.conclude(match conclusion {
            0 => Conclusion::Completed,
            1 => Conclusion::Accepted,
            _ => Conclusion::Exhausted(Stop::IterationsSpent),
        });
        Ok::<_, Failure>(conclusion)
    });
    let engine = on(&MemoryStore::new(), judged.clone()).open().await.unwrap();
    for n in 0..3 {
        let outcome = engine.start(&judged, n).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.into_output().unwrap(), n);
    }
    let heads = engine.list(Query::default()).await.unwrap();
    let ends: Vec<_> = heads.iter().map(|head| (head.standing.status, head.standing.stop)).collect();
    let wanted = [
        (Status::Exhausted, Some(Stop::IterationsSpent)),
        (Status::Accepted, Some(Stop::Accepted)),
        (Status::Completed, None),
    ];
    assert_eq!(ends, wanted);
    assert_eq!(heads[0].standing.summary.as_deref(), Some("{\"best_score\":0.9}"));
    assert_eq!(kinds(&engine, heads[0].run).await, ["run_started", "run_finished"]);
}
