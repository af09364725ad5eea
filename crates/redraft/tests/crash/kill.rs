//! `kill -9` of a real process, two hundred times over one long run.
//!
//! The child drives an endless loop on a SQLite file. Each step first writes a line to a file of effects; when a step has
//! returned, and so is on disk, the child says so on its standard output. The parent kills it at a random moment,
//! opens the file, and compares: what was said to be done is in the journal; what is in the journal is never done
//! again; the journal only grows.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redraft::store::{Query, SqliteStore, Store};
use redraft::{Ctx, Engine, Failure, RunId, Status, flow};
use serde_json::Value;

const KILLS: u32 = 200;
const FOLDER: &str = "REDRAFT_KILL_TEST_FOLDER";

/// The child. As a test of its own it has nothing to do and passes.
#[test]
fn child_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(drive(Path::new(&folder)));
}

fn endless(folder: &Path) -> redraft::Flow<(), u32> {
    let effects = folder.join("effects");
    flow("endless", move |ctx: Ctx, ()| {
        let effects = effects.clone();
        async move {
            let say = |line: String| {
                let mut out = std::io::stdout().lock();
                // The parent may be gone; then we shall be too.
                let _ = writeln!(out, "done {line}").and_then(|()| out.flush());
            };
            let step = |ctx: Ctx, name: &'static str| {
                let effects = effects.clone();
                async move {
                    let fresh = AtomicBool::new(false);
                    let done = ctx
                        .step_with(name, |call| {
                            let effects = effects.clone();
                            fresh.store(true, Ordering::Relaxed);
                            async move {
                                let mut file = OpenOptions::new().create(true).append(true).open(&effects)?;
                                writeln!(file, "{}", call.path)?;
                                // Slow enough that two hundred lives fit into one run.
                                work_a_little().await;
                                Ok::<_, std::io::Error>(call.path.to_string())
                            }
                        })
                        .await?;
                    // What is replayed was said in an earlier life.
                    if fresh.load(Ordering::Relaxed) {
                        say(done);
                    }
                    Ok::<_, Failure>(())
                }
            };
            let rounds = ctx.group("rounds");
            for n in 1..=1_000_000 {
                let round = rounds.iteration(n);
                step(round.clone(), "critique").await?;
                let both = round.parallel("both", ["left", "right"], 2, &step).await;
                both.into_iter().collect::<Result<Vec<()>, _>>()?;
            }
            Ok::<_, Failure>(0)
        }
    })
}

#[expect(clippy::disallowed_methods, reason = "real time passes while real work is done")]
async fn work_a_little() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

async fn drive(folder: &Path) {
    let store = SqliteStore::open(folder.join("kill.db")).unwrap();
    let workflow = endless(folder);
    let engine = Engine::on(store).workflow(workflow.clone()).open().await.unwrap();
    assert_eq!(engine.refused(), []);
    if engine.driving().is_empty() {
        engine.start(&workflow, ()).await.unwrap();
    }
    std::future::pending::<()>().await;
}

/// What the parent knows after some deaths.
#[derive(Default)]
struct Known {
    last_event: u64,
    done: HashSet<String>,
    effects_read: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_kills_lose_nothing_and_repeat_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = Known::default();
    let mut run: Option<RunId> = None;
    for life in 0..KILLS {
        let said = live_and_die(folder.path(), life);
        let store = SqliteStore::open(folder.path().join("kill.db")).expect("the file always opens");
        let run = match run {
            Some(run) => run,
            None => {
                let heads = store.list(Query::default()).await.unwrap();
                let Some(head) = heads.first() else { continue };
                *run.insert(head.run)
            }
        };
        // What the last life did must not have been done before it.
        for path in new_effects(folder.path(), &mut known) {
            assert!(!known.done.contains(&path), "`{path}` was done again in life {life}");
        }
        for event in new_events(&store, run, &mut known).await {
            if event["type"] == "step_succeeded" {
                known.done.insert(event["path"].as_str().unwrap().to_owned());
            }
        }
        for path in said {
            assert!(
                known.done.contains(&path),
                "`{path}` was said to be done in life {life} and is not in the journal"
            );
        }
    }
    let run = run.expect("a run was started");
    assert!(known.done.len() > KILLS as usize, "only {} steps in {KILLS} lives", known.done.len());

    // The run is still whole: it can be read, resumed and ended.
    let store = SqliteStore::open(folder.path().join("kill.db")).unwrap();
    let engine = Engine::on(store).workflow(endless(folder.path())).open().await.unwrap();
    assert_eq!(engine.refused(), []);
    engine.cancel(run, "enough", "the parent").await.unwrap();
    let outcome = engine.handle(run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Cancelled);
    assert!(engine.summary(run).await.unwrap().resumed >= KILLS / 2);
}

/// Lets a child live for a random while after its first word, kills it, and returns what it said was done.
fn live_and_die(folder: &Path, life: u32) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_process", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    let hear = |lines: &mut BufReader<_>, said: &mut Vec<String>| {
        let mut line = String::new();
        let heard = lines.read_line(&mut line).unwrap_or(0) > 0 && line.ends_with('\n');
        // The test runner's own words share the stream.
        said.extend(line.trim_end().split_once("done ").map(|(_, path)| path.to_owned()));
        heard
    };
    if life.is_multiple_of(10) {
        // Sometimes before it has said anything: in the middle of opening.
        std::thread::sleep(Duration::from_millis(u64::from(life % 37)));
    } else {
        while said.is_empty() && hear(&mut lines, &mut said) {}
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..15_000)));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while hear(&mut lines, &mut said) {}
    said
}

fn new_effects(folder: &Path, known: &mut Known) -> Vec<String> {
    let Ok(mut file) = File::open(folder.join("effects")) else { return Vec::new() };
    file.seek(std::io::SeekFrom::Start(known.effects_read)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    known.effects_read += text.len() as u64;
    text.lines().map(str::to_owned).collect()
}

async fn new_events(store: &SqliteStore, run: RunId, known: &mut Known) -> Vec<Value> {
    let mut events = Vec::new();
    for batch in store.read(run, known.last_event).await.unwrap() {
        assert_eq!(batch.first, known.last_event + 1, "the journal has a gap or was rewritten");
        known.last_event = batch.last();
        events.extend(serde_json::from_str::<Vec<Value>>(&batch.text).unwrap());
    }
    events
}
