//! Where journals are kept.
//!
//! A [`Store`] keeps runs: for each a journal of opaque batches and a *head*, the few facts that lists show. It knows
//! nothing of what events mean, and only the engine writes to it. [`memory`] forgets with the process, [`sqlite`] is
//! the embedded default. [`conformance`] is the suite that every store must pass, yours too.
//!
//! To add a store: implement [`Store`], call [`conformance::check`] from a test, and hand it to
//! [`Engine::on`](crate::Engine::on).

mod error;

pub mod conformance;
pub mod memory;
pub mod sqlite;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

pub use self::error::Error;
pub use self::memory::MemoryStore;
pub use self::sqlite::SqliteStore;
use crate::clock::Timestamp;
use crate::id::{DriverId, MessageId, RunId};
use crate::outcome::{Status, Stop};

/// What a store answers, later.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A place where journals are kept.
///
/// The types that cross this trait may gain fields with a minor version: build them with care for that if you write a
/// store of your own.
///
/// # Promises
///
/// 1. **Durable.** When the reply to a write is `Ok`, it has survived: a crash of the process, and for a store that
///    says so in [`durability`](Self::durability) a loss of power, cannot undo it.
/// 2. **Atomic.** A batch is in the journal as a whole or not at all.
/// 3. **Ordered.** The events of a run are numbered from 1 without gaps. The *call* of [`append`](Self::append)
///    takes the place in line, not the first poll of its reply: two calls for one run are applied in the order made.
/// 4. **Fenced.** A batch is taken only under the epoch of the last claim, only while that claim is held (not after it
///    was given back, and not after the end of the run), and only directly after the last event; anything else is
///    refused and changes nothing.
/// 5. **Independent.** A refused write harms no other write, even if the store commits them together.
/// 6. **Exclusive.** A run is held by at most one driver. A driver lives as long as its [`Lease`]; when it is gone,
///    even by `kill -9`, others can claim its runs.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Says in a few words what survives, for instance `sqlite-wal-fsync`.
    fn durability(&self) -> &'static str;

    /// Registers a driver.
    fn attach(&self) -> Reply<'_, Lease>;

    /// Creates a run with its first batch, held by `new.driver`. With a key that the same workflow has used before,
    /// nothing is created and the earlier run is returned.
    fn create(&self, new: NewRun) -> Reply<'_, Created>;

    /// Adds a batch to a journal.
    fn append(&self, append: Append) -> Reply<'_, ()>;

    /// Takes hold of a run, or of every unfinished one, for `claim.driver`.
    fn claim(&self, claim: Claim) -> Reply<'_, Vec<Claimed>>;

    /// Gives claims back, so that others can claim the runs. A claim that is no longer the last one is ignored.
    fn release(&self, claims: Vec<Claimed>) -> Reply<'_, ()>;

    /// Reads the batches of a run that hold events after number `after`, in order. The first may begin earlier.
    fn read(&self, run: RunId, after: u64) -> Reply<'_, Vec<Batch>>;

    /// Returns the head of a run, if there is such a run.
    fn head(&self, run: RunId) -> Reply<'_, Option<Head>>;

    /// Lists heads, newest first.
    fn list(&self, query: Query) -> Reply<'_, Vec<Head>>;

    /// Leaves a message for whoever drives the run, now or later.
    fn post(&self, message: Message) -> Reply<'_, ()>;

    /// Returns the messages for the runs that `driver` holds, oldest first. They stay until an append consumes them
    /// or ends the run.
    fn inbox(&self, driver: DriverId) -> Reply<'_, Vec<Message>>;
}

/// The right to drive, and the proof of life that goes with it: drop it and the driver counts as dead.
pub struct Lease {
    /// The driver.
    pub driver: DriverId,
    guard: Box<dyn Any + Send + Sync>,
}

impl Lease {
    /// Makes a lease that lives as long as `guard`.
    pub fn new(driver: DriverId, guard: impl Any + Send + Sync) -> Self {
        Self { driver, guard: Box::new(guard) }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = &self.guard;
        f.debug_struct("Lease").field("driver", &self.driver).finish_non_exhaustive()
    }
}

/// Which claim on a run a write is made under: each new claim gets a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// Consecutive events of one run, as the engine wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number of the first event.
    pub first: u64,
    /// How many events there are.
    pub count: u32,
    /// The events, as a JSON array.
    pub text: String,
}

impl Batch {
    /// Returns the number of the last event.
    #[must_use]
    pub fn last(&self) -> u64 {
        (self.first + u64::from(self.count)).saturating_sub(1)
    }
}

/// The facts about a run that lists show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The version of its definition.
    pub version: u32,
    /// How the run stands.
    pub standing: Standing,
    /// The idempotency key it was started with.
    pub key: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The number of its last event.
    pub seq: u64,
    /// The epoch of the last claim.
    pub epoch: Epoch,
    /// Who holds it; that driver may be dead.
    pub holder: Option<DriverId>,
}

/// The part of a head that changes while a run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// How the run stands.
    pub status: Status,
    /// Why it stopped, if it did.
    pub stop: Option<Stop>,
    /// When it came to its end.
    pub finished_at: Option<Timestamp>,
    /// What the workflow wants lists to show of it (best score, iterations …), as a JSON object.
    pub summary: Option<String>,
}

impl Standing {
    /// Returns the standing of a run that has not come to its end.
    #[must_use]
    pub fn unfinished(status: Status) -> Self {
        Self { status, stop: None, finished_at: None, summary: None }
    }
}

/// A run to be created.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The id it shall have.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The version of its definition.
    pub version: u32,
    /// An idempotency key: unique among the runs of the workflow.
    pub key: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// How it stands.
    pub standing: Standing,
    /// Who holds it.
    pub driver: DriverId,
    /// Its first events, numbered from 1.
    pub batch: Batch,
}

/// What came of creating a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It was created, and is held under this epoch.
    New(Epoch),
    /// The key was used before, for this run; nothing was created.
    Existing(RunId),
}

/// A batch to be added.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// The epoch of the claim it is made under.
    pub epoch: Epoch,
    /// The events; the first must have the number after the last one in the journal.
    pub batch: Batch,
    /// How the run stands from now on, if that changes. Without a summary of its own, the last one stays.
    pub standing: Option<Standing>,
    /// Messages that these events deal with; they are removed in the same act.
    pub consumes: Vec<MessageId>,
}

/// A wish to hold runs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who wants to hold them.
    pub driver: DriverId,
    /// Which.
    pub which: Which,
}

/// Which runs to claim.
#[derive(Clone, Debug)]
pub enum Which {
    /// Every unfinished run of these workflows that no living driver holds.
    Unfinished {
        /// Names of workflows.
        workflows: Vec<String>,
    },
    /// This run, if no other living driver holds it.
    Run(RunId),
    /// This run, whoever holds it: the other's writes are refused from now on.
    Seize(RunId),
}

/// A run that is now held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The run.
    pub run: RunId,
    /// The epoch to write under.
    pub epoch: Epoch,
}

/// A filter for lists.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only runs of this workflow.
    pub workflow: Option<String>,
    /// Only runs in one of these states; all if empty.
    pub status: Vec<Status>,
    /// Only runs created before this one: the cursor to the next page.
    pub before: Option<RunId>,
    /// At most so many; all if nothing is said.
    pub limit: Option<u32>,
}

/// A message for whoever drives a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The run it is for.
    pub run: RunId,
    /// What it says; the engine's own words, opaque to the store.
    pub body: String,
}
