//! The SQL of a draft: out of its fence, parsed, and whether it only reads.
//!
//! Everything keeps its line and column: what is not SQL is made blank, never cut off.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, Select, SetExpr, Spanned, Statement, Visit, Visitor};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, Tokenizer};

use super::dialect::Dialect;
use crate::verify::fence::fences;
use crate::verify::{Finding, Place, Position};

/// How deep expressions may be nested.
const DEEPEST: usize = 64;

/// How many words and signs a draft may have. More is no query that anybody reads, and a tree of it could be too deep to
/// walk.
const MOST_TOKENS: usize = 10_000;

/// Returns the SQL of a draft, each line where it stands in the draft.
pub(super) fn sql_of(draft: &str) -> String {
    let blocks = fences(draft);
    let is_sql = |info: &str| {
        let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_ascii_lowercase();
        language.contains("sql")
            || ["", "ddl", "bigquery", "snowflake", "duckdb", "oracle"].contains(&&*language)
    };
    let kept: Vec<_> = blocks.iter().filter(|block| is_sql(block.info)).collect();
    if kept.is_empty() {
        return draft.to_owned();
    }
    let mut sql = String::new();
    let mut at = 0;
    for block in kept {
        sql.extend(draft.get(at..block.body.start).unwrap_or_default().chars().filter(|sign| *sign == '\n'));
        sql.push_str(draft.get(block.body.clone()).unwrap_or_default());
        at = block.body.end;
    }
    sql
}

/// Why a text is not SQL.
pub(super) enum Unparsed {
    /// It has more words and signs than are looked at.
    TooLong(usize),
    /// It breaks a rule.
    Broken { message: String, at: Option<Location> },
}

/// Parses what a draft says.
pub(super) fn parse(dialect: Dialect, sql: &str) -> Result<Vec<Statement>, Unparsed> {
    parse_within(MOST_TOKENS, dialect, sql)
}

/// Parses a schema, which is trusted and can be long.
pub(super) fn parse_schema(dialect: Dialect, sql: &str) -> Result<Vec<Statement>, Unparsed> {
    parse_within(usize::MAX, dialect, sql)
}

fn parse_within(most: usize, dialect: Dialect, sql: &str) -> Result<Vec<Statement>, Unparsed> {
    let parser = dialect.parser();
    let broken = |error: &ParserError| {
        let (message, at) = located(error);
        Unparsed::Broken { message, at }
    };
    let tokens = Tokenizer::new(&*parser, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| broken(&ParserError::from(error)))?;
    let count = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).count();
    if count > most {
        return Err(Unparsed::TooLong(count));
    }
    Parser::new(&*parser)
        .with_recursion_limit(DEEPEST)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| broken(&error))
}

/// Takes the place out of a parser's words.
fn located(error: &ParserError) -> (String, Option<Location>) {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => return ("it is nested too deeply".to_owned(), None),
    };
    let read = || {
        let (message, place) = text.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let at = Location { line: line.parse().ok()?, column: column.trim().parse().ok()? };
        Some((message.to_owned(), Some(at)))
    };
    read().unwrap_or_else(|| (text.to_owned(), None))
}

/// Makes a finding of a text that is not SQL.
pub(super) fn syntax(unparsed: &Unparsed, dialect: Dialect, sql: &str) -> Finding {
    match unparsed {
        Unparsed::TooLong(count) => Finding::new("too-long", format!("it has {count} words and signs"))
            .about("length")
            .suggest(format!("stay below {MOST_TOKENS}")),
        Unparsed::Broken { message, at } => {
            let message = format!("not valid in {}: {}", dialect.shown(), lowered(message));
            let finding = Finding::new("syntax", message).about("syntax");
            let Some(at) = at.filter(|at| at.line > 0) else {
                let end = sql.trim_end().len();
                return finding.span(sql, end..end);
            };
            let line = usize::try_from(at.line).ok().and_then(|line| sql.lines().nth(line.checked_sub(1)?));
            let finding = finding.at(place(Span::new(at, Location { line: 0, column: 0 })));
            match line {
                Some(line) => finding.evidence(line.trim_end().chars().take(200).collect::<String>()),
                None => finding,
            }
        }
    }
}

fn lowered(message: &str) -> String {
    let mut signs = message.chars();
    signs.next().map_or_else(String::new, |first| first.to_lowercase().chain(signs).collect())
}

/// Says where a piece of a parsed text stands.
pub(super) fn place(span: Span) -> Place {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let position =
        |at: Location| Position { line: small(at.line).max(1), column: Some(small(at.column).max(1)) };
    let end = (span.end.line > 0 && span.end > span.start).then(|| position(span.end));
    Place::Span { file: None, start: position(span.start), end }
}

/// Finds the statements that do more than read.
pub(super) fn writes(statements: &[Statement]) -> Vec<Finding> {
    statements
        .iter()
        .filter_map(|statement| {
            let what = write_in(statement)?;
            let message = format!("it may only read, and this {what}");
            let finding = Finding::new("not-read-only", message).about(what);
            let finding = finding.suggest("write a single SELECT, WITH … SELECT or VALUES");
            let span = statement.span();
            Some(if span.start.line > 0 { finding.at(place(span)) } else { finding })
        })
        .collect()
}

/// Says what a statement does besides reading.
fn write_in(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Query(query) => match query.visit(&mut Writes) {
            ControlFlow::Break(what) => Some(what.to_owned()),
            ControlFlow::Continue(()) => None,
        },
        Statement::Explain { statement, .. } => write_in(statement),
        Statement::ExplainTable { .. } => None,
        other => {
            let text = other.to_string();
            let verb = text.split([' ', '(', ';']).next().unwrap_or_default().to_ascii_uppercase();
            Some(format!("is {} statement", if verb.is_empty() { "another".to_owned() } else { a(&verb) }))
        }
    }
}

fn a(word: &str) -> String {
    let article = if word.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
    format!("{article} `{word}`")
}

/// Looks for what changes something inside a query.
struct Writes;

impl Visitor for Writes {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if !query.locks.is_empty() {
            return ControlFlow::Break("locks rows");
        }
        match &*query.body {
            SetExpr::Insert(_) => ControlFlow::Break("holds an `INSERT`"),
            SetExpr::Update(_) => ControlFlow::Break("holds an `UPDATE`"),
            SetExpr::Delete(_) => ControlFlow::Break("holds a `DELETE`"),
            SetExpr::Merge(_) => ControlFlow::Break("holds a `MERGE`"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        match select.into {
            Some(_) => ControlFlow::Break("is a `SELECT … INTO`"),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            _ => ControlFlow::Break("holds a writing statement"),
        }
    }
}
