//! Two processes on one file: both work, neither harms the other.

use std::path::Path;
use std::process::{Command, Stdio};

use redraft::Status;
use redraft::store::{Query, SqliteStore};

use crate::support::{engine, lengths, writer};

const FILE: &str = "REDRAFT_SHARED_FILE";
const RUNS: usize = 20;

/// The other process. As a test of its own it has nothing to do and passes.
#[test]
fn other_process() {
    let Ok(path) = std::env::var(FILE) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work(Path::new(&path)));
}

async fn work(path: &Path) {
    let engine = engine(path).await;
    let mut handles = Vec::new();
    for _ in 0..RUNS {
        handles.push(engine.start(&writer(), 10).await.unwrap());
    }
    for handle in handles {
        assert_eq!(handle.outcome().await.unwrap().into_output().unwrap(), 10);
    }
    assert_eq!(engine.refused(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared.db");
    let mut children: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "processes::other_process"])
                .env(FILE, &path)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    work(&path).await;
    for child in &mut children {
        assert!(child.wait().unwrap().success(), "the other process failed");
    }
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(lengths(&store).await.len(), 3 * RUNS);
    let looking = engine(&path).await;
    let done = Query { status: vec![Status::Completed], ..Query::default() };
    assert_eq!(looking.list(done).await.unwrap().len(), 3 * RUNS);
}
