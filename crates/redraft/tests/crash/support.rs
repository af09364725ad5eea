//! Lives, and lives after a crash.
//!
//! A crash can leave any prefix of a journal behind and nothing else. So [`crash_everywhere`] runs a workflow once to its
//! end, cuts its journal after every single event, hands each piece to a fresh store, and lets a fresh engine finish
//! it. Whatever the workflow, every second life must come to the same end and do nothing again that was committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redraft::store::{Batch, MemoryStore, NewRun, Standing, Store};
use redraft::{
    Answer, Backoff, Call, Definition, Delivered, DriverId, Ending, Engine, EngineBuilder, Policy, RunId,
    Status, Timestamp,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// How often each step was carried out, by path.
pub(crate) type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

pub(crate) fn happened(effects: &Effects, call: &Call) {
    *effects.lock().unwrap().entry(call.path.to_string()).or_default() += 1;
}

/// Whoever sees this gate open asks the run to stop.
pub(crate) const STOP_HERE: &str = "stop-here";

/// What the person at the desk does about a run that has failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFailed {
    LeaveIt,
    Resume,
}

/// A run that has come to its end.
pub(crate) struct Life {
    pub(crate) ending: Ending<Value>,
    /// The whole journal, one text for each event.
    pub(crate) events: Vec<String>,
    /// What was carried out, in this life alone.
    pub(crate) effects: BTreeMap<String, u32>,
    /// How many of the events this life found.
    pub(crate) found: usize,
}

impl Life {
    /// The steps that succeeded, each as often as the journal says so, in order.
    pub(crate) fn succeeded(&self) -> Vec<String> {
        paths_of(&self.events, "step_succeeded")
    }

    /// The steps that had succeeded when this life began.
    pub(crate) fn committed(&self) -> BTreeSet<String> {
        paths_of(&self.events[..self.found], "step_succeeded").into_iter().collect()
    }

    pub(crate) fn done(&self) -> BTreeSet<String> {
        self.effects.keys().cloned().collect()
    }

    /// What was not committed is done, all of it and nothing else.
    pub(crate) fn does_the_rest_of(&self, first: &Self) {
        let all: BTreeSet<String> = first.succeeded().into_iter().collect();
        let rest: BTreeSet<String> = all.difference(&self.committed()).cloned().collect();
        assert_eq!(self.done(), rest, "after a crash behind event {}", self.found);
    }
}

/// Runs a workflow once without a crash, and once more for every event after which it can crash.
pub(crate) async fn crash_everywhere<D: Definition>(
    make: impl Fn(&Effects) -> D,
    input: D::Input,
    when_failed: WhenFailed,
) -> (Life, Vec<Life>) {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let whole = make(&effects);
    let engine = engine_on(&store, make(&effects)).open().await.unwrap();
    let run = engine.start(&whole, input).await.unwrap().run();
    let first = live(&engine, &store, run, &effects, 0, when_failed).await;
    drop(engine);

    let mut lives = Vec::new();
    for cut in 1..first.events.len() {
        let prefix = &first.events[..cut];
        let effects = Effects::default();
        let store = store_with(run, whole.name(), prefix).await;
        let engine = engine_on(&store, make(&effects)).open().await.unwrap();
        assert_eq!(engine.refused(), [], "after {cut} events");
        let second = live(&engine, &store, run, &effects, cut, when_failed).await;
        let crash = format!("after a crash behind event {cut}, {}", prefix[cut - 1]);
        assert_eq!(second.ending, first.ending, "another end {crash}");
        assert_eq!(second.events[..cut], *prefix, "the journal was rewritten {crash}");
        let committed = second.committed();
        for (path, times) in &second.effects {
            assert!(!committed.contains(path), "`{path}` was done again {crash}");
            assert_eq!(*times, 1, "`{path}` was done {times} times in one life {crash}");
        }
        // And again, from the journal that two lives have written.
        drop(engine);
        let effects = Effects::default();
        let engine = engine_on(&store, make(&effects)).open().await.unwrap();
        let third = live(&engine, &store, run, &effects, second.events.len(), WhenFailed::LeaveIt).await;
        assert_eq!(third.ending, first.ending, "another end when read again {crash}");
        assert_eq!(third.effects, BTreeMap::new());
        lives.push(second);
    }
    (first, lives)
}

