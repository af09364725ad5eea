//! SQL: it parses, its names are there, it only reads, it runs, and it gives the rows that were expected.
//!
//! For SQLite the last word is SQLite's own, on a database built from the schema or opened for reading; the resolver in
//! `names` adds what SQLite does not say: where, and what was meant. For other dialects the parser and the resolver judge
//! alone, and stay silent where they are in doubt.

mod database;
mod dialect;
mod names;
mod rows;
mod schema;
mod statement;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlparser::ast::Statement;

use self::database::{Bounds, Database, Objection};
pub use self::dialect::Dialect;
use self::names::{Misnamed, Resolver};
pub use self::rows::Expect;
use self::schema::Schema;
use self::statement::Unparsed;
use super::{Case, Cost, Error, Evidence, Finding, Severity, Verdict, Verifier, Verifying};
use crate::failure::Failure;
use crate::run::{Ctx, Step};

/// How much room is kept for walking a query: a draft can nest deeply, or chain operators by the thousand.
const STACK: usize = 64 << 20;

/// What an SQL check is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// The dialect; SQLite if there is a database or something to run, else whatever most databases understand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Statements that make the tables, and for running also their rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// A SQLite file, which is only ever read. It is what counts, also where a schema is given: that is then for whoever
    /// writes the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<PathBuf>,
    /// Whether to run the query.
    pub run: bool,
    /// What it should give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Whether only reading statements are allowed.
    pub read_only: bool,
    /// How many statements there may be.
    pub statements: Statements,
    /// How many rows the query may give.
    pub max_rows: usize,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// How many statements a draft may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statements {
    /// Exactly one.
    #[default]
    One,
    /// One or more; what the last one gives is compared.
    Many,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dialect: None,
            schema: None,
            database: None,
            run: false,
            expect: None,
            read_only: true,
            statements: Statements::One,
            max_rows: 1000,
            timeout_ms: 5000,
        }
    }
}

/// Judges drafts that are SQL.
///
/// ```
/// use redraft::verify::sql::{Settings, Sql};
///
/// let mut settings = Settings::default();
/// settings.schema = Some("CREATE TABLE users (id INTEGER, name TEXT)".to_owned());
/// let sql = Sql::new(settings)?;
/// let verdict = sql.check("SELECT nmae FROM users")?;
/// assert_eq!(verdict.findings[0].to_string(), "line 1:8: there is no column `nmae` in users");
/// assert_eq!(verdict.findings[0].suggestion.as_deref(), Some("did you mean `name`?"));
/// # Ok::<_, redraft::verify::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sql {
    settings: Arc<Settings>,
    dialect: Dialect,
    /// What the schema says, if there is one.
    schema: Option<Arc<Schema>>,
}

