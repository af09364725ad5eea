//! The suite that every store must pass.

use std::collections::HashMap;
use std::sync::Mutex;

use redraft::store::{
    Append, Batch, Claim, Claimed, Created, Error, Head, Lease, MemoryStore, Message, NewRun, Query, Reply,
    SqliteStore, Store, conformance,
};
use redraft::{DriverId, RunId};

#[tokio::test]
async fn the_memory_store_keeps_its_promises() {
    let stores: Mutex<HashMap<String, MemoryStore>> = Mutex::default();
    let open = |name: &str| Ok(stores.lock().unwrap().entry(name.to_owned()).or_default().clone());
    conformance::check(open).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_sqlite_store_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    conformance::check(|name: &str| SqliteStore::open(folder.path().join(name))).await.unwrap();
}

/// A store that breaks one promise: it takes writes from anybody.
#[derive(Debug, Clone, Default)]
struct Unfenced(MemoryStore);

impl Store for Unfenced {
    fn durability(&self) -> &'static str {
        self.0.durability()
    }
    fn attach(&self) -> Reply<'_, Lease> {
        self.0.attach()
    }
    fn create(&self, new: NewRun) -> Reply<'_, Created> {
        self.0.create(new)
    }
    fn append(&self, append: Append) -> Reply<'_, ()> {
        Box::pin(async move {
            let head = self.0.head(append.run).await?.ok_or(Error::NotFound { run: append.run })?;
            self.0.append(Append { epoch: head.epoch, ..append }).await
        })
    }
    fn claim(&self, claim: Claim) -> Reply<'_, Vec<Claimed>> {
        self.0.claim(claim)
    }
    fn release(&self, claims: Vec<Claimed>) -> Reply<'_, ()> {
        self.0.release(claims)
    }
    fn read(&self, run: RunId, after: u64) -> Reply<'_, Vec<Batch>> {
        self.0.read(run, after)
    }
    fn head(&self, run: RunId) -> Reply<'_, Option<Head>> {
        self.0.head(run)
    }
    fn list(&self, query: Query) -> Reply<'_, Vec<Head>> {
        self.0.list(query)
    }
    fn post(&self, message: Message) -> Reply<'_, ()> {
        self.0.post(message)
    }
    fn inbox(&self, driver: DriverId) -> Reply<'_, Vec<Message>> {
        self.0.inbox(driver)
    }
}

#[tokio::test]
async fn the_suite_finds_a_store_that_does_not() {
    let stores: Mutex<HashMap<String, Unfenced>> = Mutex::default();
    let open = |name: &str| Ok(stores.lock().unwrap().entry(name.to_owned()).or_default().clone());
    let broken = conformance::check(open).await.unwrap_err();
    // Its append does not take its place in line when it is called, either; that is noticed first.
    let known = ["the_order_of_calls_counts_not_the_order_of_polls", "a_stale_driver_is_refused"];
    assert!(known.contains(&broken.check), "{broken}");
}
