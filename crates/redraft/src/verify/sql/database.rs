//! SQLite as the arbiter: what it prepares is right, what it refuses is wrong, and what it runs gives rows.
//!
//! The SQL comes from a draft and is not trusted. A file is opened for reading only; an authorizer lets through what
//! reads (and, on a database in memory, what writes there), and never another file, an extension or a setting; time,
//! rows and bytes are bounded.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Batch, Connection, ErrorCode, OpenFlags};

use super::rows::{Cell, Given};
use crate::suggest::nearest;
use crate::verify::{Error, Finding, Position};

/// How many bytes of rows are taken.
const MOST_BYTES: usize = 1 << 20;

/// How many steps of its machine SQLite makes between two looks at the clock.
const STEPS: i32 = 1000;

/// A database that a draft's SQL is tried on.
pub(super) struct Database {
    connection: Connection,
    guard: Arc<Mutex<Guard>>,
    writable: bool,
}

/// What the authorizer knows, and why it refused.
#[derive(Debug, Default)]
struct Guard {
    refused: Option<Refused>,
}

#[derive(Clone, Debug)]
enum Refused {
    Writing,
    Forbidden(String),
}

/// What a statement may use up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub rows: usize,
    pub time: Duration,
}

/// What SQLite says against a text.
#[derive(Debug)]
pub(super) enum Objection {
    /// A name is not there, or is there twice: the rule, the name, and the byte where it stands, if known.
    Name { rule: &'static str, name: String, at: Option<usize> },
    /// Anything else.
    Other(Box<Finding>),
}

impl Objection {
    fn of(finding: Finding) -> Self {
        Self::Other(Box::new(finding))
    }
}

impl Database {
    /// Opens a file for reading.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let unusable =
            |error: &rusqlite::Error| Error::SqlDatabase { path: path.to_owned(), reason: words(error) };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| unusable(&error))?;
        // A file is only read when something is asked of it: one that is no database shows itself here.
        connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .and_then(|()| connection.pragma_update(None, "query_only", true))
            .map_err(|error| unusable(&error))?;
        Self::guarded(connection, false).map_err(|error| unusable(&error))
    }

    /// Builds a database in memory.
    pub(super) fn in_memory(schema: &str, writable: bool) -> Result<Self, Error> {
        let bad = |error: &rusqlite::Error| {
            let place = offset(error, schema).map(|at| Position::of(schema, at));
            let place = place.map_or_else(String::new, |at| format!(" (line {at})"));
            Error::SqlSchema { reason: format!("{}{place}", words(error)) }
        };
        let connection = Connection::open_in_memory().map_err(|error| bad(&error))?;
        connection.execute_batch(schema).map_err(|error| bad(&error))?;
        if !writable {
            connection.pragma_update(None, "query_only", true).map_err(|error| bad(&error))?;
        }
        Self::guarded(connection, writable).map_err(|error| bad(&error))
    }

    fn guarded(mut connection: Connection, writable: bool) -> rusqlite::Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        // A function on one value cannot be stopped half-way, so values must be short.
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 1 << 20)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)?;
        connection.set_limit(Limit::SQLITE_LIMIT_WORKER_THREADS, 0)?;
        let guard: Arc<Mutex<Guard>> = Arc::default();
        let shared = Arc::clone(&guard);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            let Some(refused) = refusal(&context.action, writable) else { return Authorization::Allow };
            let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
            guard.refused.get_or_insert(refused);
            Authorization::Deny
        }))?;
        Ok(Self { connection, guard, writable })
    }

    /// Returns the connection, for reading the schema.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Goes through the statements of a text: how many there are, and what the last one gave if it was run.
    ///
    /// On a database that may be written to, all but the last are run in any case, for the next may need what they make.
    pub(super) fn go_through(&mut self, sql: &str, run: Option<Bounds>) -> Result<(usize, Given), Objection> {
        let bounds = run.unwrap_or(Bounds { rows: usize::MAX, time: Duration::from_secs(5) });
        self.watch(bounds.time).map_err(|error| self.objection(&error, sql, bounds))?;
        let mut batch = Batch::new(&self.connection, sql);
        let mut count = 0;
        let mut given = Given::default();
        let mut next = batch.next().map_err(|error| self.objection(&error, sql, bounds))?;
        while let Some(mut statement) = next.take() {
            count += 1;
            if !self.writable && !statement.readonly() {
                return Err(Objection::of(not_read_only()));
            }
            if run.is_some() && statement.parameter_count() > 0 {
                let message = "the query waits for values from outside (`?`), and there are none";
                let finding = Finding::new("parameters", message).about("parameters");
                return Err(Objection::of(finding.suggest("write the values into the query")));
            }
            if run.is_some() || self.writable {
                given = self.rows_of(&mut statement, sql, bounds)?;
            }
            drop(statement);
            next = batch.next().map_err(|error| self.objection(&error, sql, bounds))?;
        }
        Ok((count, given))
    }

    fn rows_of(
        &self,
        statement: &mut rusqlite::Statement<'_>,
        sql: &str,
        bounds: Bounds,
    ) -> Result<Given, Objection> {
        let failed = |error: &rusqlite::Error| self.objection(error, sql, bounds);
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let mut given = Given { columns, rows: Vec::new() };
        let mut bytes = 0;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| failed(&error))? {
            let mut cells = Vec::with_capacity(width);
            for at in 0..width {
                let value = row.get_ref(at).map_err(|error| failed(&error))?;
                bytes += value.as_bytes().map_or(8, <[u8]>::len);
                cells.push(if bytes > MOST_BYTES { Cell::Null } else { Cell::of(value) });
            }
            if given.rows.len() >= bounds.rows || bytes > MOST_BYTES {
                let limit = if bytes > MOST_BYTES {
                    format!("{MOST_BYTES} bytes")
                } else {
                    format!("{} rows", bounds.rows)
                };
                let finding = Finding::new("too-many-rows", format!("the query gives more than {limit}"));
                let how = "narrow it down: look at the joins and the conditions";
                return Err(Objection::of(finding.about("rows").suggest(how)));
            }
            given.rows.push(cells);
        }
        Ok(given)
    }

    /// Stops what takes longer than this from now on.
    #[expect(
        clippy::disallowed_methods,
        reason = "bounds the work of one step; its result is journaled, not the time"
    )]
    fn watch(&mut self, time: Duration) -> rusqlite::Result<()> {
        let start = Instant::now();
        self.connection.progress_handler(STEPS, Some(move || start.elapsed() > time))
    }

    fn objection(&self, error: &rusqlite::Error, sql: &str, bounds: Bounds) -> Objection {
        let at = offset(error, sql);
        let text = words(error);
        let refused = self.guard.lock().unwrap_or_else(PoisonError::into_inner).refused.take();
        let code = error.sqlite_error_code();
        if let Some(refused) = refused {
            return Objection::of(match refused {
                Refused::Writing => not_read_only(),
                Refused::Forbidden(what) => {
                    Finding::new("forbidden", format!("{what} cannot be used here")).about(what)
                }
            });
        }
        if code == Some(ErrorCode::OperationInterrupted) {
            let message = format!("it took longer than {} ms and was stopped", bounds.time.as_millis());
            let how = "look for joins without a condition and recursion without an end";
            return Objection::of(Finding::new("too-slow", message).about("time").suggest(how));
        }
        if let Some(rest) = text.strip_prefix("cannot join using column ")
            && let Some((name, _)) = rest.split_once(" - ")
        {
            return Objection::Name { rule: "unknown-column", name: name.to_owned(), at };
        }
        if let Some((_, name)) = text.split_once(" has no column named ") {
            return Objection::Name { rule: "unknown-column", name: name.to_owned(), at };
        }
        for (start, rule) in [
            ("no such table: ", "unknown-table"),
            ("no such column: ", "unknown-column"),
            ("ambiguous column name: ", "ambiguous-column"),
        ] {
            if let Some(rest) = text.strip_prefix(start) {
                let name = rest.split(" - should this be").next().unwrap_or(rest).trim().to_owned();
                return Objection::Name { rule, name, at };
            }
        }
        let finding = if let Some(name) = text.strip_prefix("no such function: ") {
            let near = nearest(&name.to_ascii_lowercase(), self.functions().iter().map(String::as_str));
            let finding =
                Finding::new("unknown-function", format!("SQLite has no function `{name}`")).about(name);
            match near {
                Some(near) => finding.suggest(format!("did you mean `{near}`?")),
                None => finding,
            }
        } else if is_syntax(&text) {
            Finding::new("syntax", format!("not valid in SQLite: {text}")).about("syntax")
        } else {
            let rule = if at.is_some() { "rejected" } else { "failed" };
            Finding::new(rule, format!("SQLite says: {text}"))
        };
        Objection::of(match at {
            Some(at) => finding.span(sql, at..at),
            None if text == "incomplete input" => {
                finding.span(sql, sql.trim_end().len()..sql.trim_end().len())
            }
            None => finding,
        })
    }

    fn functions(&self) -> Vec<String> {
        let read = || {
            let mut query = self.connection.prepare("SELECT DISTINCT name FROM pragma_function_list")?;
            query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        };
        read().unwrap_or_default()
    }
}

