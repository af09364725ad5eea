//! Two processes on one file: both work, neither harms the other.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use redraft::store::{Query, SqliteStore};
use redraft::{Ctx, Engine, Failure, Flow, RunId, Status, flow};

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

const FOLDER: &str = "REDRAFT_HELD_FOLDER";

/// Two steps; whoever carries one out leaves a line in a file. The second one ends or does not.
fn two_steps(folder: &Path, second_ends: bool) -> Flow<(), String> {
    let effects = folder.join("effects");
    flow("two-steps", move |ctx: Ctx, ()| {
        let effects = effects.clone();
        async move {
            let happen = |what: &'static str| {
                let file = OpenOptions::new().create(true).append(true).open(&effects);
                async move { file.and_then(|mut file| writeln!(file, "{what}")) }
            };
            ctx.step("first", || happen("first")).await?;
            let run = ctx.run();
            ctx.step("second", || async {
                happen("second").await?;
                if !second_ends {
                    let mut out = std::io::stdout();
                    writeln!(out, "holds {run}").and_then(|()| out.flush())?;
                    std::future::pending::<()>().await;
                }
                Ok::<_, std::io::Error>(())
            })
            .await?;
            Ok::<_, Failure>("both".to_owned())
        }
    })
}

async fn on(folder: &Path, workflow: Flow<(), String>) -> Engine {
    let store = SqliteStore::open(folder.join("held.db")).unwrap();
    Engine::on(store).workflow(workflow).open().await.unwrap()
}

/// The process that holds a run and never lets go of it. As a test of its own it has nothing to do and passes.
#[test]
fn holding_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let workflow = two_steps(Path::new(&folder), false);
        let engine = on(Path::new(&folder), workflow.clone()).await;
        engine.start(&workflow, ()).await.unwrap().outcome().await.unwrap();
    });
}

/// A process that does not outlive the test.
struct Holder(Child);

impl Holder {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may be dead already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn hold(folder: &Path) -> (Holder, RunId) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::holding_process", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut holder = Holder(child);
    // The test runner's own words share the stream.
    let mut lines = BufReader::new(holder.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let run = lines.find_map(|line| line.split_once("holds ").map(|(_, run)| run.parse().unwrap()));
    // Nothing if the other process ended before it held a run.
    (holder, run.unwrap())
}

#[tokio::test]
async fn a_run_belongs_to_the_process_that_drives_it_until_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut holder, run) = hold(folder.path());
    let engine = on(folder.path(), two_steps(folder.path(), true)).await;
    assert_eq!(engine.driving(), [], "a run was taken from a living process");
    assert_eq!(engine.resume(run).await.unwrap_err().code(), "run-held");
    holder.kill();
    let outcome = engine.resume(run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.into_output().unwrap(), "both");
    assert_eq!(fs::read_to_string(folder.path().join("effects")).unwrap(), "first\nsecond\nsecond\n");
}
