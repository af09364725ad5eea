//! New runs from old ones.

use redraft::store::MemoryStore;
use redraft::{Ctx, Failure, ForkAt, Path, Step, flow};

use crate::support::{Effects, on};

fn essay(effects: &Effects, critic: &'static str) -> redraft::Flow<String, String> {
    let effects = effects.clone();
    flow("essay", move |ctx: Ctx, topic: String| {
        let effects = effects.clone();
        async move {
            effects.step(&ctx, "draft").await?;
            let round = ctx.group("round");
            let critique = round
                .step(Step::named("critique").input(critic), || async {
                    effects.happen("critique");
                    Ok::<_, Failure>(critic.to_owned())
                })
                .await?;
            effects.step(&ctx, "publish").await?;
            Ok(format!("{topic}: {critique}"))
        }
    })
}

#[tokio::test]
async fn a_fork_keeps_the_prefix_for_free_and_does_the_rest_anew() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let old = essay(&effects, "mild");
    let engine = on(&store, old.clone()).open().await.unwrap();
    let first = engine.start(&old, "tides".to_owned()).await.unwrap();
    assert_eq!(first.outcome().await.unwrap().into_output().unwrap(), "tides: mild");
    drop(engine);

    // A changed definition is no obstacle: the fork runs under the newest one.
    let engine = on(&store, essay(&effects, "harsh")).open().await.unwrap();
    let at = ForkAt::Step(Path::new("round/critique"));
    let plan = engine.plan_fork(first.run(), &at).await.unwrap();
    assert_eq!(plan.keeps, [Path::new("draft")]);
    assert_eq!(plan.repeats, [Path::new("round/critique"), Path::new("publish")]);
    let forked = engine.fork(first.run(), &at).await.unwrap();
    assert_eq!(forked.outcome().await.unwrap().into_output().unwrap(), "tides: harsh");
    assert_eq!(effects.count("draft"), 1);
    assert_eq!(effects.count("critique"), 2);
    let summary = engine.summary(forked.run()).await.unwrap();
    let origin = summary.origin.unwrap();
    assert_eq!((origin.by.as_str(), origin.run), ("fork", first.run()));
    let tree = engine.tree(forked.run()).await.unwrap();
    assert!(tree.find("draft").unwrap().replayed && !tree.find("publish").unwrap().replayed, "{tree}");
    let old = engine.handle(first.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(old.into_output().unwrap(), "tides: mild");
}

#[tokio::test]
async fn a_rerun_pays_for_everything_again() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = essay(&effects, "mild");
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let first = engine.start(&workflow, "tides".to_owned()).await.unwrap();
    first.outcome().await.unwrap();
    let again = engine.rerun(first.run()).await.unwrap();
    assert_ne!(again.run(), first.run());
    assert_eq!(again.outcome().await.unwrap().into_output().unwrap(), "tides: mild");
    assert_eq!(effects.count("draft"), 2);
}

#[tokio::test]
async fn a_step_that_is_not_there_is_named_with_the_nearest_that_is() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = essay(&effects, "mild");
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, "tides".to_owned()).await.unwrap();
    run.outcome().await.unwrap();
    let error = engine.fork(run.run(), &ForkAt::Step(Path::new("round/critic"))).await.unwrap_err();
    assert_eq!(error.code(), "no-such-step");
    assert!(error.to_string().ends_with("did you mean `round/critique`?"), "{error}");
}

#[tokio::test]
async fn every_event_of_a_finished_run_can_be_forked_at() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = essay(&effects, "mild");
    let engine = on(&store, workflow.clone()).open().await.unwrap();
    let first = engine.start(&workflow, "tides".to_owned()).await.unwrap();
    first.outcome().await.unwrap();
    let events = engine.summary(first.run()).await.unwrap().events;
    for event in 0..=events + 3 {
        let forked = engine.fork(first.run(), &ForkAt::Event(event)).await.unwrap();
        assert_eq!(forked.outcome().await.unwrap().into_output().unwrap(), "tides: mild", "at event {event}");
    }
}

/// A run that failed, was reopened, failed again and was cancelled has every kind of event; each can be forked at.
#[tokio::test]
async fn a_run_with_a_past_can_be_forked_at_every_event() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let log = effects.clone();
    let eventful = flow("eventful", move |ctx: Ctx, ()| {
        let log = log.clone();
        async move {
            log.step(&ctx, "draft").await?;
            ctx.step("fragile", || async {
                log.happen("fragile");
                if log.count("fragile") < 3 { Err(Failure::from("not yet")) } else { Ok(()) }
            })
            .await?;
            let answer = ctx.gate("approve", redraft::Question::new("?")).await;
            log.step(&ctx.for_cleanup(), "tidy").await?;
            answer.map(|answer| answer.choice)
        }
    });
    let engine = on(&store, eventful.clone()).open().await.unwrap();
    let first = engine.start(&eventful, ()).await.unwrap();
    first.outcome().await.unwrap();
    engine.resume(first.run()).await.unwrap().outcome().await.unwrap();
    engine.resume(first.run()).await.unwrap().settled().await.unwrap();
    engine.cancel(first.run(), "enough", "ada").await.unwrap();
    let end = engine.handle(first.run()).await.unwrap().outcome().await.unwrap();
    assert_eq!(end.status(), redraft::Status::Cancelled);
    let events = engine.summary(first.run()).await.unwrap().events;
    for event in 1..=events {
        let at = ForkAt::Event(event);
        let mut forked = engine.fork(first.run(), &at).await.unwrap();
        loop {
            match forked.settled().await.unwrap().status() {
                redraft::Status::Waiting => {
                    let _ = engine.answer(forked.run(), "approve", redraft::Answer::new("approve")).await;
                }
                // A fork right behind a failure keeps it, and like any failed run it can be resumed.
                redraft::Status::Failed => forked = engine.resume(forked.run()).await.unwrap(),
                _ => break,
            }
        }
        let output = forked.outcome().await.unwrap().into_output();
        assert_eq!(output.unwrap(), "approve", "forked at event {event}");
    }
}