impl Sql {
    /// Makes the check. A database is not opened yet.
    ///
    /// # Errors
    /// When the settings contradict each other, or the schema cannot be read.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let bad = |reason: &str| Err(Error::SqlSettings { reason: reason.to_owned() });
        let needs_sqlite = settings.database.is_some() || settings.run || settings.expect.is_some();
        let dialect =
            settings.dialect.unwrap_or(if needs_sqlite { Dialect::Sqlite } else { Dialect::Generic });
        if needs_sqlite && dialect != Dialect::Sqlite {
            return bad("`database`, `run` and `expect` need `dialect: sqlite`");
        }
        if settings.run && settings.database.is_none() && settings.schema.is_none() {
            return bad("`run` needs a `schema` or a `database`");
        }
        if settings.database.is_some() && !settings.read_only {
            return bad("a `database` is only ever read: `read_only` must stay `true`");
        }
        if settings.max_rows == 0 || settings.timeout_ms == 0 {
            return bad("`max_rows` and `timeout_ms` must not be 0");
        }
        if let Some(expect) = &settings.expect {
            if !settings.run {
                return bad("`expect` needs `run: true`");
            }
            if let Some(problem) = expect.problem() {
                return bad(&problem);
            }
        }
        let schema = match &settings.schema {
            Some(text) => Some(Arc::new(read_schema(dialect, text)?)),
            None => None,
        };
        Ok(Self { settings: Arc::new(settings), dialect, schema })
    }

    /// Judges a text. It may open a file and take as long as the settings allow: within a workflow, use
    /// [`Verifier::verify`].
    ///
    /// # Errors
    /// When the database cannot be used.
    pub fn check(&self, draft: &str) -> Result<Verdict, Error> {
        let findings = with_room(|| self.findings(draft))?;
        Ok(Verdict::of(findings))
    }

    fn findings(&self, draft: &str) -> Result<Vec<Finding>, Error> {
        let sql = statement::sql_of(draft);
        if sql.trim().is_empty() {
            return Ok(vec![Finding::new("no-statement", "there is no SQL").about("statement")]);
        }
        if let Some(at) = sql.find('\0') {
            return Ok(vec![
                Finding::new("syntax", "there is a zero byte").about("syntax").span(&sql, at..at + 1),
            ]);
        }
        let parsed = statement::parse(self.dialect, &sql);
        if let Err(unparsed @ Unparsed::TooLong(_)) = &parsed {
            return Ok(vec![statement::syntax(unparsed, self.dialect, &sql)]);
        }
        if let Ok(statements) = &parsed {
            let found = self.form(statements);
            if !found.is_empty() {
                return Ok(found);
            }
        }
        if self.dialect == Dialect::Sqlite {
            return self.by_sqlite(&sql, parsed.ok());
        }
        Ok(match parsed {
            Err(unparsed) => vec![statement::syntax(&unparsed, self.dialect, &sql)],
            Ok(statements) => {
                let schema = self.schema.as_deref().cloned();
                self.misnamed(schema, &statements).into_iter().map(finding).collect()
            }
        })
    }

    /// Looks at how many statements there are, and whether they only read.
    fn form(&self, statements: &[Statement]) -> Vec<Finding> {
        let mut found = Vec::new();
        if statements.is_empty() {
            found.push(Finding::new("no-statement", "there is no SQL but comments").about("statement"));
        }
        if self.settings.read_only {
            found.extend(statement::writes(statements));
        }
        found.extend(self.too_many(statements.len()));
        found
    }

    fn too_many(&self, count: usize) -> Option<Finding> {
        (count > 1 && self.settings.statements == Statements::One).then(|| {
            Finding::new("several-statements", format!("there are {count} statements, and one is wanted"))
                .about("statements")
        })
    }

    fn misnamed(&self, schema: Option<Schema>, statements: &[Statement]) -> Vec<Misnamed> {
        let Some(mut schema) = schema else { return Vec::new() };
        let mut found = Vec::new();
        for statement in statements {
            found.extend(Resolver::new(self.dialect, &schema).check(statement));
            schema.apply(self.dialect, statement);
        }
        found
    }

    /// Lets SQLite judge.
    fn by_sqlite(&self, sql: &str, parsed: Option<Vec<Statement>>) -> Result<Vec<Finding>, Error> {
        let settings = &*self.settings;
        let writable = !settings.read_only;
        let mut database = match (&settings.database, &settings.schema) {
            (Some(path), _) => Database::open(path)?,
            (None, schema) => Database::in_memory(schema.as_deref().unwrap_or_default(), writable)?,
        };
        let schema = match &settings.database {
            Some(path) => Some(
                Schema::of_database(database.connection())
                    .map_err(|error| Error::SqlDatabase { path: path.clone(), reason: error.to_string() })?,
            ),
            None => self.schema.as_deref().cloned(),
        };
        let has_schema = schema.is_some();
        let misnamed = self.misnamed(schema, &parsed.unwrap_or_default());
        let bounds = Bounds { rows: settings.max_rows, time: Duration::from_millis(settings.timeout_ms) };
        match database.go_through(sql, settings.run.then_some(bounds)) {
            Ok((0, _)) => {
                Ok(vec![Finding::new("no-statement", "there is no SQL but comments").about("statement")])
            }
            Ok((count, given)) => {
                let mut found: Vec<Finding> = misnamed.iter().filter_map(quoted_text).collect();
                found.extend(self.too_many(count));
                found.extend(settings.expect.as_ref().and_then(|expect| expect.compare(&given)));
                Ok(found)
            }
            Err(Objection::Name { rule, name, at }) if has_schema => {
                Ok(named(misnamed, rule, &name, at, sql))
            }
            // Without a schema nothing is known of names, functions apart: only the grammar counts.
            Err(Objection::Name { .. }) => Ok(Vec::new()),
            Err(Objection::Other(finding)) => Ok(vec![*finding]),
        }
    }
}

