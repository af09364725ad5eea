//! What is refused, with which code, and that it harms nothing.

use redraft::store::MemoryStore;
use redraft::{Ctx, Engine, Failure, RunId, flow};
use serde_json::json;

use crate::support::on;

#[tokio::test]
async fn names_that_cannot_be_paths_are_refused_where_they_are_used() {
    let named = flow("named", |ctx: Ctx, name: String| async move {
        let step = ctx.step(name.clone(), || async { Ok::<_, Failure>(()) }).await;
        let group = ctx.group(&name).step("inside", || async { Ok::<_, Failure>(()) }).await;
        let gate = ctx.gate(&name, redraft::Question::new("?")).await.map(drop);
        let items =
            ctx.parallel(&name, [1], 1, |ctx, _| async move { ctx.sleep(std::time::Duration::ZERO).await });
        let items = items.await.remove(0);
        let codes = [step, group, gate, items].map(|result| result.unwrap_err().code);
        Ok::<_, Failure>(codes.to_vec())
    });
    let engine = on(&MemoryStore::new(), named.clone()).open().await.unwrap();
    for name in ["", "a/b", "a#2", "a\u{7}", " a", &"x".repeat(300)] {
        let outcome = engine.start(&named, name.to_owned()).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.into_output().unwrap(), ["bad-name"; 4], "{name:?}");
    }
}

#[tokio::test]
async fn an_engine_is_not_opened_with_workflows_it_could_mix_up() {
    let make = |name: &str| flow(name, |_: Ctx, ()| async { Ok::<_, Failure>(()) });
    let error = on(&MemoryStore::new(), make("bad/name")).open().await.unwrap_err();
    assert_eq!(error.code(), "bad-name");
    let error = on(&MemoryStore::new(), make("twice")).workflow(make("twice")).open().await.unwrap_err();
    assert_eq!(error.code(), "duplicate-workflow");
}

#[tokio::test]
async fn a_start_that_cannot_work_makes_no_run() {
    let essay = flow("essay", |_: Ctx, n: u32| async move { Ok::<_, Failure>(n) });
    let stranger = flow("esay", |_: Ctx, ()| async { Ok::<_, Failure>(()) });
    let engine = on(&MemoryStore::new(), essay).open().await.unwrap();
    let error = engine.start(&stranger, ()).await.unwrap_err();
    assert_eq!(error.code(), "unknown-workflow");
    assert!(error.to_string().ends_with("did you mean `essay`?"), "{error}");
    let error =
        engine.start_named("essay", &json!("not a number"), redraft::Start::default()).await.unwrap_err();
    assert_eq!(error.code(), "does-not-fit");
    assert_eq!(engine.list(redraft::store::Query::default()).await.unwrap(), []);
    let named = engine.start_named("essay", &json!(7), redraft::Start::default()).await.unwrap();
    assert_eq!(named.outcome().await.unwrap().into_output().unwrap(), json!(7));
}

#[tokio::test]
async fn a_run_that_does_not_exist_is_said_not_to() {
    let engine = Engine::on(MemoryStore::new()).open().await.unwrap();
    let run = RunId::new();
    let errors = [
        engine.handle(run).await.map(drop).unwrap_err(),
        engine.resume(run).await.map(drop).unwrap_err(),
        engine.tree(run).await.map(drop).unwrap_err(),
        engine.events(run, 0).await.map(drop).unwrap_err(),
        engine.cancel(run, "x", "y").await.map(drop).unwrap_err(),
        engine.rerun(run).await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "run-not-found");
    }
}

#[tokio::test]
async fn a_loop_that_may_run_zero_times_is_refused() {
    let zero = flow("zero", |ctx: Ctx, ()| async move {
        ctx.repeat_until("never", 0, (), |()| true, |_, ()| async { Ok(()) }).await.map(drop)
    });
    let engine = on(&MemoryStore::new(), zero.clone()).open().await.unwrap();
    let outcome = engine.start(&zero, ()).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap_err().code, "zero-cap");
}

#[tokio::test]
async fn what_is_recorded_in_a_group_with_a_bad_name_does_not_get_mixed_up_with_the_rest() {
    let store = MemoryStore::new();
    let odd = flow("odd", |ctx: Ctx, ()| async move {
        let bad = ctx.group("a/b");
        let dice =
            (bad.random().await, bad.random().await, ctx.random().await, ctx.group("c/d").random().await);
        let none = ctx.try_parallel("e/f", [1, 2], 1, |ctx, _| async move {
            ctx.group("x").sleep(std::time::Duration::ZERO).await
        });
        assert_eq!(none.await.unwrap_err().code, "bad-name");
        ctx.gate("go-on", redraft::Question::new("?")).await?;
        Ok::<_, Failure>(dice)
    });
    let engine = on(&store, odd.clone()).open().await.unwrap();
    let run = engine.start(&odd, ()).await.unwrap();
    run.settled().await.unwrap();
    drop(engine);
    let engine = on(&store, odd).open().await.unwrap();
    let handle = engine.handle(run.run()).await.unwrap();
    handle.settled().await.unwrap();
    engine.answer(run.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
    handle.outcome().await.unwrap().into_output().unwrap();
}
