//! Edits as plain text, for models that do not answer in JSON.
//!
//! ```text
//! <<<<<<< SEARCH f_2c1e
//! the words of the draft
//! =======
//! what is to stand there instead
//! >>>>>>> REPLACE
//! ```
//!
//! After `SEARCH` may stand the id of a finding, and `#2` for the second occurrence. A block in whose text there are
//! such lines has longer rows of signs, as with fences in Markdown. What stands outside of blocks is no edit.

use std::fmt;
use std::iter::repeat_n;
use std::str::FromStr;

use super::{Edit, Edits};

/// A text from which no edits can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// There is no block in it.
    #[error("there is no edit; begin each with a line `<<<<<<< SEARCH`")]
    NoBlock,
    /// A block has no end.
    #[error("the block that begins on line {line} has no end; end it with a line `>>>>>>> REPLACE`")]
    Unclosed {
        /// Where it begins, counted from 1.
        line: usize,
    },
    /// A block has nothing between its two texts.
    #[error(
        "the block that begins on line {line} is not divided; put a line `=======` between its two texts"
    )]
    Undivided {
        /// Where it begins, counted from 1.
        line: usize,
    },
    /// Several lines of a block could divide it.
    #[error(
        "the block that begins on line {line} is divided more than once; make its three rows of signs longer than \
         any in its texts"
    )]
    DividedTwice {
        /// Where it begins, counted from 1.
        line: usize,
    },
}

/// The shortest row of signs that is one; what is written has two more.
const SHORTEST: usize = 5;

impl FromStr for Edits {
    type Err = Malformed;

    /// Reads the blocks of a text.
    ///
    /// # Errors
    ///
    /// If there is none, or one is broken.
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let lines: Vec<&str> = text.lines().collect();
        let mut edits = Vec::new();
        let mut next = 0;
        while let Some(at) =
            lines.iter().skip(next).position(|line| opening(line).is_some()).map(|at| next + at)
        {
            let Some((width, head)) = opening(lines[at]) else { break };
            let (edit, end) = block(&lines, at, width, head)?;
            edits.push(edit);
            next = end + 1;
        }
        if edits.is_empty() { Err(Malformed::NoBlock) } else { Ok(Self { edits }) }
    }
}

fn block(lines: &[&str], at: usize, width: usize, head: &str) -> Result<(Edit, usize), Malformed> {
    let line = at + 1;
    let body = &lines[line..];
    // Up to the next block, so that one without an end does not swallow it.
    let until = body.iter().position(|line| opening(line).is_some_and(|(other, _)| other == width));
    let body = &body[..until.unwrap_or(body.len())];
    let closes = |exact: bool| {
        move |line: &&str| row(line, '>', "REPLACE").is_some_and(|(other, _)| !exact || other == width)
    };
    let end = body
        .iter()
        .position(|line| closes(true)(line))
        .or_else(|| body.iter().position(|line| closes(false)(line)));
    let body = &body[..end.ok_or(Malformed::Unclosed { line })?];
    let divider = divider(body, |other| other == width)
        .and_then(|found| found.map_or_else(|| divider(body, |_| true), |at| Ok(Some(at))))
        .map_err(|()| Malformed::DividedTwice { line })?
        .ok_or(Malformed::Undivided { line })?;
    let mut edit = Edit::new(body[..divider].join("\n"), body[divider + 1..].join("\n"));
    for word in head.split_whitespace() {
        match word.strip_prefix('#').map(str::parse) {
            Some(Ok(occurrence)) => edit.occurrence = Some(occurrence),
            _ => edit.finding = Some(word.to_owned()),
        }
    }
    Ok((edit, line + body.len()))
}

/// Finds the line that divides a block; it is an error if there are several.
fn divider(body: &[&str], width: impl Fn(usize) -> bool) -> Result<Option<usize>, ()> {
    let mut found = body
        .iter()
        .enumerate()
        .filter(|(_, line)| row(line, '=', "").is_some_and(|(other, rest)| rest.is_empty() && width(other)));
    let first = found.next().map(|(at, _)| at);
    if found.next().is_some() { Err(()) } else { Ok(first) }
}

