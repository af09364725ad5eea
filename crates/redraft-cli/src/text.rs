//! How words, numbers and times stand on a terminal: how wide they are, where they are cut, and that none of them gives
//! the terminal orders. Pure, but for the question how wide the terminal is.

use redraft::view::diff::Harmless;
use redraft::{RunId, Timestamp};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide lines may be where nobody says: a file, a pipe.
const COLUMNS: usize = 100;
/// Below that, what is nice to have is left out.
const LEAST: usize = 20;

/// Returns how many columns there are: `COLUMNS`, or as wide as the terminal is.
pub(crate) fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    said.or_else(seen).filter(|columns| *columns > 0).unwrap_or(COLUMNS).max(LEAST)
}

/// Shows a text on one line, without anything that a terminal obeys.
pub(crate) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    Harmless(&words.join(" ")).to_string()
}

/// Shows a text with its lines, without anything else that a terminal obeys.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| Harmless(line).to_string().replace('\t', "    "))
}

/// Returns how many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to so many columns, with a sign that something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 1;
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Fills a text up to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Moves a text to the right end of so many columns.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Breaks a line between words, so that no part takes more columns than there are. A longer word is cut in two.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in text.split(' ') {
        if !row.is_empty() && row.width() + 1 + word.width() > columns {
            rows.push(std::mem::take(&mut row));
        } else if !row.is_empty() {
            row.push(' ');
        }
        for c in word.chars() {
            if !row.is_empty() && row.width() + c.width().unwrap_or(0) > columns {
                rows.push(std::mem::take(&mut row));
            }
            row.push(c);
        }
    }
    rows.push(row);
    rows
}

/// Shows how long something took: `4.1s`, `2m 03s`, `1h 02m`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", millis % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Shows how long ago something was: `just now`, `3 min ago`, `2 d ago`.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Shows a run by the ends of its id: short, and enough to type.
pub(crate) fn short(run: RunId) -> String {
    let id = run.to_string();
    match (id.get(..8), id.len().checked_sub(4).and_then(|at| id.get(at..))) {
        (Some(front), Some(back)) => format!("{front}…{back}"),
        _ => id,
    }
}

/// Counts things: `1 finding`, `3 findings`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_columns_and_not_by_characters() {
        let cases = [
            ("tides", 5, "tides"),
            ("tides", 4, "tid…"),
            ("潮汐潮汐", 8, "潮汐潮汐"),
            ("潮汐潮汐", 7, "潮汐潮…"),
            ("潮汐潮汐", 6, "潮汐…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("tides", 1, "…"),
            ("tides", 0, ""),
        ];
        for (text, columns, cut_to) in cases {
            assert_eq!(cut(text, columns), cut_to, "{text} in {columns}");
            assert!(width(&cut(text, columns)) <= columns);
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(line("a\u{1b}[2Jb\nc\u{7}"), "a␛[2Jb c␇");
        assert_eq!(lines("a\rb\n\u{202e}c\td").collect::<Vec<_>>(), ["a␍b", "\u{fffd}c    d"]);
    }

    #[test]
    fn lines_are_broken_between_words_and_long_words_within() {
        assert_eq!(wrap("the moon pulls the sea", 9), ["the moon", "pulls the", "sea"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("潮汐潮", 4), ["潮汐", "潮"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn times_are_short() {
        let cases =
            [(0, "0.0s"), (4_140, "4.1s"), (59_999, "59.9s"), (123_000, "2m 03s"), (3_720_000, "1h 02m")];
        for (millis, shown) in cases {
            assert_eq!(duration(millis), shown);
        }
        let now = Timestamp::from_millis(1_000_000_000);
        let cases =
            [(3, "just now"), (40, "40 s ago"), (200, "3 min ago"), (7300, "2 h ago"), (200_000, "2 d ago")];
        for (seconds, shown) in cases {
            assert_eq!(ago(Timestamp::from_millis(1_000_000_000 - seconds * 1000), now), shown);
        }
    }
}
