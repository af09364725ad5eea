//! Who holds what: one file under several names, and a file that somebody else keeps locked.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use redraft::Engine;
use redraft::store::SqliteStore;
use redraft::store::sqlite::SqliteOptions;

use crate::support::{stuck, writer};

/// Drives a run on `store`, and looks whether an engine that comes by another name of the same file lets it be.
async fn is_left_alone(store: SqliteStore, other_name: &Path) {
    let first = Engine::on(store).workflow(stuck()).open().await.unwrap();
    let run = first.start(&stuck(), ()).await.unwrap().run();
    let second = Engine::on(SqliteStore::open(other_name).unwrap()).workflow(stuck()).open().await.unwrap();
    assert!(first.driving().contains(&run));
    assert_eq!(second.driving(), [], "`{}` was taken for another file", other_name.display());
    assert_eq!(second.resume(run).await.unwrap_err().code(), "run-held");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_is_the_same_by_whatever_name_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.db");
    let (link, inside) = (folder.path().join("link.db"), folder.path().join("inside"));
    drop(SqliteStore::open(&real).unwrap());
    std::os::unix::fs::symlink(&real, &link).unwrap();
    std::fs::create_dir(&inside).unwrap();
    is_left_alone(SqliteStore::open(&real).unwrap(), &link).await;
    is_left_alone(SqliteStore::open(&link).unwrap(), &real).await;
    is_left_alone(SqliteStore::open(&real).unwrap(), &inside.join("../real.db")).await;
}

const WANDERS: &str = "REDRAFT_WANDERING_TEST";

/// A process that goes elsewhere after it has opened a file by a relative name. As a test of its own it has nothing to do
/// and passes.
#[tokio::test]
async fn wandering_process() {
    let Ok(folder) = std::env::var(WANDERS) else { return };
    let store = SqliteStore::open("here.db").unwrap();
    std::env::set_current_dir("elsewhere").unwrap();
    is_left_alone(store, &Path::new(&folder).join("here.db")).await;
}

/// In a process of its own, because the folder belongs to the whole process.
#[test]
fn a_relative_name_means_the_same_after_the_process_has_gone_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::wandering_process"])
        .current_dir(folder.path())
        .env(WANDERS, folder.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(ended.success(), "see above for what it said");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_who_wait_for_a_locked_file_wait_together() {
    const RUNS: u32 = 20;
    const PATIENCE: Duration = Duration::from_millis(300);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locked.db");
    let mut options = SqliteOptions::default();
    options.busy_timeout = PATIENCE;
    let store = SqliteStore::open_with(&path, &options).unwrap();
    let engine = Engine::on(store).workflow(writer()).open().await.unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let starts = (0..RUNS).map(|_| {
        let engine = engine.clone();
        tokio::spawn(async move { engine.start(&writer(), 1).await.map(drop) })
    });
    let starts = futures_util::future::join_all(starts.collect::<Vec<_>>());
    // One after the other they would need twice as long.
    let told =
        tokio::time::timeout(PATIENCE * RUNS / 2, starts).await.expect("they waited one after the other");
    for told in told {
        assert_eq!(told.unwrap().unwrap_err().code(), "store-busy");
    }
    other.execute_batch("ROLLBACK").unwrap();
    let run = engine.start(&writer(), 1).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap(), 1);
}