fn opening(line: &str) -> Option<(usize, &str)> {
    row(line, '<', "SEARCH")
}

/// Reads a row of signs with a word after it: how long it is, and what follows the word.
fn row<'a>(line: &'a str, sign: char, word: &str) -> Option<(usize, &'a str)> {
    let rest = line.trim_end().trim_start_matches(sign);
    let width = line.trim_end().len() - rest.len();
    let rest = rest.trim_start().strip_prefix(word)?;
    (width >= SHORTEST && (rest.is_empty() || rest.starts_with(' '))).then_some((width, rest))
}

/// Writes edits as blocks that can be read back.
impl fmt::Display for Edits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for edit in &self.edits {
            let texts = edit.search.lines().chain(edit.replace.lines());
            let widest = texts.map(|line| {
                let sign = line.chars().next().filter(|c| matches!(c, '<' | '=' | '>'));
                sign.map_or(0, |sign| line.len() - line.trim_start_matches(sign).len())
            });
            let width = (widest.max().unwrap_or_default() + 1).max(SHORTEST + 2);
            let signs = |sign: char| repeat_n(sign, width).collect::<String>();
            write!(f, "{} SEARCH", signs('<'))?;
            if let Some(finding) = &edit.finding {
                write!(f, " {finding}")?;
            }
            if let Some(occurrence) = edit.occurrence {
                write!(f, " #{occurrence}")?;
            }
            let text = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
            let (search, replace) = (text(&edit.search), text(&edit.replace));
            writeln!(f, "\n{search}{}\n{replace}{} REPLACE", signs('='), signs('>'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Edit>, Malformed> {
        text.parse::<Edits>().map(|edits| edits.edits)
    }

    #[test]
    fn blocks_are_read_from_among_other_words() {
        let text = "Here you are:\n```\n<<<<<<< SEARCH f_1 #2\nold\nlines\n=======\nnew\n>>>>>>> REPLACE\n```\n\
                    <<<<<<< SEARCH\ngone\n=======\n>>>>>>> REPLACE\nDone.";
        let first = Edit::new("old\nlines", "new").answers("f_1").occurrence(2);
        assert_eq!(read(text), Ok(vec![first, Edit::new("gone", "")]));
    }

    #[test]
    fn rows_that_are_a_little_off_are_understood() {
        let text = "<<<<<SEARCH\r\na\r\n========\r\nb\r\n>>>>>>>> REPLACE  \r\n";
        assert_eq!(read(text), Ok(vec![Edit::new("a", "b")]));
    }

    #[test]
    fn a_longer_row_lets_a_block_hold_shorter_ones() {
        let text =
            "<<<<<<<<< SEARCH\nHeading\n=======\n=========\nTitle\n>>>>>>> REPLACE\n>>>>>>>>> REPLACE\n";
        assert_eq!(read(text), Ok(vec![Edit::new("Heading\n=======", "Title\n>>>>>>> REPLACE")]));
    }

    #[test]
    fn a_broken_block_is_named_by_its_line() {
        let broken = [
            ("no edits needed", Malformed::NoBlock),
            ("\n<<<<<<< SEARCH\na\n=======\nb\n", Malformed::Unclosed { line: 2 }),
            (
                "<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE",
                Malformed::Unclosed { line: 1 },
            ),
            ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE", Malformed::Undivided { line: 1 }),
            ("<<<<<<< SEARCH\na\n=======\n=======\nb\n>>>>>>> REPLACE", Malformed::DividedTwice { line: 1 }),
        ];
        for (text, problem) in broken {
            assert_eq!(read(text), Err(problem), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            texts in proptest::collection::vec(("[a<=>\n SEARCHP]{0,30}", "(>{5,9} REPLACE\n|={5,9}\n|é){0,4}"), 1..4),
            finding in proptest::option::of("f_[0-9a-f]{4}"),
            occurrence in proptest::option::of(1..9_u32),
        ) {
            let edits = texts.into_iter().map(|(search, replace)| Edit {
                search, replace, finding: finding.clone(), occurrence,
            });
            let edits = Edits { edits: edits.collect() };
            prop_assert_eq!(edits.to_string().parse::<Edits>(), Ok(edits));
        }
    }
}
