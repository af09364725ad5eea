//! What is wrong with a draft: where, why, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;

/// Something a verifier found.
///
/// Its [`id`](Self::id) is the same in every draft that has it, so that it can be followed from draft to draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Finding {
    /// What it is known by, over all drafts. Empty until a verdict is filed under its verifier's name.
    #[serde(default)]
    pub id: FindingId,
    /// Who found it: the name of a criterion. Filled in together with the id.
    #[serde(default)]
    pub verifier: String,
    /// Which of the verifier's rules is broken: kebab-case.
    pub rule: String,
    /// How much it weighs.
    pub severity: Severity,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What shows it: words of the draft, output of a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// How it stands.
    #[serde(default)]
    pub status: FindingStatus,
    /// What tells it from others of its rule, if not its message: the same in every draft that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// What a finding is known by, over all drafts.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct FindingId(String);

impl FindingId {
    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for FindingId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How much a finding weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; the draft passes with it.
    Minor,
    /// Should be put right; the draft passes with it.
    Major,
    /// The draft cannot be accepted with it.
    Blocking,
}

/// How a finding stands, seen from the newest draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    /// Found for the first time.
    New,
    /// Found before, and still there.
    #[default]
    Open,
    /// Found before, and gone.
    Fixed,
    /// Fixed once, and back.
    Regressed,
    /// The author says that it is none, and the verifier has not agreed.
    Disputed,
    /// Somebody decided that it does not matter.
    Waived,
}

/// Where in a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// From a position to another, in the draft or in one of its files.
    Span {
        /// The file, for drafts that have several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Where it begins.
        start: Position,
        /// Where it ends, exclusively; nothing if only the beginning is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<Position>,
    },
    /// A place in JSON (RFC 6901).
    Pointer(String),
    /// A part of the draft, by its heading.
    Section(String),
}

/// A place in a text.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Position {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1; nothing if only the line is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Position {
    /// Finds the position of a byte of a text.
    #[must_use]
    pub fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(byte)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self { line: small(line), column: Some(small(column)) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "{}:{column}", self.line),
            None => write!(f, "{}", self.line),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Span { file: Some(file), start, .. } => write!(f, "{file}:{start}"),
            Self::Span { file: None, start, .. } => write!(f, "line {start}"),
            Self::Pointer(pointer) if pointer.is_empty() => f.write_str("the whole value"),
            Self::Pointer(pointer) => f.write_str(pointer),
            Self::Section(heading) => write!(f, "section “{heading}”"),
        }
    }
}

impl Finding {
    /// Makes a blocking finding of a rule.
    #[must_use]
    pub fn new(rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            id: FindingId::default(),
            verifier: String::new(),
            rule: rule.into(),
            severity: Severity::Blocking,
            place: None,
            message: message.into(),
            evidence: None,
            suggestion: None,
            status: FindingStatus::default(),
            subject: None,
        }
    }

    /// Says how much it weighs.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Says where it is.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Says on which line of the draft it is.
    #[must_use]
    pub fn line(self, line: u32) -> Self {
        let start = Position { line, column: None };
        self.at(Place::Span { file: None, start, end: None })
    }

    /// Says which bytes of the draft it is about.
    #[must_use]
    pub fn span(self, text: &str, bytes: std::ops::Range<usize>) -> Self {
        let start = Position::of(text, bytes.start);
        let end = Some(Position::of(text, bytes.end));
        self.at(Place::Span { file: None, start, end })
    }

    /// Says at which place of a JSON value it is.
    #[must_use]
    pub fn pointer(self, pointer: impl Into<String>) -> Self {
        self.at(Place::Pointer(pointer.into()))
    }

    /// Shows what it is about.
    #[must_use]
    pub fn evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Says what tells it from others of its rule, where its message changes from draft to draft ("has 5 sentences").
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Says whether a draft with it cannot be accepted.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Blocking
    }

    /// Files it under its verifier's name. `nth` tells apart findings that are otherwise the same.
    pub(crate) fn filed(mut self, verifier: &str, nth: usize) -> Self {
        let subject = self.subject.as_deref().unwrap_or(&self.message);
        let nth = nth.to_string();
        let parts = [verifier, &self.rule, subject, &nth].map(str::as_bytes);
        self.id = FindingId(format!("f_{}", Fingerprint::of(parts)));
        verifier.clone_into(&mut self.verifier);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
