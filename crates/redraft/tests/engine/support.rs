//! What several tests need: a log of effects, engines that are quick to open, and a disk that is slow.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redraft::store::{
    Append, Batch, Claim, Claimed, Created, Head, Lease, MemoryStore, Message, NewRun, Query, Reply, Store,
};
use redraft::{Backoff, Ctx, Definition, DriverId, Engine, EngineBuilder, Failure, Policy, RunId, flow};
use tokio::sync::watch;

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

pub(crate) fn on(store: &(impl Store + Clone), definition: impl Definition) -> EngineBuilder {
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
    let happening = async {
        while effects.count(what) < times {
            tokio::task::yield_now().await;
        }
    };
    // Generous: it is there to fail a test that would never end, not to measure it.
    let happened = tokio::time::timeout(Duration::from_secs(60), happening).await;
    assert!(happened.is_ok(), "{what} did not happen {times} times: {:?}", effects.all());
}

/// Lets everything that can happen by itself happen.
pub(crate) async fn all_quiet() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

/// Waits for something that is about to happen, and says who waited in vain if it does not.
#[track_caller]
pub(crate) fn soon<T>(what: impl Future<Output = T>) -> impl Future<Output = T> {
    let who = std::panic::Location::caller();
    async move {
        let happened = tokio::time::timeout(Duration::from_secs(10), what).await;
        happened.unwrap_or_else(|_| panic!("it did not happen; waited for at {who}"))
    }
}

/// A store that takes its time over events of one kind: they have their place in the journal at once, but until it is
/// told to go on it neither tells whoever waits for them nor shows them to readers.
#[derive(Clone, Debug)]
pub(crate) struct SlowDisk {
    disk: MemoryStore,
    kind: &'static str,
    /// The first batch of that kind that is being written.
    begun: Arc<watch::Sender<Option<(RunId, u64)>>>,
    goes_on: Arc<watch::Sender<bool>>,
}

impl SlowDisk {
    /// Makes one that is slow to write events of this type.
    pub(crate) fn at(kind: &'static str) -> Self {
        Self {
            disk: MemoryStore::new(),
            kind,
            begun: Arc::new(watch::Sender::new(None)),
            goes_on: Arc::new(watch::Sender::new(false)),
        }
    }

    /// What a crash would leave behind if it fell between the writing and the telling.
    pub(crate) fn disk(&self) -> &MemoryStore {
        &self.disk
    }

    /// Waits until it is at it.
    pub(crate) async fn is_writing(&self) {
        soon(self.begun.subscribe().wait_for(Option::is_some)).await.unwrap();
    }

    pub(crate) fn go_on(&self) {
        self.goes_on.send_replace(true);
    }
}

impl Store for SlowDisk {
    fn durability(&self) -> &'static str {
        self.disk.durability()
    }
    fn attach(&self) -> Reply<'_, Lease> {
        self.disk.attach()
    }
    fn create(&self, new: NewRun) -> Reply<'_, Created> {
        self.disk.create(new)
    }
    fn append(&self, append: Append) -> Reply<'_, ()> {
        let is_slow = append.batch.text.contains(self.kind);
        let at = (append.run, append.batch.first);
        let written = self.disk.append(append);
        if !is_slow {
            return written;
        }
        self.begun.send_modify(|begun| *begun = begun.or(Some(at)));
        let mut goes_on = self.goes_on.subscribe();
        Box::pin(async move {
            // The sender lives as long as we do, so this cannot fail.
            let _ = goes_on.wait_for(|goes_on| *goes_on).await;
            written.await
        })
    }
    fn claim(&self, claim: Claim) -> Reply<'_, Vec<Claimed>> {
        self.disk.claim(claim)
    }
    fn release(&self, claims: Vec<Claimed>) -> Reply<'_, ()> {
        self.disk.release(claims)
    }
    fn read(&self, run: RunId, after: u64) -> Reply<'_, Vec<Batch>> {
        let hidden = self.begun.borrow().filter(|(slow, _)| *slow == run && !*self.goes_on.borrow());
        Box::pin(async move {
            let mut batches = self.disk.read(run, after).await?;
            batches.retain(|batch| hidden.is_none_or(|(_, first)| batch.first < first));
            Ok(batches)
        })
    }
    fn head(&self, run: RunId) -> Reply<'_, Option<Head>> {
        self.disk.head(run)
    }
    fn list(&self, query: Query) -> Reply<'_, Vec<Head>> {
        self.disk.list(query)
    }
    fn post(&self, message: Message) -> Reply<'_, ()> {
        self.disk.post(message)
    }
    fn inbox(&self, driver: DriverId) -> Reply<'_, Vec<Message>> {
        self.disk.inbox(driver)
    }
}
