//! A state to try things on, and steps that leave traces.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::workflow::{Action, State, Workflow, with_call};
use redraft::{Backoff, Call, Engine, EngineBuilder, Failure, Outcome, Policy};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
pub(crate) struct Trace {
    pub(crate) count: u32,
    pub(crate) note: Option<String>,
    #[state(append)]
    pub(crate) seen: Vec<String>,
}

/// A step that leaves its path in the state.
pub(crate) fn mark() -> impl Action<Trace> {
    with_call(|_: Arc<Trace>, call: Call| async move {
        Ok::<_, Failure>(Trace::update().append_seen(call.path.to_string()))
    })
}

/// A step that counts up.
pub(crate) fn count() -> impl Action<Trace> {
    with_call(|trace: Arc<Trace>, call: Call| async move {
        Ok::<_, Failure>(Trace::update().count(trace.count + 1).append_seen(call.path.to_string()))
    })
}

/// A step that fails for good.
pub(crate) fn fail() -> impl Action<Trace> {
    |_: Arc<Trace>| async { Err::<TraceUpdate, _>(Failure::terminal("broken", "it broke")) }
}

/// What happened outside of the state: survives failures.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A step that writes its path here.
    pub(crate) fn step(&self) -> impl Action<Trace> + use<> {
        let log = Arc::clone(&self.0);
        with_call(move |_: Arc<Trace>, call: Call| {
            let failure = call.failure.map(|failure| format!(" after {}", failure.code)).unwrap_or_default();
            log.lock().unwrap().push(format!("{}{failure}", call.path));
            async { Ok::<_, Failure>(Trace::update()) }
        })
    }
}

pub(crate) fn on(store: &MemoryStore, workflow: &Workflow<Trace>) -> EngineBuilder {
    let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
    Engine::on(store.clone()).workflow(workflow.clone()).policy(Policy { backoff, ..Policy::default() })
}

pub(crate) async fn run(workflow: &Workflow<Trace>) -> Outcome<Trace> {
    let engine = on(&MemoryStore::new(), workflow).open().await.unwrap();
    engine.start(workflow, Trace::default()).await.unwrap().outcome().await.unwrap()
}

pub(crate) async fn output(workflow: &Workflow<Trace>) -> Trace {
    run(workflow).await.into_output().unwrap()
}
