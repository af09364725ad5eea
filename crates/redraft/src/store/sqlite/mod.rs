//! The embedded default: one SQLite file, flushed to the disk at every commit.
//!
//! `schema` has the tables and says why they are laid out as they are, `writer` the group commit, `drivers` how
//! we know who is alive. Several engines and several processes may share a file: each run is held by one driver, and
//! a write from any other is refused.

mod drivers;
mod schema;
mod writer;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::oneshot;

use self::drivers::Drivers;
use self::schema::{open_reader, open_writer, parsed, translate};
use self::writer::{Write, Writer};
use super::{
    Append, Batch, Claim, Claimed, Created, Epoch, Error, Head, Lease, Message, NewRun, Query, Reply,
    Standing, Store,
};
use crate::id::{DriverId, RunId};
use crate::outcome::Status;

/// How a SQLite store behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// How long to wait for another process that writes to the same file.
    pub busy_timeout: Duration,
    /// The most the database may grow to; beyond it, writes are refused with [`Error::Full`].
    pub max_bytes: Option<u64>,
    /// After how many pages the write-ahead log is folded into the database.
    pub checkpoint_pages: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(30), max_bytes: None, checkpoint_pages: 2000 }
    }
}

/// Keeps runs in a SQLite file.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    writer: Sender<Write>,
    drivers: Drivers,
    readers: Mutex<Vec<Connection>>,
}

/// Readers kept open for the next question.
const KEPT_READERS: usize = 4;

impl SqliteStore {
    /// Opens the store at `path`, making the file and its folders if they are not there.
    ///
    /// # Errors
    /// If the file cannot be written, is not a redraft store, is damaged, or was made by a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &SqliteOptions::default())
    }

    /// Opens the store at `path` with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &SqliteOptions) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let db = open_writer(&path, options)?;
        // SQLite follows links; so must we, or two names of one file would have two sets of drivers. And a relative
        // path would mean something else once the process changes its folder.
        let path = std::fs::canonicalize(&path)
            .map_err(|error| Error::CannotOpen { path: path.clone(), reason: error.to_string() })?;
        Self::writing_with(db, path)
    }

    fn writing_with(db: Connection, path: PathBuf) -> Result<Self, Error> {
        let drivers = Drivers::beside(&path);
        let (sender, receiver) = channel();
        let writer = Writer::new(db, path.clone(), drivers.clone());
        std::thread::Builder::new()
            .name("redraft-writer".to_owned())
            .spawn(move || writer.work(&receiver))
            .map_err(|error| Error::Io { reason: error.to_string() })?;
        Ok(Self { inner: Arc::new(Inner { path, writer: sender, drivers, readers: Mutex::default() }) })
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Hands a write to the writer at once; the reply only waits for it.
    fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Write,
    ) -> Reply<'_, T> {
        let (waiter, done) = oneshot::channel();
        let sent = self.inner.writer.send(write(waiter));
        Box::pin(async move {
            sent.map_err(|_| Error::Closed)?;
            done.await.unwrap_or(Err(Error::Closed))
        })
    }

    fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Reply<'_, T> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let answered = tokio::task::spawn_blocking(move || inner.query(query)).await;
            answered.unwrap_or_else(|error| Err(Error::Io { reason: error.to_string() }))
        })
    }
}

impl Inner {
    fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let kept = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match kept {
            Some(reader) => reader,
            None => open_reader(&self.path)?,
        };
        let answer = query(&reader).map_err(|error| translate(&self.path, &error));
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < KEPT_READERS {
            readers.push(reader);
        }
        answer
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn durability(&self) -> &'static str {
        "sqlite-wal-fsync"
    }

    fn attach(&self) -> Reply<'_, Lease> {
        let drivers = self.inner.drivers.clone();
        Box::pin(async move {
            let attached = tokio::task::spawn_blocking(move || drivers.attach()).await;
            let path = || self.inner.path.clone();
            match attached.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok((driver, life)) => Ok(Lease::new(driver, life)),
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
                    ) =>
                {
                    Err(Error::ReadOnly { path: path(), reason: error.to_string() })
                }
                Err(error) if error.kind() == ErrorKind::StorageFull => Err(Error::Full),
                Err(error) => Err(Error::CannotOpen { path: path(), reason: error.to_string() }),
            }
        })
    }

    fn create(&self, new: NewRun) -> Reply<'_, Created> {
        self.write(|waiter| Write::Create(Box::new(new), waiter))
    }

    fn append(&self, append: Append) -> Reply<'_, ()> {
        self.write(|waiter| Write::Append(append, waiter))
    }

    fn claim(&self, claim: Claim) -> Reply<'_, Vec<Claimed>> {
        self.write(|waiter| Write::Claim(claim, waiter))
    }

    fn release(&self, claims: Vec<Claimed>) -> Reply<'_, ()> {
        self.write(|waiter| Write::Release(claims, waiter))
    }

    fn read(&self, run: RunId, after: u64) -> Reply<'_, Vec<Batch>> {
        let found = self.query(move |db| read_chain(db, run, after));
        Box::pin(async move { found.await?.ok_or(Error::NotFound { run }) })
    }

    fn head(&self, run: RunId) -> Reply<'_, Option<Head>> {
        self.query(move |db| {
            db.prepare_cached(&format!("SELECT {HEAD} FROM run WHERE id = ?1"))?
                .query_row(params![run.to_string()], head_row)
                .optional()
        })
    }

    fn list(&self, query: Query) -> Reply<'_, Vec<Head>> {
        self.query(move |db| list(db, &query))
    }

    fn post(&self, message: Message) -> Reply<'_, ()> {
        self.write(|waiter| Write::Post(message, waiter))
    }

    fn inbox(&self, driver: DriverId) -> Reply<'_, Vec<Message>> {
        self.query(move |db| {
            db.prepare_cached(
                "SELECT message.id, run.id, message.body FROM message JOIN run ON run.no = message.run
                 WHERE run.holder = ?1 ORDER BY message.rowid",
            )?
            .query_map(params![driver.to_string()], |row| {
                Ok(Message { id: parsed(row, 0)?, run: parsed(row, 1)?, body: row.get(2)? })
            })?
            .collect()
        })
    }
}

