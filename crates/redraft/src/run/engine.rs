//! Who drives: an engine opens a store, takes over what is unfinished there, and starts new runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::definition::{Definition, Erased};
use super::error::Error;
use super::faults::Faults;
use super::handle::RunHandle;
use super::live::{Live, Standpoint, lock};
use super::step::Policy;
use super::turns::Turns;
use crate::clock::{Clock, SystemClock, nap};
use crate::id::{DriverId, RunId};
use crate::journal::codec::Batch;
use crate::journal::state::Run;
use crate::journal::{Event, Header, Origin, Record};
use crate::path::check_name;
use crate::store::{self, Created, Lease, NewRun, Standing, Store};
use crate::suggest;

/// Started events wait this long for a commit to ride along with, before they are written on their own so that
/// watchers see them.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// The largest output of a step unless the engine is told otherwise.
const MAX_OUTPUT: usize = 16 << 20;

/// Drives runs. Cheap to clone; when the last clone is dropped, driving stops and nothing is lost.
#[derive(Clone)]
pub struct Engine {
    pub(super) core: Arc<Core>,
    _alive: Arc<Alive>,
}

/// What the engine's parts share.
pub(crate) struct Core {
    pub(super) store: Arc<dyn Store>,
    pub(super) driver: DriverId,
    lease: Mutex<Option<Lease>>,
    definitions: HashMap<String, BTreeMap<u32, Arc<dyn Erased>>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) faults: Option<Faults>,
    pub(super) policy: Policy,
    pub(super) max_output: usize,
    pub(super) runs: Mutex<HashMap<RunId, Arc<Live>>>,
    /// Why runs that could be driven here are not.
    pub(super) refused: Mutex<HashMap<RunId, Error>>,
    pub(super) turns: Turns,
    unflushed: Mutex<Vec<Arc<Live>>>,
    flush_bell: Notify,
    pub(super) halted: OnceLock<Error>,
    halt_bell: Notify,
}

/// Stops the engine when the last handle to it is gone; its tasks hold only the [`Core`].
struct Alive {
    core: Arc<Core>,
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.core.halt(&Error::ShutDown { run: RunId::new() });
    }
}

/// How a new run is to be started.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Start {
    key: Option<String>,
}

impl Start {
    /// Sets an idempotency key: a second start of the same workflow with the same key gives the first run.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// Gathers what an engine needs; made by [`Engine::on`].
#[must_use]
pub struct EngineBuilder {
    store: Arc<dyn Store>,
    definitions: Vec<Arc<dyn Erased>>,
    clock: Arc<dyn Clock>,
    faults: Option<Faults>,
    policy: Policy,
    max_output: usize,
    resume: bool,
}

impl EngineBuilder {
    /// Registers a workflow. Register old versions too, as long as runs of them are under way.
    pub fn workflow(mut self, definition: impl Definition) -> Self {
        self.definitions.push(Arc::new(definition));
        self
    }

    /// Sets where the time comes from.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Asks for faults.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Sets how patient to be with steps that do not say it themselves.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the largest output of a step, in bytes of JSON (16 MiB unless said otherwise).
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    /// Leaves unfinished runs alone until they are resumed one by one.
    pub fn without_resuming(mut self) -> Self {
        self.resume = false;
        self
    }

