//! What several tests need: a log of effects, and engines that are quick to open.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redraft::store::MemoryStore;
use redraft::{Backoff, Ctx, Definition, Engine, EngineBuilder, Failure, Policy, RunId, flow};

/// What steps did to the world, in order.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<Vec<String>>>);

impl Effects {
    pub(crate) fn happen(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|happened| *happened == what).count()
    }

    /// A step that happens and returns its name.
    pub(crate) async fn step(&self, ctx: &Ctx, name: &'static str) -> Result<String, Failure> {
        let effects = self.clone();
        ctx.step(name, || async {
            effects.happen(name);
            Ok::<_, Failure>(name.to_owned())
        })
        .await
    }
}

/// Tries again at once, so that tests do not wait.
pub(crate) fn impatient() -> Policy {
    let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
    Policy { attempts: 3, backoff, timeout: None }
}

pub(crate) fn on(store: &MemoryStore, definition: impl Definition) -> EngineBuilder {
    Engine::on(store.clone()).workflow(definition).policy(impatient())
}

/// The types of events of a run, in order, without the ones that say who drives.
pub(crate) async fn kinds(engine: &Engine, run: RunId) -> Vec<String> {
    let mut events = engine.events(run, 0).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        kinds.push(event.kind);
    }
    kinds
}

/// Two steps with a restart between them: the second one does not end in the first life.
pub(crate) fn interrupted(effects: &Effects, second_ends: bool) -> redraft::Flow<(), String> {
    let effects = effects.clone();
    flow("interrupted", move |ctx: Ctx, ()| {
        let effects = effects.clone();
        async move {
            let first = effects.step(&ctx, "first").await?;
            let second = ctx
                .step("second", || async {
                    effects.happen("second");
                    if !second_ends {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Failure>("second".to_owned())
                })
                .await?;
            Ok(format!("{first} {second}"))
        }
    })
}

/// Waits until something has happened so often.
pub(crate) async fn until(effects: &Effects, what: &str, times: usize) {
    while effects.count(what) < times {
        tokio::task::yield_now().await;
    }
}