/// Follows the run's rows back from its head, as far as asked for.
fn read_chain(db: &Connection, run: RunId, after: u64) -> rusqlite::Result<Option<Vec<Batch>>> {
    let head: Option<i64> = db
        .prepare_cached("SELECT head FROM run WHERE id = ?1")?
        .query_row(params![run.to_string()], |row| row.get(0))
        .optional()?;
    let Some(mut row) = head else { return Ok(None) };
    let mut statement = db.prepare_cached("SELECT first, count, prev, events FROM log WHERE id = ?1")?;
    let mut batches = Vec::new();
    while row != 0 {
        let (batch, prev) = statement.query_row(params![row], |row| {
            let first = row.get::<_, i64>(0)? as u64;
            Ok((Batch { first, count: row.get(1)?, text: row.get(3)? }, row.get::<_, i64>(2)?))
        })?;
        if batch.last() <= after {
            break;
        }
        batches.push(batch);
        row = prev;
    }
    batches.reverse();
    Ok(Some(batches))
}

const HEAD: &str =
    "id, workflow, version, status, stop, finished_at, summary, key, created_at, seq, epoch, holder";

fn head_row(row: &Row<'_>) -> rusqlite::Result<Head> {
    let status: String = row.get(3)?;
    let stop: Option<String> = row.get(4)?;
    Ok(Head {
        run: parsed(row, 0)?,
        workflow: row.get(1)?,
        version: row.get(2)?,
        standing: Standing {
            status: Status::from_word(&status).unwrap_or(Status::Running),
            stop: stop.and_then(|word| serde_json::from_value(word.into()).ok()),
            finished_at: row.get::<_, Option<String>>(5)?.and_then(|at| at.parse().ok()),
            summary: row.get(6)?,
        },
        key: row.get(7)?,
        created_at: parsed(row, 8)?,
        seq: row.get::<_, i64>(9)? as u64,
        epoch: Epoch(row.get::<_, i64>(10)? as u64),
        holder: row.get::<_, Option<String>>(11)?.and_then(|id| id.parse().ok()),
    })
}

fn list(db: &Connection, query: &Query) -> rusqlite::Result<Vec<Head>> {
    let words: Vec<&str> = query.status.iter().map(|status| status.as_str()).collect();
    db.prepare_cached(&format!(
        "SELECT {HEAD} FROM run
         WHERE (?1 IS NULL OR workflow = ?1)
           AND (?2 = '[]' OR status IN (SELECT value FROM json_each(?2)))
           AND (?3 IS NULL OR no < (SELECT no FROM run WHERE id = ?3))
         ORDER BY no DESC LIMIT ?4"
    ))?
    .query_map(
        params![
            query.workflow,
            serde_json::Value::from(words).to_string(),
            query.before.map(|run| run.to_string()),
            query.limit.map_or(-1, i64::from),
        ],
        head_row,
    )?
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Standing;

    /// Rights do not stop an administrator, so the file is made unwritable from within.
    #[tokio::test]
    async fn a_file_that_may_only_be_read_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read-only.db");
        let db = open_writer(&path, &SqliteOptions::default()).unwrap();
        db.pragma_update(None, "query_only", true).unwrap();
        let store = SqliteStore::writing_with(db, path).unwrap();
        let lease = store.attach().await.unwrap();
        let new = NewRun {
            run: RunId::new(),
            workflow: "essay".to_owned(),
            version: 1,
            key: None,
            created_at: crate::clock::Timestamp::EPOCH,
            standing: Standing::unfinished(Status::Queued),
            driver: lease.driver,
            batch: Batch { first: 1, count: 1, text: "[{}]".to_owned() },
        };
        let error = store.create(new).await.unwrap_err();
        assert_eq!(error.code(), "store-read-only", "{error}");
        assert_eq!(store.list(Query::default()).await.unwrap(), []);
    }
}
