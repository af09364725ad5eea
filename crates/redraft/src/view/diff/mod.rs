//! What has changed between two texts, word by word.
//!
//! Lines are compared first, and the words of those lines that differ then, so that a reader sees the one word that
//! is new in a long paragraph. Both texts can be had back from a [`Diff`] exactly. No clock is looked at: the search
//! is bounded by the size of the texts, so that the same two texts always give the same diff. Nothing is printed here,
//! and whether there is colour is for the caller to say ([`Style`]).

mod compare;
mod lines;
mod show;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::compare::{Pieces, Span, spans, words};
use self::lines::Lines;
pub use self::show::{Harmless, Style};

/// What has changed from one text to another.
///
/// ```
/// use redraft::view::Diff;
///
/// let diff = Diff::of("Tides are made by wind.\n", "Tides are made by the moon.\n");
/// assert_eq!(diff.to_string(), "@@ −1 +1 @@\n− Tides are made by wind.\n+ Tides are made by the moon.\n");
/// assert_eq!(diff.stat().to_string(), "+2 −1 words, +1 −1 lines");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diff {
    /// Everything that is the same, was removed or was added, in order: without what was added they are the text
    /// before, and without what was removed the text after.
    pub pieces: Vec<Piece>,
}

/// Some words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Piece {
    /// What became of them.
    pub change: Change,
    /// The words.
    pub text: String,
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is in both texts.
    Same,
    /// It is only in the text before.
    Removed,
    /// It is only in the text after.
    Added,
}

/// A line of one of the texts, or of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Line {
    /// Whose line it is: of both texts, of the one before or of the one after.
    pub change: Change,
    /// Its words, with the line break. In a line of one text, those that are the same stand in the other text too.
    pub pieces: Vec<Piece>,
}

/// Lines that have changed, with some around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hunk {
    /// The number of its first line in the text before, counted from 1.
    pub before: usize,
    /// The number of its first line in the text after, counted from 1.
    pub after: usize,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// How much has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stat {
    /// How many words are new.
    pub words_added: usize,
    /// How many words are gone.
    pub words_removed: usize,
    /// How many lines are new or changed, as the text after has them.
    pub lines_added: usize,
    /// How many lines are gone or changed, as the text before had them.
    pub lines_removed: usize,
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { words_added, words_removed, lines_added, lines_removed } = self;
        write!(f, "+{words_added} −{words_removed} words, +{lines_added} −{lines_removed} lines")
    }
}

/// With more words than that, changed lines are not compared word by word: nobody reads that, and it takes long.
const MOST_WORDS: usize = 100_000;

/// With more lines than that, only what the texts begin and end with is looked for.
const MOST_LINES: usize = 100_000;

impl Diff {
    /// Compares two texts.
    #[must_use]
    pub fn of(before: &str, after: &str) -> Self {
        Self::within(before, after, MOST_LINES, MOST_WORDS)
    }

    fn within(before: &str, after: &str, most_lines: usize, most_words: usize) -> Self {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let mut pieces = Pieces::default();
        for Span { is_same, before, after } in spans(&old, &new, most_lines) {
            let (removed, added) = (old[before].concat(), new[after].concat());
            if is_same {
                pieces.push(Change::Same, &removed);
            } else if removed.is_empty() || added.is_empty() {
                pieces.push(Change::Removed, &removed);
                pieces.push(Change::Added, &added);
            } else {
                pieces.push_words(&removed, &added, most_words);
            }
        }
        Self { pieces: pieces.0 }
    }

    /// Says whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| piece.change == Change::Same)
    }

    /// Returns the text before.
    #[must_use]
    pub fn before(&self) -> String {
        self.without(Change::Added)
    }

    /// Returns the text after.
    #[must_use]
    pub fn after(&self) -> String {
        self.without(Change::Removed)
    }

    fn without(&self, change: Change) -> String {
        self.pieces.iter().filter(|piece| piece.change != change).map(|piece| piece.text.as_str()).collect()
    }

    /// Counts what has changed.
    #[must_use]
    pub fn stat(&self) -> Stat {
        let mut stat = Stat::default();
        for piece in &self.pieces {
            let words =
                || words(&piece.text).filter(|(_, word)| word.contains(char::is_alphanumeric)).count();
            match piece.change {
                Change::Same => {}
                Change::Removed => stat.words_removed += words(),
                Change::Added => stat.words_added += words(),
            }
        }
        for line in self.lines() {
            match line.change {
                Change::Same => {}
                Change::Removed => stat.lines_removed += 1,
                Change::Added => stat.lines_added += 1,
            }
        }
        stat
    }

    /// Returns all lines of both texts, in order; of lines that have changed, first how they were.
    ///
    /// Without the added ones they are the text before, and without the removed ones the text after.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Lines::default();
        for piece in &self.pieces {
            for text in piece.text.split_inclusive('\n') {
                lines.push(piece.change, text);
            }
        }
        lines.finish()
    }

    /// Returns the lines that have changed with at most `context` lines before and after each change.
    #[must_use]
    pub fn hunks(&self, context: usize) -> Vec<Hunk> {
        let lines = self.lines();
        let mut hunks: Vec<Hunk> = Vec::new();
        let (mut before, mut after) = (1, 1);
        let mut shown = 0;
        let mut starts = Vec::with_capacity(lines.len());
        for line in &lines {
            starts.push((before, after));
            before += usize::from(line.change != Change::Added);
            after += usize::from(line.change != Change::Removed);
        }
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.change != Change::Same) {
            let from = at.saturating_sub(context).max(shown);
            let to = at.saturating_add(context).saturating_add(1).min(lines.len());
            if to <= shown {
                continue;
            }
            match hunks.last_mut() {
                Some(hunk) if from == shown => hunk.lines.extend_from_slice(&lines[from..to]),
                _ => {
                    let (before, after) = starts[from];
                    hunks.push(Hunk { before, after, lines: lines[from..to].to_vec() });
                }
            }
            shown = to;
        }
        hunks
    }
}
