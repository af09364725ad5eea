//! A mistake in a spec: what is wrong, where it stands, and what was meant.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::source::Source;

/// Something that is wrong with a spec file, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of mistake: stable, kebab-case, see [`explain`](crate::explain).
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// The file it stands in.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// How many characters of the line it is about; at least 1.
    pub length: u32,
    /// The line it stands on, and the one before it if that is not empty.
    pub snippet: Vec<Line>,
    /// What could stand there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<String>,
    /// What was probably meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Which, counted from 1.
    pub number: u32,
    /// What stands there.
    pub text: String,
}

/// The kinds of mistakes that only specs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    Syntax,
    DuplicateKey,
    UnknownKey,
    MissingKey,
    WrongType,
    UnknownWord,
    BadValue,
    Kind,
    UnknownModel,
    File,
    Expression,
    Secret,
}

impl Mistake {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Syntax => "spec-syntax",
            Self::DuplicateKey => "spec-duplicate-key",
            Self::UnknownKey => "spec-unknown-key",
            Self::MissingKey => "spec-missing-key",
            Self::WrongType => "spec-wrong-type",
            Self::UnknownWord => "spec-unknown-word",
            Self::BadValue => "spec-bad-value",
            Self::Kind => "spec-kind",
            Self::UnknownModel => "spec-unknown-model",
            Self::File => "spec-file",
            Self::Expression => "spec-expression",
            Self::Secret => "spec-secret",
        }
    }
}

/// More words than this are not listed.
const MOST_EXPECTED: usize = 24;

impl Diagnostic {
    pub(super) fn new(mistake: Mistake, message: impl Into<String>) -> Self {
        Self::coded(mistake.code(), message)
    }

    /// Makes one of a kind that is known elsewhere by its code.
    pub(super) fn coded(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            file: String::new(),
            line: 1,
            column: 1,
            length: 1,
            snippet: Vec::new(),
            expected: Vec::new(),
            did_you_mean: None,
            hint: None,
        }
    }

    /// Says where it stands. What goes over several lines is shown by its first one.
    pub(super) fn at(mut self, source: &Source, range: Range<usize>) -> Self {
        let text = &source.text;
        let start = text.floor_char_boundary(range.start.min(text.len()));
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let stop = text.floor_char_boundary(range.end.clamp(start, end));
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let number = small(text[..start].matches('\n').count() + 1);
        source.name.clone_into(&mut self.file);
        self.line = number;
        self.column = small(text[begin..start].chars().count() + 1);
        self.length = small(text[start..stop].trim_end().chars().count().max(1));
        let line = |range: Range<usize>| text[range].trim_end_matches('\r').to_owned();
        self.snippet = vec![Line { number, text: line(begin..end) }];
        if let Some(before) = begin.checked_sub(1) {
            let first = text[..before].rfind('\n').map_or(0, |at| at + 1);
            if !text[first..before].trim().is_empty() {
                self.snippet.insert(0, Line { number: number - 1, text: line(first..before) });
            }
        }
        self
    }

    pub(super) fn expected(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.expected = words.into_iter().map(Into::into).take(MOST_EXPECTED).collect();
        self
    }

    pub(super) fn meant(mut self, word: Option<String>) -> Self {
        self.did_you_mean = word;
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Shows as many dots in the place of a secret, so that marks stay where they are.
    pub(super) fn hide(&mut self, secret: &str) {
        let dots = "·".repeat(secret.chars().count());
        for line in &mut self.snippet {
            line.text = line.text.replace(secret, &dots);
        }
    }

    /// Shows it with the lines it stands on, a mark below them, and what to do.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let paint = |code: &str, text: &str| {
            if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
        };
        let (red, blue, bold) = ("1;31", "1;34", "1");
        let width = self.snippet.last().map_or(1, |line| line.number.to_string().len());
        let bar = paint(blue, "|");
        let mut shown = format!(
            "{}{} {}\n",
            paint(red, &format!("error[{}]", self.code)),
            paint(bold, ":"),
            paint(bold, &self.message)
        );
        let place = format!("{}:{}:{}", self.file, self.line, self.column);
        shown.push_str(&format!("{:width$}{} {place}\n", "", paint(blue, "-->")));
        if !self.snippet.is_empty() {
            shown.push_str(&format!("{:width$} {bar}\n", ""));
        }
        for line in &self.snippet {
            let number = paint(blue, &format!("{:width$}", line.number));
            // A tab is as wide as the terminal likes; a space is not.
            let text = line.text.replace('\t', " ");
            shown.push_str(format!("{number} {bar} {text}").trim_end());
            shown.push('\n');
        }
        if !self.snippet.is_empty() {
            let before = " ".repeat(self.column.saturating_sub(1) as usize);
            let mark = paint(red, &"^".repeat(self.length as usize));
            shown.push_str(&format!("{:width$} {bar} {before}{mark}\n", ""));
        }
        let note = |label: &str, text: &str| {
            format!("{:width$} {} {}: {text}\n", "", paint(blue, "="), paint(bold, label))
        };
        if let Some(word) = &self.did_you_mean {
            shown.push_str(&note("did you mean", &format!("`{word}`?")));
        }
        if !self.expected.is_empty() {
            shown.push_str(&note("expected", &self.expected.join(", ")));
        }
        if let Some(hint) = &self.hint {
            shown.push_str(&note("help", hint));
        }
        shown
    }
}

/// Shows it in one line.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        match &self.did_you_mean {
            Some(word) => write!(f, "; did you mean `{word}`?"),
            None => Ok(()),
        }
    }
}
