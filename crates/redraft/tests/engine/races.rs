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
    until(&effects, "second", 1).await;

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