    /// Opens the engine: registers it with the store and takes over every unfinished run of its workflows that no
    /// other living engine drives. Runs that cannot be resumed are left as they are; see [`Engine::refused`].
    ///
    /// # Errors
    /// If a workflow has a bad name or is registered twice, or the store cannot be used.
    pub async fn open(self) -> Result<Engine, Error> {
        let mut definitions: HashMap<String, BTreeMap<u32, Arc<dyn Erased>>> = HashMap::new();
        for definition in self.definitions {
            let (name, version) = (definition.name().to_owned(), definition.version());
            check_name(&name)?;
            let versions = definitions.entry(name.clone()).or_default();
            if versions.insert(version, definition).is_some() {
                return Err(Error::DuplicateWorkflow { name, version });
            }
        }
        let lease = self.store.attach().await?;
        let core = Arc::new(Core {
            store: self.store,
            driver: lease.driver,
            lease: Mutex::new(Some(lease)),
            definitions,
            clock: self.clock,
            faults: self.faults,
            policy: self.policy,
            max_output: self.max_output,
            runs: Mutex::default(),
            refused: Mutex::default(),
            turns: Turns::default(),
            unflushed: Mutex::default(),
            flush_bell: Notify::new(),
            halted: OnceLock::new(),
            halt_bell: Notify::new(),
        });
        tokio::spawn(Arc::clone(&core).keep_house());
        let engine = Engine { _alive: Arc::new(Alive { core: Arc::clone(&core) }), core };
        if self.resume {
            engine.core.resume_all().await?;
        }
        Ok(engine)
    }
}

impl Engine {
    /// Begins to build an engine on a store.
    pub fn on(store: impl Store) -> EngineBuilder {
        EngineBuilder {
            store: Arc::new(store),
            definitions: Vec::new(),
            clock: Arc::new(SystemClock),
            faults: None,
            policy: Policy::default(),
            max_output: MAX_OUTPUT,
            resume: true,
        }
    }

    /// Starts a run. When this returns, it is on disk.
    ///
    /// # Errors
    /// If the workflow is not registered, the input cannot be written, or the store fails.
    pub async fn start<D: Definition>(
        &self,
        definition: &D,
        input: D::Input,
    ) -> Result<RunHandle<D::Output>, Error> {
        self.start_with(definition, input, Start::default()).await
    }

    /// Starts a run with options.
    ///
    /// # Errors
    /// As [`start`](Self::start); also if the key was used before with another input.
    pub async fn start_with<D: Definition>(
        &self,
        definition: &D,
        input: D::Input,
        start: Start,
    ) -> Result<RunHandle<D::Output>, Error> {
        let input = serde_json::value::to_raw_value(&input).map_err(|error| Error::DoesNotFit {
            what: "input",
            of: definition.name().to_owned(),
            reason: error.to_string(),
        })?;
        let known = self.core.definition(Definition::name(definition), Definition::version(definition))?;
        self.begin(known, input, start).await.map(RunHandle::typed)
    }

    /// Starts a run of the newest version of the workflow called `name`.
    ///
    /// # Errors
    /// As [`start_with`](Self::start_with); also if the input does not fit.
    pub async fn start_named(
        &self,
        name: &str,
        input: &Value,
        start: Start,
    ) -> Result<RunHandle<Value>, Error> {
        let definition = self.core.newest(name)?;
        let fit = |reason: String| Error::DoesNotFit { what: "input", of: name.to_owned(), reason };
        let input = serde_json::value::to_raw_value(input).map_err(|error| fit(error.to_string()))?;
        self.begin(definition, input, start).await
    }

    async fn begin(
        &self,
        definition: Arc<dyn Erased>,
        input: Box<RawValue>,
        start: Start,
    ) -> Result<RunHandle<Value>, Error> {
        definition.check_input(&input).map_err(|reason| Error::DoesNotFit {
            what: "input",
            of: definition.name().to_owned(),
            reason,
        })?;
        let birth = Birth { definition, input, key: start.key, origin: None, copied: Vec::new() };
        match self.core.bring_up(birth).await? {
            Ok(live) => Ok(RunHandle::of_live(&self.core, &live)),
            Err((earlier, key, input)) => self.earlier_run(earlier, key, &input).await,
        }
    }

