//! A store that forgets with the process: for tests, and for work that need not survive.
//!
//! Clones share their runs, so dropping an engine and opening another one on a clone is a restart.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Append, Batch, Claim, Claimed, Created, Epoch, Error, Head, Lease, Message, NewRun, Query, Reply,
    Standing, Store, Which,
};
use crate::id::{DriverId, RunId};

/// Keeps runs in memory.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    runs: HashMap<RunId, Kept>,
    /// In order of creation.
    order: Vec<RunId>,
    keys: HashMap<(String, String), RunId>,
    messages: Vec<Message>,
    living: HashSet<DriverId>,
}

struct Kept {
    head: Head,
    batches: Vec<Batch>,
}

impl MemoryStore {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("runs", &self.shared().order.len()).finish()
    }
}

/// The driver dies with it.
struct Life {
    driver: DriverId,
    store: MemoryStore,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.store.shared().living.remove(&self.driver);
    }
}

fn reply<'a, T: Send + 'a>(result: Result<T, Error>) -> Reply<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for MemoryStore {
    fn durability(&self) -> &'static str {
        "memory-only"
    }

    fn attach(&self) -> Reply<'_, Lease> {
        let driver = DriverId::new();
        self.shared().living.insert(driver);
        reply(Ok(Lease::new(driver, Life { driver, store: self.clone() })))
    }

    fn create(&self, new: NewRun) -> Reply<'_, Created> {
        reply(self.shared().create(new))
    }

    fn append(&self, append: Append) -> Reply<'_, ()> {
        reply(self.shared().append(append))
    }

    fn claim(&self, claim: Claim) -> Reply<'_, Vec<Claimed>> {
        reply(self.shared().claim(&claim))
    }

    fn release(&self, claims: Vec<Claimed>) -> Reply<'_, ()> {
        let mut shared = self.shared();
        for claim in claims {
            if let Some(kept) = shared.runs.get_mut(&claim.run)
                && kept.head.epoch == claim.epoch
            {
                kept.head.holder = None;
            }
        }
        reply(Ok(()))
    }

    fn read(&self, run: RunId, after: u64) -> Reply<'_, Vec<Batch>> {
        let shared = self.shared();
        reply(match shared.runs.get(&run) {
            Some(kept) => {
                let from = kept.batches.partition_point(|batch| batch.last() <= after);
                Ok(kept.batches.get(from..).unwrap_or_default().to_vec())
            }
            None => Err(Error::NotFound { run }),
        })
    }

    fn head(&self, run: RunId) -> Reply<'_, Option<Head>> {
        reply(Ok(self.shared().runs.get(&run).map(|kept| kept.head.clone())))
    }

    fn list(&self, query: Query) -> Reply<'_, Vec<Head>> {
        reply(Ok(self.shared().list(&query)))
    }

    fn post(&self, message: Message) -> Reply<'_, ()> {
        let mut shared = self.shared();
        let run = message.run;
        reply(match shared.runs.get(&run).map(|kept| kept.head.standing.status) {
            None => Err(Error::NotFound { run }),
            Some(status) if status.is_final() => Err(Error::Ended { run }),
            Some(_) => {
                shared.messages.push(message);
                Ok(())
            }
        })
    }

    fn inbox(&self, driver: DriverId) -> Reply<'_, Vec<Message>> {
        let shared = self.shared();
        let held = |run: &RunId| shared.runs.get(run).is_some_and(|kept| kept.head.holder == Some(driver));
        reply(Ok(shared.messages.iter().filter(|message| held(&message.run)).cloned().collect()))
    }
}

impl Shared {
    fn create(&mut self, new: NewRun) -> Result<Created, Error> {
        if let Some(key) = &new.key
            && let Some(existing) = self.keys.get(&(new.workflow.clone(), key.clone()))
        {
            return Ok(Created::Existing(*existing));
        }
        if self.runs.contains_key(&new.run) {
            return Err(Error::Exists { run: new.run });
        }
        if new.batch.first != 1 {
            return Err(Error::Conflict { run: new.run, expected: new.batch.first });
        }
        if let Some(key) = &new.key {
            self.keys.insert((new.workflow.clone(), key.clone()), new.run);
        }
        let head = Head {
            run: new.run,
            workflow: new.workflow,
            version: new.version,
            standing: new.standing,
            key: new.key,
            created_at: new.created_at,
            seq: new.batch.last(),
            epoch: Epoch(1),
            holder: Some(new.driver),
        };
        self.order.push(new.run);
        self.runs.insert(new.run, Kept { head, batches: vec![new.batch] });
        Ok(Created::New(Epoch(1)))
    }

    fn append(&mut self, append: Append) -> Result<(), Error> {
        let run = append.run;
        let kept = self.runs.get_mut(&run).ok_or(Error::NotFound { run })?;
        if kept.head.epoch != append.epoch || kept.head.holder.is_none() {
            return Err(Error::Fenced { run });
        }
        if append.batch.first != kept.head.seq + 1 {
            return Err(Error::Conflict { run, expected: append.batch.first });
        }
        kept.head.seq = append.batch.last();
        kept.batches.push(append.batch);
        if let Some(standing) = append.standing {
            if standing.status.is_final() {
                kept.head.holder = None;
                self.messages.retain(|message| message.run != run);
            }
            // A summary stays until another one is told.
            let summary = standing.summary.clone().or_else(|| kept.head.standing.summary.take());
            kept.head.standing = Standing { summary, ..standing };
        }
        if !append.consumes.is_empty() {
            self.messages.retain(|message| !append.consumes.contains(&message.id));
        }
        Ok(())
    }

    fn claim(&mut self, claim: &Claim) -> Result<Vec<Claimed>, Error> {
        let free = |head: &Head, living: &HashSet<DriverId>| {
            head.holder.filter(|holder| *holder != claim.driver && living.contains(holder))
        };
        let wanted: Vec<RunId> = match &claim.which {
            Which::Unfinished { workflows } => self
                .order
                .iter()
                .filter_map(|run| self.runs.get(run))
                .map(|kept| &kept.head)
                .filter(|head| !head.standing.status.is_final() && workflows.contains(&head.workflow))
                .filter(|head| free(head, &self.living).is_none())
                .map(|head| head.run)
                .collect(),
            Which::Run(run) => {
                let head = &self.runs.get(run).ok_or(Error::NotFound { run: *run })?.head;
                if let Some(holder) = free(head, &self.living) {
                    return Err(Error::Held { run: *run, holder });
                }
                vec![*run]
            }
            Which::Seize(run) => vec![*run],
        };
        wanted
            .into_iter()
            .map(|run| {
                let head = &mut self.runs.get_mut(&run).ok_or(Error::NotFound { run })?.head;
                head.holder = Some(claim.driver);
                head.epoch = Epoch(head.epoch.0 + 1);
                Ok(Claimed { run, epoch: head.epoch })
            })
            .collect()
    }

    fn list(&self, query: &Query) -> Vec<Head> {
        // A cursor that points nowhere is at the end of the list.
        let end = match query.before {
            Some(before) => self.order.iter().position(|run| *run == before).unwrap_or(0),
            None => self.order.len(),
        };
        self.order
            .iter()
            .take(end)
            .rev()
            .filter_map(|run| self.runs.get(run))
            .map(|kept| &kept.head)
            .filter(|head| query.workflow.as_ref().is_none_or(|name| *name == head.workflow))
            .filter(|head| query.status.is_empty() || query.status.contains(&head.standing.status))
            .take(query.limit.map_or(usize::MAX, |limit| limit as usize))
            .cloned()
            .collect()
    }
}