async fn live(
    engine: &Engine,
    store: &MemoryStore,
    run: RunId,
    effects: &Effects,
    found: usize,
    when_failed: WhenFailed,
) -> Life {
    let ending = finish(engine, run, when_failed).await;
    let events = events_of(store, run).await;
    Life { ending, events, effects: effects.lock().unwrap().clone(), found }
}

/// Drives a run to its end: says yes to every question but one, and that is where it stops the run.
async fn finish(engine: &Engine, run: RunId, when_failed: WhenFailed) -> Ending<Value> {
    let end = async {
        loop {
            let handle = engine.handle(run).await.unwrap();
            match handle.settled().await.unwrap().ending {
                Ending::Waiting { gates } => {
                    for gate in gates {
                        let told = if gate.name() == STOP_HERE {
                            engine.cancel(run, "it came to the gate", "ada").await
                        } else {
                            engine.answer(run, gate.as_str(), Answer::new("approve").by("ada")).await
                        };
                        // An earlier look may have seen the same gate and dealt with it already. But a gate that
                        // seems to be open and that nobody waits at was left behind.
                        assert_ne!(told, Ok(Delivered::Left), "nobody waits at `{gate}`");
                    }
                }
                Ending::Failed(_) if when_failed == WhenFailed::Resume => {
                    engine.resume(run).await.unwrap();
                }
                end => return end,
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(10), end).await;
    ended.unwrap_or_else(|_| panic!("`{run}` came to no end"))
}

fn engine_on(store: &MemoryStore, definition: impl Definition) -> EngineBuilder {
    let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
    let patience = Policy { attempts: 4, backoff, timeout: None };
    Engine::on(store.clone()).workflow(definition).policy(patience)
}

/// Splits a journal into the texts of its events.
async fn events_of(store: &MemoryStore, run: RunId) -> Vec<String> {
    let batches = store.read(run, 0).await.unwrap();
    let events =
        batches.iter().flat_map(|batch| serde_json::from_str::<Vec<Box<RawValue>>>(&batch.text).unwrap());
    events.map(|event| event.get().to_owned()).collect()
}

/// Makes a store that holds nothing but the first events of a run.
async fn store_with(run: RunId, workflow: &str, events: &[String]) -> MemoryStore {
    let store = MemoryStore::new();
    let batch = Batch {
        first: 1,
        count: u32::try_from(events.len()).unwrap(),
        text: format!("[{}]", events.join(",")),
    };
    let new = NewRun {
        run,
        workflow: workflow.to_owned(),
        version: 1,
        key: None,
        created_at: Timestamp::EPOCH,
        standing: standing_after(events),
        // A driver that has never attached is as dead as one that was killed.
        driver: DriverId::new(),
        batch,
    };
    store.create(new).await.unwrap();
    store
}

/// The end of a run, and its reopening, are told to the store in the same act in which they are written.
fn standing_after(events: &[String]) -> Standing {
    let mut events = events.iter().map(|event| parsed(event));
    let last = events.rfind(|event| event["type"] == "run_finished" || event["type"] == "run_reopened");
    match last {
        Some(event) if event["type"] == "run_finished" => {
            let status = Status::from_word(event["status"].as_str().unwrap()).unwrap();
            Standing { finished_at: Some(Timestamp::EPOCH), ..Standing::unfinished(status) }
        }
        _ => Standing::unfinished(Status::Running),
    }
}

/// The paths of all events of a kind, in order.
fn paths_of(events: &[String], kind: &str) -> Vec<String> {
    let events = events.iter().map(|event| parsed(event)).filter(|event| event["type"] == kind);
    events.map(|event| event["path"].as_str().unwrap().to_owned()).collect()
}

fn parsed(event: &str) -> Value {
    serde_json::from_str(event).unwrap()
}
