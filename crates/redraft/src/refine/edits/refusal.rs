//! Why an edit does not fit, in words for whoever wrote it.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::verify::Position;

/// An edit that was not applied.
///
/// Its [`Display`](fmt::Display) form says what to do about it, to a model or a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The number of the edit, counted from 1.
    pub edit: usize,
    /// The finding it was to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// Why it was not applied.
    pub reason: Reason,
}

/// Why an edit was not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// It does not say what to replace, and the draft is not empty.
    EmptySearch,
    /// The draft does not have these words.
    NotFound {
        /// What it has that is most like them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nearest: Option<Passage>,
    },
    /// The draft has these words more than once, and it is not said which are meant.
    Ambiguous {
        /// How often; counting stops at a hundred.
        times: usize,
    },
    /// There are not so many occurrences.
    NoSuchOccurrence {
        /// Which one was meant.
        asked: u32,
        /// How many there are.
        times: usize,
    },
    /// Another edit is about some of the same words.
    Overlaps {
        /// The number of the other edit.
        with: usize,
    },
    /// Some of the words are to be kept.
    Protected {
        /// What is to be kept.
        kept: Passage,
    },
    /// The replacement is what stands there already.
    NoChange,
}

/// Some words of a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The line on which they begin, counted from 1.
    pub line: u32,
    /// The words; of many, the first.
    pub text: String,
}

/// A passage is there to be recognised, not to be read in full.
const LONGEST: usize = 300;

impl Passage {
    pub(super) fn of(text: &str, range: &Range<usize>) -> Self {
        let start = text.floor_char_boundary(range.start);
        let end = text.floor_char_boundary(range.end.min(range.start.saturating_add(LONGEST)));
        let mut words = text.get(start..end).unwrap_or_default().to_owned();
        if end < range.end.min(text.len()) {
            words.push('…');
        }
        Self { line: Position::of(text, start).line, text: words }
    }
}

impl Reason {
    pub(super) fn protected(text: &str, kept: &Range<usize>) -> Self {
        Self::Protected { kept: Passage::of(text, kept) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edit {}: {}", self.edit, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptySearch => f.write_str(
                "`search` is empty; to add something, search for the words next to it and repeat them in `replace`",
            ),
            Self::NotFound { nearest: Some(Passage { line, text }) } => write!(
                f,
                "the words of `search` are not in the draft; the nearest passage, on line {line}, is “{text}”; \
                 copy `search` from the draft character by character"
            ),
            Self::NotFound { nearest: None } => f.write_str(
                "the words of `search` are not in the draft, and nothing in it is like them; \
                 copy `search` from the draft character by character",
            ),
            Self::Ambiguous { times } => write!(
                f,
                "the words of `search` are found {times} times; add words before or after them until they are \
                 found once, or give `occurrence`"
            ),
            Self::NoSuchOccurrence { asked, times } => write!(
                f,
                "`occurrence` is {asked}, and the words of `search` are found {times} times; occurrences are \
                 counted from 1"
            ),
            Self::Overlaps { with } => write!(
                f,
                "it is about some of the same words as edit {with}; make one edit of the two, or shorten their \
                 searches"
            ),
            Self::Protected { kept: Passage { line, text } } => write!(
                f,
                "it touches words that must stay as they are, on line {line}: “{text}”; leave them out of `search`"
            ),
            Self::NoChange => f.write_str("`replace` is what stands there already; leave the edit out, or change it"),
        }
    }
}
