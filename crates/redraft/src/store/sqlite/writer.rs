//! The one writer: takes everything that waits and commits it as one transaction.
//!
//! It runs on a thread of its own, because a flush blocks. While the disk is busy with one commit, the next one
//! gathers in the channel: under load a thousand steps share a flush, alone a step waits for nobody.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::super::{Append, Claim, Claimed, Created, Epoch, Error, Message, NewRun, Standing, Which};
use super::drivers::Drivers;
use super::schema::{parsed, translate};
use crate::id::RunId;

/// At most so many writes, and about so many bytes, share a commit: enough to make the flush cheap, little enough
/// that nobody waits long for it.
const MOST_WRITES: usize = 4096;
const MOST_BYTES: usize = 8 << 20;

/// Something to be written, and who waits for it.
pub(super) enum Write {
    Create(Box<NewRun>, oneshot::Sender<Result<Created, Error>>),
    Append(Append, oneshot::Sender<Result<(), Error>>),
    Claim(Claim, oneshot::Sender<Result<Vec<Claimed>, Error>>),
    Release(Vec<Claimed>, oneshot::Sender<Result<(), Error>>),
    Post(Message, oneshot::Sender<Result<(), Error>>),
}

/// What was done, to be told after the commit.
enum Told {
    Created(Created),
    Claimed(Vec<Claimed>),
    Done,
}

/// Where a run stands in the file, for runs that are being written.
#[derive(Clone, Copy)]
struct Slot {
    no: i64,
    epoch: u64,
    seq: u64,
    head: i64,
}

pub(super) struct Writer {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    pub(super) drivers: Drivers,
    slots: HashMap<RunId, Slot>,
}

/// A write fails alone (`Refused`), or everything in the transaction fails with it (`Sql`).
enum Trouble {
    Refused(Error),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

type Attempted<T> = Result<T, Trouble>;

impl Writer {
    pub(super) fn new(db: Connection, path: PathBuf, drivers: Drivers) -> Self {
        db.set_prepared_statement_cache_capacity(32);
        Self { db, path, drivers, slots: HashMap::new() }
    }

    /// Works until the last sender is gone.
    pub(super) fn work(mut self, waiting: &Receiver<Write>) {
        let mut batch = Vec::new();
        while let Ok(first) = waiting.recv() {
            let mut bytes = first.weight();
            batch.push(first);
            while batch.len() < MOST_WRITES && bytes < MOST_BYTES {
                let Ok(next) = waiting.try_recv() else { break };
                bytes += next.weight();
                batch.push(next);
            }
            self.commit(&mut batch);
        }
    }

    /// Commits all writes together. If one of them is what fails, each on its own: what one cannot do must not harm the
    /// rest. A store that is locked or broken fails them all alike.
    fn commit(&mut self, batch: &mut Vec<Write>) {
        match self.try_commit(batch) {
            Ok(told) => {
                for (write, told) in batch.drain(..).zip(told) {
                    write.tell(told);
                }
            }
            Err(error) => {
                let error = translate(&self.path, &error);
                let may_be_one = matches!(error, Error::Full | Error::Io { .. });
                if may_be_one && batch.len() > 1 {
                    for write in std::mem::take(batch) {
                        self.commit(&mut vec![write]);
                    }
                } else {
                    for write in batch.drain(..) {
                        write.tell(Err(error.clone()));
                    }
                }
            }
        }
    }

    fn try_commit(&mut self, batch: &[Write]) -> rusqlite::Result<Vec<Result<Told, Error>>> {
        let told = self.commit_once(batch);
        if told.is_err() {
            // What the slots say was rolled back with the transaction.
            self.slots.clear();
        }
        told
    }