/// Says whether SQLite's words are about the grammar, which no schema changes.
pub(super) fn is_syntax(text: &str) -> bool {
    text.contains("syntax error") || text == "incomplete input" || text.starts_with("unrecognized token")
}

fn not_read_only() -> Finding {
    Finding::new("not-read-only", "it may only read, and this does more")
        .about("write")
        .suggest("write a single SELECT, WITH … SELECT or VALUES")
}

/// Says why something is not allowed, if it is not.
fn refusal(action: &AuthAction<'_>, writable: bool) -> Option<Refused> {
    const PRAGMAS: [&str; 12] = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "function_list",
        "collation_list",
        "module_list",
        "compile_options",
        "data_version",
    ];
    const FUNCTIONS: [&str; 5] = ["load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"];
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => None,
        AuthAction::Function { function_name } => FUNCTIONS
            .contains(&function_name.to_ascii_lowercase().as_str())
            .then(|| Refused::Forbidden(format!("`{function_name}`"))),
        AuthAction::Pragma { pragma_name, .. } => (!PRAGMAS
            .contains(&pragma_name.to_ascii_lowercase().as_str()))
        .then(|| Refused::Forbidden(format!("`PRAGMA {pragma_name}`"))),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            Some(Refused::Forbidden("another database".to_owned()))
        }
        AuthAction::Unknown { .. } => Some(Refused::Forbidden("this statement".to_owned())),
        _ => (!writable).then_some(Refused::Writing),
    }
}

/// Returns SQLite's own words, without the text they are about.
fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(code, message) => message.clone().unwrap_or_else(|| code.to_string()),
        other => other.to_string(),
    }
}

/// Returns the byte of the whole text that an error points at. SQLite counts from where the statement begins.
fn offset(error: &rusqlite::Error, whole: &str) -> Option<usize> {
    let rusqlite::Error::SqlInputError { sql, offset, .. } = error else { return None };
    let start = whole.len().checked_sub(sql.len()).filter(|_| whole.ends_with(sql.as_str()))?;
    Some(start + usize::try_from(*offset).ok()?)
}
