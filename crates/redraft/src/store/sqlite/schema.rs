//! The tables, how a file is opened, and what SQLite's errors mean to us.
//!
//! The journal is one table in order of arrival, so that a group commit of a thousand runs writes a few hundred
//! full pages at the end of the file instead of a thousand scattered ones; an index by run, or a table sorted by run,
//! costs three quarters of the speed (`docs/decisions/0002-sqlite-layout.md`). Each row points to the run's previous
//! one, and the run's row to its last: reading a run follows that chain.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior};

use super::super::Error;
use super::SqliteOptions;

/// The format of the file; raised when a table changes, with a migration here.
const FORMAT: i64 = 1;

/// Marks a file as ours: "rdft".
const APPLICATION: i64 = 0x7264_6674;

const TABLES: &str = "
CREATE TABLE run (
    no          INTEGER PRIMARY KEY,     -- in order of creation
    id          TEXT NOT NULL UNIQUE,    -- run_01J…
    workflow    TEXT NOT NULL,
    version     INTEGER NOT NULL,
    key         TEXT,                    -- idempotency key
    created_at  TEXT NOT NULL,
    status      TEXT NOT NULL,
    stop        TEXT,
    finished_at TEXT,
    summary     TEXT,                    -- what lists show, JSON
    holder      TEXT,                    -- driver_01J…, perhaps dead
    epoch       INTEGER NOT NULL,        -- raised by each claim; a write under an older one is refused
    seq         INTEGER NOT NULL,        -- number of the last event
    head        INTEGER NOT NULL         -- the run's last row in log
);
CREATE UNIQUE INDEX run_key ON run (workflow, key) WHERE key IS NOT NULL;
CREATE INDEX run_unfinished ON run (workflow) WHERE finished_at IS NULL;

CREATE TABLE log (
    id     INTEGER PRIMARY KEY,          -- in order of arrival, over all runs
    run    INTEGER NOT NULL,             -- run.no
    first  INTEGER NOT NULL,             -- number of the first event
    count  INTEGER NOT NULL,             -- how many events
    prev   INTEGER NOT NULL,             -- the run's row before this one, or 0
    events TEXT NOT NULL                 -- a JSON array
);

CREATE TABLE message (
    id   TEXT PRIMARY KEY,
    run  INTEGER NOT NULL,
    body TEXT NOT NULL
);

-- For people: one row per event.
CREATE VIEW event AS
SELECT run.id AS run, log.first + each.key AS seq, each.value ->> 'at' AS at, each.value ->> 'type' AS type,
       each.value ->> 'path' AS path, each.value AS event
FROM log JOIN run ON run.no = log.run, json_each(log.events) AS each;
";

/// Opens the file for the writer, and makes it a store if it is new.
pub(super) fn open_writer(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::CannotOpen { path: path.to_owned(), reason: error.to_string() })?;
    }
    let open = || -> rusqlite::Result<Connection> {
        let db = Connection::open(path)?;
        db.busy_timeout(options.busy_timeout)?;
        Ok(db)
    };
    let mut db =
        open().map_err(|error| Error::CannotOpen { path: path.to_owned(), reason: error.to_string() })?;
    if db.is_readonly("main").unwrap_or(false) {
        return Err(Error::ReadOnly { path: path.to_owned(), reason: "it may only be read".to_owned() });
    }
    prepare(&mut db, path, options)?;
    Ok(db)
}

fn prepare(db: &mut Connection, path: &Path, options: &SqliteOptions) -> Result<(), Error> {
    let fail = |error: rusqlite::Error| translate(path, &error);
    check_owner(db, path)?;
    // WAL with FULL: one flush per commit, and readers never wait. NORMAL would lose the last commits with the power.
    db.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    db.pragma_update(None, "fullfsync", true).map_err(fail)?;
    db.pragma_update(None, "cache_size", -32_768).map_err(fail)?;
    db.pragma_update(None, "wal_autocheckpoint", options.checkpoint_pages).map_err(fail)?;
    if let Some(bytes) = options.max_bytes {
        let page: i64 = db.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(fail)?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
        db.pragma_update(None, "max_page_count", pages).map_err(fail)?;
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    let format: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
    match format {
        0 => {
            tx.execute_batch(TABLES).map_err(fail)?;
            tx.pragma_update(None, "application_id", APPLICATION).map_err(fail)?;
            tx.pragma_update(None, "user_version", FORMAT).map_err(fail)?;
        }
        FORMAT => {}
        found => return Err(Error::FromTheFuture { path: path.to_owned(), found, known: FORMAT }),
    }
    tx.commit().map_err(fail)
}

/// Refuses a database that belongs to something else before anything in it is touched.
fn check_owner(db: &Connection, path: &Path) -> Result<(), Error> {
    let fail = |error: rusqlite::Error| translate(path, &error);
    // In one statement, so that another process that is making the tables is seen before or after, not in between.
    let (application, tables): (i64, i64) = db
        .query_row(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(fail)?;
    if application == APPLICATION || (application == 0 && tables == 0) {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: path.to_owned(),
        reason: "it is a SQLite database of another program".to_owned(),
    })
}

/// Opens the file for reading.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let fail = |error: rusqlite::Error| translate(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(fail)?;
    db.busy_timeout(Duration::from_secs(5)).map_err(fail)?;
    db.pragma_update(None, "query_only", true).map_err(fail)?;
    Ok(db)
}

/// Says what an error of SQLite means to the caller.
pub(super) fn translate(path: &Path, error: &rusqlite::Error) -> Error {
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { path: path.to_owned(), reason }
        }
        Some(ErrorCode::CannotOpen) => Error::CannotOpen { path: path.to_owned(), reason },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt { path: path.to_owned(), reason }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
        _ => Error::Io { reason },
    }
}

/// Reads a column that holds the text form of something.
pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get::<_, String>(column)?.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}