    fn commit_once(&mut self, batch: &[Write]) -> rusqlite::Result<Vec<Result<Told, Error>>> {
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut work =
            Work { tx: &tx, slots: &mut self.slots, drivers: &self.drivers, next_row: next_row(&tx)? };
        let mut told = Vec::with_capacity(batch.len());
        for write in batch {
            told.push(match work.perform(write) {
                Ok(done) => Ok(done),
                Err(Trouble::Refused(error)) => Err(error),
                Err(Trouble::Sql(error)) => return Err(error),
            });
        }
        tx.commit()?;
        Ok(told)
    }
}

fn next_row(tx: &Transaction<'_>) -> rusqlite::Result<i64> {
    tx.prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM log")?.query_row([], |row| row.get(0))
}

/// One transaction under way.
struct Work<'a> {
    tx: &'a Transaction<'a>,
    slots: &'a mut HashMap<RunId, Slot>,
    drivers: &'a Drivers,
    next_row: i64,
}

impl Work<'_> {
    fn perform(&mut self, write: &Write) -> Attempted<Told> {
        match write {
            Write::Create(new, _) => self.create(new).map(Told::Created),
            Write::Append(append, _) => self.append(append).map(|()| Told::Done),
            Write::Claim(claim, _) => self.claim(claim).map(Told::Claimed),
            Write::Release(claims, _) => self.release(claims).map(|()| Told::Done),
            Write::Post(message, _) => self.post(message).map(|()| Told::Done),
        }
    }

    fn create(&mut self, new: &NewRun) -> Attempted<Created> {
        if let Some(key) = &new.key {
            let existing: Option<String> = self
                .tx
                .prepare_cached("SELECT id FROM run WHERE workflow = ?1 AND key = ?2")?
                .query_row(params![new.workflow, key], |row| row.get(0))
                .optional()?;
            if let Some(run) = existing.and_then(|id| id.parse().ok()) {
                return Ok(Created::Existing(run));
            }
        }
        if new.batch.first != 1 {
            return Err(Trouble::Refused(Error::Conflict { run: new.run, expected: new.batch.first }));
        }
        let row = self.take_row();
        let inserted = self
            .tx
            .prepare_cached(
                "INSERT INTO run (id, workflow, version, key, created_at, status, stop, finished_at, summary,
                     holder, epoch, seq, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?11, ?12) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                new.run.to_string(),
                new.workflow,
                new.version,
                new.key,
                new.created_at.to_string(),
                new.standing.status.as_str(),
                stop_word(&new.standing),
                new.standing.finished_at.map(|at| at.to_string()),
                new.standing.summary,
                new.driver.to_string(),
                new.batch.last() as i64,
                row,
            ])?;
        if inserted == 0 {
            return Err(Trouble::Refused(Error::Exists { run: new.run }));
        }
        let slot = Slot { no: self.tx.last_insert_rowid(), epoch: 1, seq: new.batch.last(), head: row };
        self.insert_log(row, slot.no, new.batch.first, new.batch.count, 0, &new.batch.text)?;
        self.slots.insert(new.run, slot);
        Ok(Created::New(Epoch(1)))
    }

    fn append(&mut self, append: &Append) -> Attempted<()> {
        let run = append.run;
        let mut slot = self.slot(run)?;
        if slot.epoch != append.epoch.0 {
            // The slot may be stale if another process has claimed the run since.
            slot = self.reload_slot(run)?;
        }
        refuse_unless_next(&slot, append)?;
        let row = self.take_row();
        let last = append.batch.last();
        let moved = self
            .tx
            .prepare_cached(
                "UPDATE run SET seq = ?1, head = ?2
                 WHERE no = ?3 AND epoch = ?4 AND seq = ?5 AND holder IS NOT NULL",
            )?
            .execute(params![last as i64, row, slot.no, slot.epoch as i64, slot.seq as i64])?;
        if moved == 0 {
            refuse_unless_next(&self.reload_slot(run)?, append)?;
            // Right epoch, right place: then nobody holds the run any more.
            return Err(Trouble::Refused(Error::Fenced { run }));
        }
        self.insert_log(row, slot.no, append.batch.first, append.batch.count, slot.head, &append.batch.text)?;
        if let Some(standing) = &append.standing {
            self.set_standing(slot.no, standing)?;
        }
        for message in &append.consumes {
            self.tx
                .prepare_cached("DELETE FROM message WHERE id = ?1")?
                .execute(params![message.to_string()])?;
        }
        if append.standing.as_ref().is_some_and(|standing| standing.status.is_final()) {
            self.tx.prepare_cached("DELETE FROM message WHERE run = ?1")?.execute(params![slot.no])?;
            self.slots.remove(&run);
        } else {
            self.slots.insert(run, Slot { seq: last, head: row, ..slot });
        }
        Ok(())
    }

    fn set_standing(&self, no: i64, standing: &Standing) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "UPDATE run SET status = ?1, stop = ?2, finished_at = ?3, summary = coalesce(?4, summary),
                     holder = CASE WHEN ?5 THEN NULL ELSE holder END
                 WHERE no = ?6",
            )?
            .execute(params![
                standing.status.as_str(),
                stop_word(standing),
                standing.finished_at.map(|at| at.to_string()),
                standing.summary,
                standing.status.is_final(),
                no,
            ])?;
        Ok(())
    }

    fn claim(&mut self, claim: &Claim) -> Attempted<Vec<Claimed>> {
        let driver = claim.driver.to_string();
        let claimed = match &claim.which {
            Which::Unfinished { workflows } => self.claim_unfinished(&driver, workflows)?,
            Which::Run(run) | Which::Seize(run) => {
                let holder: Option<String> = self
                    .tx
                    .prepare_cached("SELECT holder FROM run WHERE id = ?1")?
                    .query_row(params![run.to_string()], |row| row.get(0))
                    .optional()?
                    .ok_or(Trouble::Refused(Error::NotFound { run: *run }))?;
                let other = holder.and_then(|id| id.parse().ok()).filter(|holder| *holder != claim.driver);
                if let (Which::Run(_), Some(holder)) = (&claim.which, other)
                    && self.drivers.is_alive(holder)
                {
                    return Err(Trouble::Refused(Error::Held { run: *run, holder }));
                }
                self.tx
                    .prepare_cached(
                        "UPDATE run SET holder = ?1, epoch = epoch + 1 WHERE id = ?2 RETURNING id, epoch",
                    )?
                    .query_map(params![driver, run.to_string()], claimed_row)?
                    .collect::<rusqlite::Result<Vec<_>>>()?
            }
        };
        for run in &claimed {
            self.slots.remove(&run.run);
        }
        Ok(claimed)
    }

    fn claim_unfinished(&self, driver: &str, workflows: &[String]) -> rusqlite::Result<Vec<Claimed>> {
        let workflows = json_list(workflows);
        let dead: Vec<String> = self
            .tx
            .prepare_cached(
                "SELECT DISTINCT holder FROM run
                 WHERE finished_at IS NULL AND holder IS NOT NULL AND workflow IN (SELECT value FROM json_each(?1))",
            )?
            .query_map(params![workflows], |row| row.get::<_, String>(0))?
            .filter(|holder| {
                holder.as_ref().map_or(true, |id| {
                    id == driver || id.parse().map_or(true, |driver| !self.drivers.is_alive(driver))
                })
            })
            .collect::<rusqlite::Result<_>>()?;
        self.tx
            .prepare_cached(
                "UPDATE run SET holder = ?1, epoch = epoch + 1
                 WHERE finished_at IS NULL AND workflow IN (SELECT value FROM json_each(?2))
                   AND (holder IS NULL OR holder IN (SELECT value FROM json_each(?3)))
                 RETURNING id, epoch",
            )?
            .query_map(params![driver, workflows, json_list(&dead)], claimed_row)?
            .collect()
    }

    fn release(&mut self, claims: &[Claimed]) -> Attempted<()> {
        let mut release =
            self.tx.prepare_cached("UPDATE run SET holder = NULL WHERE id = ?1 AND epoch = ?2")?;
        for claim in claims {
            release.execute(params![claim.run.to_string(), claim.epoch.0 as i64])?;
            self.slots.remove(&claim.run);
        }
        Ok(())
    }

    fn post(&mut self, message: &Message) -> Attempted<()> {
        let run = message.run;
        let found: Option<(i64, bool)> = self
            .tx
            .prepare_cached("SELECT no, finished_at IS NOT NULL FROM run WHERE id = ?1")?
            .query_row(params![run.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            None => Err(Trouble::Refused(Error::NotFound { run })),
            Some((_, true)) => Err(Trouble::Refused(Error::Ended { run })),
            Some((no, false)) => {
                self.tx
                    .prepare_cached("INSERT INTO message (id, run, body) VALUES (?1, ?2, ?3)")?
                    .execute(params![message.id.to_string(), no, message.body])?;
                Ok(())
            }
        }
    }

    fn take_row(&mut self) -> i64 {
        let row = self.next_row;
        self.next_row += 1;
        row
    }

    fn insert_log(
        &self,
        row: i64,
        run: i64,
        first: u64,
        count: u32,
        prev: i64,
        events: &str,
    ) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "INSERT INTO log (id, run, first, count, prev, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![row, run, first as i64, count, prev, events])?;
        Ok(())
    }

    fn slot(&mut self, run: RunId) -> Attempted<Slot> {
        match self.slots.get(&run) {
            Some(slot) => Ok(*slot),
            None => self.reload_slot(run),
        }
    }

    fn reload_slot(&mut self, run: RunId) -> Attempted<Slot> {
        let slot = self
            .tx
            .prepare_cached("SELECT no, epoch, seq, head FROM run WHERE id = ?1")?
            .query_row(params![run.to_string()], |row| {
                Ok(Slot {
                    no: row.get(0)?,
                    epoch: row.get::<_, i64>(1)? as u64,
                    seq: row.get::<_, i64>(2)? as u64,
                    head: row.get(3)?,
                })
            })
            .optional()?
            .ok_or(Trouble::Refused(Error::NotFound { run }))?;
        self.slots.insert(run, slot);
        Ok(slot)
    }
}