    /// Gives the run that has the key, if it was started with the same input.
    async fn earlier_run(
        &self,
        run: RunId,
        key: String,
        input: &RawValue,
    ) -> Result<RunHandle<Value>, Error> {
        let state = self.core.load(run).await?;
        // As values: a map may be written in another order.
        let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
        if state.header.as_ref().is_some_and(|header| value(&header.input) != value(input)) {
            return Err(Error::KeyReused { key, run });
        }
        if state.ending.is_none() {
            match self.resume_unfinished(run).await {
                Ok(handle) => return Ok(handle),
                // Someone else drives it, or it has just ended: both are as good.
                Err(Error::Store(store::Error::Held { .. }) | Error::Ended { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.handle(run).await
    }

    /// Returns the runs that could not be resumed or go on, and why: their definition is unknown or has changed, they
    /// diverged from their journal, the store failed. They are left as they are and can be resumed.
    #[must_use]
    pub fn refused(&self) -> Vec<(RunId, Error)> {
        lock(&self.core.refused).iter().map(|(run, error)| (*run, error.clone())).collect()
    }

    /// Returns the runs that this engine drives at the moment.
    #[must_use]
    pub fn driving(&self) -> Vec<RunId> {
        lock(&self.core.runs).keys().copied().collect()
    }

    /// Returns the store's words on what survives.
    #[must_use]
    pub fn durability(&self) -> &'static str {
        self.core.store.durability()
    }

    /// Stops driving, writes what waits to be written, and lets go of the runs so that others can take them over.
    pub async fn shut_down(&self) {
        let driven: Vec<Arc<Live>> = lock(&self.core.runs).values().cloned().collect();
        futures_util::future::join_all(driven.iter().map(|live| live.flush())).await;
        self.core.halt(&Error::ShutDown { run: RunId::new() });
        for live in driven {
            live.until_over().await;
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("store", &self.core.store)
            .field("driver", &self.core.driver)
            .finish_non_exhaustive()
    }
}

/// A run to be created.
pub(super) struct Birth {
    pub(super) definition: Arc<dyn Erased>,
    pub(super) input: Box<RawValue>,
    pub(super) key: Option<String>,
    pub(super) origin: Option<Origin>,
    /// For a fork: the events to begin with, after the first.
    pub(super) copied: Vec<Record>,
}

/// The run that had the key before.
type Earlier = (RunId, String, Box<RawValue>);

impl Core {
    pub(super) fn definition(&self, name: &str, version: u32) -> Result<Arc<dyn Erased>, Error> {
        let found = self.definitions.get(name).and_then(|versions| versions.get(&version));
        found.cloned().ok_or_else(|| self.unknown(name, Some(version)))
    }

    pub(super) fn newest(&self, name: &str) -> Result<Arc<dyn Erased>, Error> {
        let newest = self.definitions.get(name).and_then(|versions| versions.values().next_back());
        newest.cloned().ok_or_else(|| self.unknown(name, None))
    }

    pub(super) fn workflows(&self) -> Vec<String> {
        self.definitions.keys().cloned().collect()
    }

    fn unknown(&self, name: &str, version: Option<u32>) -> Error {
        let did_you_mean = match self.definitions.get(name).and_then(|versions| versions.keys().next_back()) {
            Some(newest) => Some(format!("{name} version {newest}")),
            None => suggest::nearest(name, self.definitions.keys().map(String::as_str)),
        };
        Error::UnknownWorkflow { name: name.to_owned(), version, did_you_mean }
    }

    /// Creates a run and drives it; gives the earlier one if the key was used before. On a task of its own: once the
    /// store has the run it must be driven, even if the caller walks off.
    pub(super) async fn bring_up(
        self: &Arc<Self>,
        birth: Birth,
    ) -> Result<Result<Arc<Live>, Earlier>, Error> {
        let run = RunId::new();
        let core = Arc::clone(self);
        let created = tokio::spawn(async move { core.create(run, birth).await });
        created.await.unwrap_or(Err(Error::ShutDown { run }))
    }

    async fn create(self: &Arc<Self>, run: RunId, birth: Birth) -> Result<Result<Arc<Live>, Earlier>, Error> {
        // Whoever finds the run in the store from now on waits until it is driven.
        let _turn = self.turns.take(run).await;
        if let Some(error) = self.halted.get() {
            return Err(error.clone().about(run));
        }
        let Birth { definition, input, key, origin, copied } = birth;
        let header = Header {
            workflow: definition.name().to_owned(),
            version: definition.version(),
            definition: definition.fingerprint(),
            phases: definition.phases(),
            input,
            key: key.clone(),
            origin,
        };
        let created_at = self.clock.now();
        let first = Record { seq: 1, at: created_at, event: Event::RunStarted(Box::new(header)) };
        let mut state = Run::default();
        let mut batch = Batch::default();
        for record in std::iter::once(first).chain(copied) {
            state.apply(&record).map_err(|source| Error::Journal { run, source })?;
            batch.push(record.at, &record.event);
        }
        let new = NewRun {
            run,
            workflow: definition.name().to_owned(),
            version: definition.version(),
            key: key.clone(),
            created_at,
            standing: Standing::unfinished(state.status()),
            driver: self.driver,
            batch: store::Batch { first: 1, count: batch.count(), text: batch.into_text() },
        };
        match (self.store.create(new).await?, key, &state.header) {
            (Created::Existing(earlier), Some(key), Some(header)) => {
                Ok(Err((earlier, key, header.input.clone())))
            }
            (Created::Existing(earlier), ..) => Err(store::Error::Exists { run: earlier }.into()),
            (Created::New(epoch), ..) => {
                let at = Standpoint { run, epoch, told: state.status(), state, pending: Vec::new() };
                Ok(Ok(self.drive(at, definition)))
            }
        }
    }

    /// Returns a run that this engine drives.
    pub(super) fn live(&self, run: RunId) -> Option<Arc<Live>> {
        lock(&self.runs).get(&run).cloned()
    }

    /// A run is no longer driven here, unless it has been taken up again meanwhile.
    pub(super) fn forget(&self, live: &Arc<Live>) {
        let mut runs = lock(&self.runs);
        if runs.get(&live.run).is_some_and(|known| Arc::ptr_eq(known, live)) {
            runs.remove(&live.run);
        }
    }

    /// Remembers why a run is not driven here, for those who ask.
    pub(super) fn remember_trouble(&self, run: RunId, error: &Error) {
        let elsewhere =
            matches!(error, Error::Store(store::Error::Fenced { .. } | store::Error::Held { .. }));
        if !elsewhere && !matches!(error, Error::ShutDown { .. } | Error::Crashed) {
            lock(&self.refused).insert(run, error.clone());
        }
    }

    pub(super) fn list_for_flush(&self, live: Arc<Live>) {
        let mut unflushed = lock(&self.unflushed);
        if self.halted.get().is_some() {
            return;
        }
        unflushed.push(live);
        if unflushed.len() == 1 {
            self.flush_bell.notify_one();
        }
    }

    /// Stops everything at once, as far as this engine is concerned.
    pub(super) fn halt(&self, error: &Error) {
        let _ = self.halted.set(error.clone());
        for live in lock(&self.runs).values() {
            live.break_off(error.clone().about(live.run));
        }
        drop(lock(&self.lease).take());
        // They hold the engine, and the engine holds them.
        lock(&self.unflushed).clear();
        self.halt_bell.notify_waiters();
    }

    /// Flushes started events and reads the mail until the engine is halted.
    async fn keep_house(self: Arc<Self>) {
        let halted = self.halt_bell.notified();
        let mut halted = pin!(halted);
        halted.as_mut().enable();
        if self.halted.get().is_some() {
            return;
        }
        tokio::select! {
            () = halted => {}
            () = self.flush_forever() => {}
            () = self.read_mail_forever() => {}
        }
    }

    async fn flush_forever(&self) {
        loop {
            self.flush_bell.notified().await;
            nap(FLUSH_AFTER).await;
            let unflushed = std::mem::take(&mut *lock(&self.unflushed));
            // All are handed to the store before any is waited for, so that they share a commit.
            futures_util::future::join_all(unflushed.iter().map(|live| live.flush())).await;
        }
    }
}

impl Error {
    /// Puts the run's id into errors that the engine as a whole gives.
    pub(super) fn about(self, run: RunId) -> Self {
        match self {
            Self::ShutDown { .. } => Self::ShutDown { run },
            other => other,
        }
    }
}
