//! The rows a query gives, against those that were expected.

use std::fmt::Write;

use rusqlite::types::ValueRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::verify::Finding;

/// What a query should give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The rows, each a list of numbers, texts, booleans and nulls. A blob is written as in SQL: `x'0aff'`.
    pub rows: Vec<Vec<Value>>,
    /// Whether their order counts.
    #[serde(default)]
    pub ordered: bool,
    /// The names of the columns, if they count; upper and lower case are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
}

/// How many rows are shown of those that are missing, and of those that are too many.
const MOST_SHOWN: usize = 10;

/// A value of a row.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    /// As SQL writes it.
    Blob(String),
}

impl Cell {
    pub(super) fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => {
                let mut text = "x'".to_owned();
                for byte in bytes {
                    let _ = write!(text, "{byte:02x}");
                }
                text.push('\'');
                Self::Blob(text)
            }
        }
    }

    /// Reads an expected value; a list or an object is none.
    fn expected(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Integer(i64::from(*flag)),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Self::Integer(number),
                None => Self::Real(number.as_f64()?),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    /// Says whether two values are the same. Numbers are compared by what they are worth, and reals by all digits that
    /// a sum in another order leaves the same.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Real(a), Self::Real(b)) => is_near(*a, *b),
            #[expect(clippy::cast_precision_loss, reason = "a real has no more digits to compare with")]
            (Self::Integer(a), Self::Real(b)) | (Self::Real(b), Self::Integer(a)) => is_near(*a as f64, *b),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Blob(a), Self::Blob(b) | Self::Text(b)) | (Self::Text(b), Self::Blob(a)) => {
                a.eq_ignore_ascii_case(b)
            }
            _ => false,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => format!("{number:?}"),
            Self::Text(text) => {
                let short: String = text.chars().take(60).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                format!("'{}{dots}'", short.replace('\n', "\\n").replace('|', "\\|"))
            }
            Self::Blob(text) => text.chars().take(40).collect(),
        }
    }
}

fn is_near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

type Row = Vec<Cell>;

/// What a query gave.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

impl Expect {
    /// Says what is wrong with an expectation.
    pub(super) fn problem(&self) -> Option<String> {
        let width = self.columns.as_ref().map(Vec::len).or_else(|| self.rows.first().map(Vec::len));
        for (row, number) in self.rows.iter().zip(1..) {
            if Some(row.len()) != width {
                return Some(format!(
                    "expected row {number} has {} values, not {}",
                    row.len(),
                    width.unwrap_or(0)
                ));
            }
            if row.iter().any(|value| Cell::expected(value).is_none()) {
                return Some(format!("expected row {number} holds a list or an object"));
            }
        }
        None
    }

    /// Compares what was given with what was expected.
    pub(super) fn compare(&self, given: &Given) -> Option<Finding> {
        if let Some(columns) = &self.columns {
            let same = columns.len() == given.columns.len()
                && columns.iter().zip(&given.columns).all(|(a, b)| a.eq_ignore_ascii_case(b));
            if !same {
                let message = format!("the columns are {}, not {}", list(&given.columns), list(columns));
                let how = "name the columns as expected, in this order, with AS where needed";
                return Some(Finding::new("wrong-columns", message).about("columns").suggest(how));
            }
        }
        let expected: Vec<Row> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|value| Cell::expected(value).unwrap_or(Cell::Null)).collect())
            .collect();
        let (missing, extra) = difference(&expected, &given.rows);
        if missing.is_empty() && extra.is_empty() {
            return self.order(&expected, given);
        }
        let message = format!(
            "the query gives {} where {} expected: {} missing, {} not expected",
            rows(given.rows.len()),
            if expected.len() == 1 { "1 was".to_owned() } else { format!("{} were", expected.len()) },
            missing.len(),
            extra.len()
        );
        let mut evidence = String::new();
        for (title, rows) in [("missing", &missing), ("not expected", &extra)] {
            if !rows.is_empty() {
                let _ = write!(evidence, "{title}:\n{}", table(&given.columns, rows));
            }
        }
        Some(Finding::new("wrong-rows", message).about("rows").evidence(evidence.trim_end()))
    }

    fn order(&self, expected: &[Row], given: &Given) -> Option<Finding> {
        let at = expected.iter().zip(&given.rows).position(|(a, b)| !same(a, b)).filter(|_| self.ordered)?;
        let (wanted, got) = (expected.get(at)?, given.rows.get(at)?);
        let message = format!("the rows are the expected ones in another order, from row {} on", at + 1);
        let evidence = format!(
            "expected:\n{}given:\n{}",
            table(&given.columns, &[wanted]),
            table(&given.columns, &[got]).trim_end()
        );
        let finding = Finding::new("wrong-rows", message).about("order").evidence(evidence);
        Some(finding.suggest("sort the rows with ORDER BY"))
    }
}

fn same(a: &[Cell], b: &[Cell]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
}

/// Returns what is only in the first and what is only in the second, each row counted as often as it is there.
fn difference<'a>(expected: &'a [Row], given: &'a [Row]) -> (Vec<&'a Row>, Vec<&'a Row>) {
    let mut extra: Vec<&Row> = given.iter().collect();
    let mut missing = Vec::new();
    for row in expected {
        match extra.iter().position(|other| same(row, other)) {
            Some(at) => drop(extra.remove(at)),
            None => missing.push(row),
        }
    }
    (missing, extra)
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn table(columns: &[String], rows: &[&Row]) -> String {
    let mut text = format!("| {} |\n", columns.join(" | "));
    for row in rows.iter().take(MOST_SHOWN) {
        let cells: Vec<String> = row.iter().map(Cell::shown).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if rows.len() > MOST_SHOWN {
        let _ = writeln!(text, "… and {} more", rows.len() - MOST_SHOWN);
    }
    text
}
