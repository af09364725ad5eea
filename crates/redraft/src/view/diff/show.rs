//! A diff for people.

use std::fmt;

use super::{Change, Diff, Line};

/// How many lines of context a diff shows if nothing else is said.
const CONTEXT: usize = 3;

/// How a diff looks: what is written before and after its parts.
///
/// The fields are pairs of such words, empty in a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Around the line that says where a hunk stands.
    pub head: (&'static str, &'static str),
    /// Around a line that is gone.
    pub removed: (&'static str, &'static str),
    /// Around a line that is new.
    pub added: (&'static str, &'static str),
    /// Around the words that make the difference in a line that is gone.
    pub removed_words: (&'static str, &'static str),
    /// Around the words that make the difference in a line that is new.
    pub added_words: (&'static str, &'static str),
}

impl Style {
    /// Nothing but the signs at the beginning of lines.
    pub const PLAIN: Self = Self {
        head: ("", ""),
        removed: ("", ""),
        added: ("", ""),
        removed_words: ("", ""),
        added_words: ("", ""),
    };

    /// The words that make the difference between brackets, for where there is no colour.
    pub const BRACKETS: Self =
        Self { removed_words: ("[−", "−]"), added_words: ("[+", "+]"), ..Self::PLAIN };

    /// The colours of a terminal.
    pub const ANSI: Self = Self {
        head: ("\u{1b}[36m", "\u{1b}[0m"),
        removed: ("\u{1b}[31m", "\u{1b}[0m"),
        added: ("\u{1b}[32m", "\u{1b}[0m"),
        removed_words: ("\u{1b}[7m", "\u{1b}[27m"),
        added_words: ("\u{1b}[7m", "\u{1b}[27m"),
    };
}

impl Diff {
    /// Writes the diff for people: hunks with `context` lines around each change.
    ///
    /// Control characters of the texts are shown as pictures, so that a draft cannot play with a terminal.
    ///
    /// # Errors
    ///
    /// If `out` fails.
    pub fn write(&self, out: &mut impl fmt::Write, style: &Style, context: usize) -> fmt::Result {
        for hunk in self.hunks(context) {
            writeln!(out, "{}@@ −{} +{} @@{}", style.head.0, hunk.before, hunk.after, style.head.1)?;
            for line in &hunk.lines {
                line.write(out, style)?;
            }
        }
        Ok(())
    }

    /// Returns the diff for people as a text.
    #[must_use]
    pub fn show(&self, style: &Style, context: usize) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = self.write(&mut out, style, context);
        out
    }
}

/// Writes the diff plainly, with three lines of context.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &Style::PLAIN, CONTEXT)
    }
}

impl Line {
    fn write(&self, out: &mut impl fmt::Write, style: &Style) -> fmt::Result {
        let (sign, (on, off), (words_on, words_off)) = match self.change {
            Change::Same => (' ', ("", ""), ("", "")),
            Change::Removed => ('−', style.removed, style.removed_words),
            Change::Added => ('+', style.added, style.added_words),
        };
        write!(out, "{on}{sign} ")?;
        // Where all of a line is new, nothing in it makes the difference.
        let is_mixed =
            self.pieces.iter().any(|piece| piece.change == Change::Same && !piece.text.trim().is_empty());
        for piece in &self.pieces {
            let makes_difference = is_mixed && piece.change != Change::Same;
            // The kind of a line break is shown where it is what has changed.
            let end = if makes_difference || !piece.text.ends_with("\r\n") { "\n" } else { "\r\n" };
            let text = piece.text.strip_suffix(end).unwrap_or(&piece.text);
            let is_marked = makes_difference && !text.is_empty();
            let (on, off) = if is_marked { (words_on, words_off) } else { ("", "") };
            write!(out, "{on}{}{off}", Harmless(text))?;
        }
        writeln!(out, "{off}")?;
        let is_broken = self.pieces.last().is_some_and(|piece| piece.text.ends_with('\n'));
        if self.change != Change::Same && !is_broken {
            writeln!(out, "\\ no line break at the end")?;
        }
        Ok(())
    }
}

/// A text that shows pictures of the characters that a terminal obeys. Line breaks are such characters.
#[derive(Clone, Copy, Debug)]
pub struct Harmless<'a>(pub &'a str);

impl fmt::Display for Harmless<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            let picture = match c {
                '\t' => c,
                '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
                '\u{7f}' => '\u{2421}',
                '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
                _ => c,
            };
            fmt::Write::write_char(f, picture)
        })
    }
}
