//! Two engines on one store.

use redraft::store::{MemoryStore, SqliteStore, Store};
use redraft::{Engine, Failure};

use crate::support::{Effects, impatient, interrupted, until};

async fn exactly_one_drives(store: impl Store + Clone) {
    let effects = Effects::default();
    let stuck = interrupted(&effects, false);
    let open = |workflow| Engine::on(store.clone()).workflow(workflow).policy(impatient()).open();
    let first = open(stuck.clone()).await.unwrap();
    let handle = first.start(&stuck, ()).await.unwrap();
    // Until the beginning of the step is written too: then the first engine has nothing left to write by itself, and so
    // no way to find out on its own that it lost the run.
    let is_second = |event: &redraft::view::Event| event.path == Some(redraft::Path::new("second"));
    let mut events = first.events(handle.run(), 0).await.unwrap();
    while !is_second(&events.next().await.unwrap().unwrap()) {}

    let second = open(interrupted(&effects, true)).await.unwrap();
    assert!(second.driving().is_empty(), "the second engine took a run that is being driven");
    let error = second.resume(handle.run()).await.unwrap_err();
    assert_eq!(error.code(), "run-held");

    let seized = second.seize(handle.run()).await.unwrap();
    assert_eq!(seized.outcome().await.unwrap().into_output().unwrap(), "first second");
    assert_eq!(effects.all(), ["first", "second", "second"]);
    let events = second.summary(handle.run()).await.unwrap().events;
    // The first engine does not know yet; whatever it writes is refused.
    let error = first.cancel(handle.run(), "I think I drive it", "first").await.unwrap_err();
    assert_eq!(error.code(), "run-fenced");
    assert_eq!(handle.outcome().await.unwrap_err().code(), "run-fenced");
    assert_eq!(second.summary(handle.run()).await.unwrap().events, events);
}

#[tokio::test]
async fn the_appends_of_a_stale_driver_are_refused() {
    exactly_one_drives(MemoryStore::new()).await;
    let folder = tempfile::tempdir().unwrap();
    exactly_one_drives(SqliteStore::open(folder.path().join("race.db")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn engines_that_open_at_once_share_the_orphans_among_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.db");
    let effects = Effects::default();
    let stuck = interrupted(&effects, false);
    let engine = Engine::on(SqliteStore::open(&path).unwrap()).workflow(stuck.clone()).open().await.unwrap();
    for _ in 0..20 {
        engine.start(&stuck, ()).await.unwrap();
    }
    until(&effects, "second", 20).await;
    drop(engine);
    let openings = (0..6).map(|_| {
        let (path, effects) = (path.clone(), effects.clone());
        tokio::spawn(async move {
            let store = SqliteStore::open(path).unwrap();
            Engine::on(store).workflow(interrupted(&effects, true)).open().await.unwrap()
        })
    });
    let mut engines = Vec::new();
    for opening in openings.collect::<Vec<_>>() {
        engines.push(opening.await.unwrap());
    }
    for head in engines[0].list(redraft::store::Query::default()).await.unwrap() {
        let outcome = engines[0].handle(head.run).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.into_output().map_err(|failure: Failure| failure), Ok("first second".into()));
    }
    assert_eq!((effects.count("first"), effects.count("second")), (20, 40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_is_resumed_by_many_at_once_is_driven_once() {
    for _ in 0..20 {
        let (store, effects) = (MemoryStore::new(), Effects::default());
        let stuck = interrupted(&effects, false);
        let engine = Engine::on(store.clone()).workflow(stuck.clone()).open().await.unwrap();
        let run = engine.start(&stuck, ()).await.unwrap().run();
        until(&effects, "second", 1).await;
        drop(engine);
        let builder = Engine::on(store).workflow(interrupted(&effects, true)).without_resuming();
        let engine = builder.open().await.unwrap();
        let resumed: Vec<_> = (0..8)
            .map(|_| {
                let engine = engine.clone();
                tokio::spawn(async move { engine.resume(run).await?.outcome().await })
            })
            .collect();
        for resumed in resumed {
            match resumed.await.unwrap() {
                Ok(outcome) => assert_eq!(outcome.into_output().unwrap(), "first second"),
                // It was over before this one had its turn.
                Err(error) => assert_eq!(error.code(), "run-ended"),
            }
        }
        assert_eq!(effects.all(), ["first", "second", "second"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_that_is_used_by_many_at_once_makes_one_run_that_is_driven_once() {
    let folder = tempfile::tempdir().unwrap();
    let effects = Effects::default();
    let workflow = interrupted(&effects, true);
    let store = SqliteStore::open(folder.path().join("key.db")).unwrap();
    let engine = Engine::on(store).workflow(workflow.clone()).open().await.unwrap();
    for n in 0..20 {
        let starts: Vec<_> = (0..6)
            .map(|_| {
                let (engine, workflow) = (engine.clone(), workflow.clone());
                let start = redraft::Start::default().key(format!("key-{n}"));
                tokio::spawn(async move { engine.start_with(&workflow, (), start).await?.outcome().await })
            })
            .collect();
        for start in starts {
            assert_eq!(start.await.unwrap().unwrap().into_output().unwrap(), "first second");
        }
        assert_eq!(effects.count("first"), n + 1);
    }
}

#[tokio::test]
async fn a_start_whose_caller_walks_off_is_still_driven() {
    let folder = tempfile::tempdir().unwrap();
    let effects = Effects::default();
    let workflow = interrupted(&effects, true);
    let store = SqliteStore::open(folder.path().join("walk.db")).unwrap();
    let engine = Engine::on(store).workflow(workflow.clone()).open().await.unwrap();
    {
        let start = engine.start(&workflow, ());
        tokio::pin!(start);
        let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(start.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
    }
    until(&effects, "second", 1).await;
    let heads = engine.list(redraft::store::Query::default()).await.unwrap();
    let outcome = engine.handle(heads[0].run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), "first second");
}

#[tokio::test]
async fn an_engine_that_is_shut_down_lets_go_of_everything() {
    let held = std::sync::Arc::new(());
    for n in 0..20 {
        let mark = std::sync::Arc::clone(&held);
        let busy = redraft::flow("busy", move |ctx: redraft::Ctx, ()| {
            let _mark = std::sync::Arc::clone(&mark);
            async move {
                ctx.note("a note waits to be written").await;
                ctx.step("stuck", std::future::pending::<Result<(), Failure>>).await
            }
        });
        let engine = Engine::on(MemoryStore::new()).workflow(busy.clone()).open().await.unwrap();
        let run = engine.start(&busy, ()).await.unwrap();
        if n % 2 == 0 {
            engine.shut_down().await;
        }
        drop((engine, busy));
        run.outcome().await.unwrap_err();
    }
    while std::sync::Arc::strong_count(&held) > 1 {
        tokio::task::yield_now().await;
    }
}