/// Combines what SQLite says, which is sure but ends with the first name, and what the resolver found.
fn named(
    misnamed: Vec<Misnamed>,
    rule: &'static str,
    name: &str,
    at: Option<usize>,
    sql: &str,
) -> Vec<Finding> {
    let last = |name: &str| {
        name.rsplit('.').next().unwrap_or(name).trim_matches(['"', '`', '[', ']']).to_lowercase()
    };
    let first = name.rsplit_once('.').map(|(front, _)| last(front));
    let is_confirmed = misnamed.iter().any(|found| {
        let own = last(&found.name);
        own == last(name) || (found.rule == "unknown-table" && Some(own) == first)
    });
    if is_confirmed {
        return misnamed
            .into_iter()
            .filter(|found| !found.quoted || last(&found.name) == last(name))
            .map(finding)
            .collect();
    }
    let message = match rule {
        "unknown-table" => format!("there is no table `{name}`"),
        "ambiguous-column" => format!("`{name}` could be a column of several tables"),
        _ => format!("there is no column `{name}`"),
    };
    let finding = Finding::new(rule, message).about(name);
    vec![match at {
        Some(at) => finding.span(sql, at..at + name.len()),
        None => finding,
    }]
}

/// SQLite takes a name in double quotes that is no column for a text.
fn quoted_text(misnamed: &Misnamed) -> Option<Finding> {
    let is_text = misnamed.quoted && misnamed.rule == "unknown-column";
    is_text.then(|| {
        let name = &misnamed.name;
        let message = format!("`\"{name}\"` is no column, so SQLite takes it for a text");
        let finding = Finding::new("text-in-double-quotes", message).about(name).severity(Severity::Minor);
        finding.at(statement::place(misnamed.span)).suggest(format!("write '{name}' for a text"))
    })
}

fn finding(misnamed: Misnamed) -> Finding {
    let mut finding = Finding::new(misnamed.rule, misnamed.message).about(misnamed.name);
    if misnamed.span.start.line > 0 {
        finding = finding.at(statement::place(misnamed.span));
    }
    finding.suggestion = misnamed.suggestion;
    finding.evidence = misnamed.evidence;
    finding
}

fn read_schema(dialect: Dialect, text: &str) -> Result<Schema, Error> {
    if dialect == Dialect::Sqlite {
        let database = Database::in_memory(text, false)?;
        let read = Schema::of_database(database.connection());
        return read.map_err(|error| Error::SqlSchema { reason: error.to_string() });
    }
    with_room(|| match statement::parse_schema(dialect, text) {
        Ok(statements) => Ok(Schema::of_statements(dialect, &statements)),
        Err(unparsed) => {
            let finding = statement::syntax(&unparsed, dialect, text);
            Err(Error::SqlSchema { reason: finding.to_string() })
        }
    })
}

/// Does something on a thread with room for deep recursion.
fn with_room<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::NoThread(error)),
        }
    })
}

impl Verifier for Sql {
    fn evidence(&self) -> Evidence {
        Evidence::Sound
    }

    fn cost(&self) -> Cost {
        if self.settings.run || self.settings.database.is_some() { Cost::Program } else { Cost::Free }
    }

    fn describe(&self) -> Value {
        serde_json::to_value(&*self.settings).unwrap_or_default()
    }

    fn demand(&self) -> String {
        let settings = &*self.settings;
        let count = match settings.statements {
            Statements::One => "a single SQL statement",
            Statements::Many => "SQL statements",
        };
        let mut demand = format!("{count} in {}", self.dialect.shown());
        if settings.read_only {
            demand.push_str(" that only reads");
        }
        if let Some(schema) = &self.schema {
            demand.push_str(", with no other tables and columns than ");
            demand.push_str(&schema.shown());
        }
        if let Some(columns) = settings.expect.as_ref().and_then(|expect| expect.columns.as_ref()) {
            demand.push_str("; its columns are ");
            demand.push_str(&columns.join(", "));
        }
        if settings.expect.as_ref().is_some_and(|expect| expect.ordered) {
            demand.push_str("; the order of its rows counts");
        }
        demand
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let step = Step::named("check").input(&self.describe()).input(&case.draft);
            ctx.step(step, || {
                let (sql, draft) = (self.clone(), Arc::clone(&case.draft));
                async move {
                    let work = tokio::task::spawn_blocking(move || sql.check(&draft));
                    match work.await {
                        Ok(verdict) => verdict.map_err(Failure::from),
                        Err(error) => match error.try_into_panic() {
                            Ok(panic) => std::panic::resume_unwind(panic),
                            Err(_) => Err(Failure::cancelled("the engine is shutting down")),
                        },
                    }
                }
            })
            .await
        })
    }
}

#[cfg(test)]
mod tests;