fn refuse_unless_next(slot: &Slot, append: &Append) -> Attempted<()> {
    let run = append.run;
    if slot.epoch != append.epoch.0 {
        Err(Trouble::Refused(Error::Fenced { run }))
    } else if slot.seq + 1 != append.batch.first {
        Err(Trouble::Refused(Error::Conflict { run, expected: append.batch.first }))
    } else {
        Ok(())
    }
}

fn claimed_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Claimed> {
    Ok(Claimed { run: parsed(row, 0)?, epoch: Epoch(row.get::<_, i64>(1)? as u64) })
}

fn json_list(words: &[String]) -> String {
    serde_json::Value::from(words.to_vec()).to_string()
}

fn stop_word(standing: &Standing) -> Option<String> {
    standing.stop.and_then(|stop| serde_json::to_value(stop).ok()?.as_str().map(str::to_owned))
}

impl Write {
    fn weight(&self) -> usize {
        match self {
            Self::Create(new, _) => new.batch.text.len(),
            Self::Append(append, _) => append.batch.text.len(),
            Self::Claim(..) | Self::Release(..) | Self::Post(..) => 0,
        }
    }

    /// Tells the waiter, if it still waits, what became of its write.
    fn tell(self, told: Result<Told, Error>) {
        // The kind of answer follows from the kind of write; the error stands for a mismatch that cannot be.
        let odd = || Error::Io { reason: "the writer mixed up its answers".to_owned() };
        match self {
            Self::Create(_, waiter) => drop(waiter.send(told.and_then(|told| match told {
                Told::Created(created) => Ok(created),
                _ => Err(odd()),
            }))),
            Self::Claim(_, waiter) => drop(waiter.send(told.and_then(|told| match told {
                Told::Claimed(claimed) => Ok(claimed),
                _ => Err(odd()),
            }))),
            Self::Append(_, waiter) | Self::Release(_, waiter) | Self::Post(_, waiter) => {
                drop(waiter.send(told.map(drop)));
            }
        }
    }
}
