//! What keeps a verifier from being made, or from judging: never the draft's fault. What a verifier thinks of a draft is a verdict, never an error.
//!
//! To add one: a variant, its code, its hint, and a page in `errors/`.

use std::path::PathBuf;

use crate::failure::{Fault, Retry};

/// A verifier that cannot be made, or could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A pattern cannot be read.
    #[error("the pattern `{pattern}` of `{rule}` cannot be used")]
    BadRegex {
        /// The rule it belongs to.
        rule: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: regex::Error,
    },
    /// Bounds that nothing can keep, or that everything keeps.
    #[error("the bounds of `{rule}` cannot be used: {reason}")]
    BadBounds {
        /// The rule they belong to.
        rule: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A verifier that demands nothing.
    #[error("`{rule}` demands nothing, so every draft would pass")]
    EmptyRule {
        /// The verifier, or the part of it that is empty.
        rule: String,
    },
    /// A JSON Schema cannot be used.
    #[error("the schema of {of} cannot be used: {reason}")]
    BadSchema {
        /// What the schema is of.
        of: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// A schema refers to something that is not in it.
    #[error("`{reference}` is outside of the document, and nothing is fetched")]
    RemoteReference {
        /// What it refers to.
        reference: String,
    },
    /// An OpenAPI document cannot be used.
    #[error("the OpenAPI document cannot be used: {reason}")]
    BadOpenapi {
        /// What is wrong with it, and where.
        reason: String,
    },
    /// A pattern of file names cannot be read.
    #[error("`{pattern}` is not a pattern of file names: {reason}")]
    BadGlob {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The machine gave no thread to work on.
    #[error("no thread could be started")]
    NoThread(#[source] std::io::Error),
    /// The schema that SQL is checked against cannot be read.
    #[error("the schema cannot be read: {reason}")]
    SqlSchema {
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The settings of an SQL check contradict each other.
    #[error("the settings of the SQL check do not fit together: {reason}")]
    SqlSettings {
        /// What does not fit.
        reason: String,
    },
    /// The database that SQL is checked against cannot be used.
    #[error("the database `{}` cannot be used: {reason}", path.display())]
    SqlDatabase {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What it was given cannot be used, or is not enough.
    #[error("the {verifier} cannot be used: {reason}")]
    Unusable {
        /// Which sort of verifier it is.
        verifier: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::BadRegex { .. } => "bad-regex",
            Self::BadBounds { .. } => "bad-bounds",
            Self::EmptyRule { .. } => "empty-rule",
            Self::BadSchema { .. } => "bad-schema",
            Self::RemoteReference { .. } => "remote-reference",
            Self::BadOpenapi { .. } => "bad-openapi",
            Self::BadGlob { .. } => "bad-glob",
            Self::NoThread(_) => "io",
            Self::SqlSchema { .. } => "sql-schema",
            Self::SqlSettings { .. } => "sql-settings",
            Self::SqlDatabase { .. } => "sql-database",
            Self::Unusable { .. } => "bad-verifier",
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NoThread(_) => Retry::Backoff,
            _ => Retry::Never,
        }
    }

    fn hint(&self) -> Option<String> {
        let words = match self {
            Self::BadRegex { .. } => {
                "write the pattern without look-around and back-references, and quote it with ' in YAML"
            }
            Self::BadBounds { .. } => "give `exactly`, or `min` and `max` with `min` not above `max`",
            Self::EmptyRule { .. } => "name at least one thing to check, or leave the verifier out",
            Self::BadSchema { .. } => "check the schema against the draft of JSON Schema that it names",
            Self::RemoteReference { .. } => {
                "copy what it refers to into the document, under `$defs` or `components`"
            }
            Self::BadOpenapi { .. } => "give an OpenAPI 3.0 or 3.1 document that has `paths`",
            Self::BadGlob { .. } => "write it like `tests/**` or `*_test.py`",
            Self::NoThread(_) => "raise the limit on threads or memory, and try again",
            Self::SqlSchema { .. } => "check the schema and the dialect: `redraft explain sql-schema`",
            Self::SqlSettings { .. } => "see which go together: `redraft explain sql-settings`",
            Self::SqlDatabase { .. } => "name a SQLite file that can be read",
            Self::Unusable { verifier, .. } => {
                return Some(format!("put the {verifier} right where it is set up"));
            }
        };
        Some(words.to_owned())
    }
}
