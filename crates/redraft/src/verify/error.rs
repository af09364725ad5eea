//! Why a verifier cannot be made of what it was given. What a verifier thinks of a draft is a verdict, never an error.
//!
//! To add one: a variant, its code, its hint, and a page in `errors/`.

use crate::failure::Fault;

/// A verifier that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
        };
        Some(words.to_owned())
    }
}
