//! A draft in parts, so that one of them can be made anew while the others stay.
//!
//! The parts of a text cover it from the first byte to the last, in order and without gaps: put together they are the
//! text again. What a part means is not looked at here.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::edits::in_the_endings_of;
use super::likeness::normal;
use crate::verify::{Place, Position};

/// How a draft falls into parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Split {
    /// At each heading of Markdown, of any depth.
    #[default]
    Headings,
    /// After blank lines; a fenced block of code stays whole.
    Paragraphs,
    /// At `Step 1:` and the like or, if there are none, at the outermost numbers of a list (`1.`, `2)`).
    Steps,
    /// Line by line.
    Lines,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is called: the words of a heading, `step 2`, `paragraph 3`, `line 4`. Empty for what stands before the
    /// first heading or step.
    pub label: String,
    /// Its bytes.
    pub range: Range<usize>,
}

impl Part {
    /// Returns its words.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.range.clone()).unwrap_or_default()
    }
}

/// Splits a text into parts. An empty text has none.
///
/// ```
/// use redraft::refine::sections::{Split, split};
///
/// let parts = split("intro\n# One\na\n# Two\nb\n", Split::Headings);
/// let labels: Vec<_> = parts.iter().map(|part| part.label.as_str()).collect();
/// assert_eq!(labels, ["", "One", "Two"]);
/// ```
#[must_use]
pub fn split(text: &str, by: Split) -> Vec<Part> {
    let lines = lines(text);
    let starts = match by {
        Split::Headings => headings(text, &lines),
        Split::Paragraphs => paragraphs(&lines),
        Split::Steps => steps(&lines),
        Split::Lines => {
            (1..).zip(&lines).map(|(number, line)| (line.start, format!("line {number}"))).collect()
        }
    };
    tiled(text, starts)
}

/// Finds the part in which a place lies: of a span, where it begins.
///
/// Nothing if the place is not in the text, or if several parts have the name of the section.
#[must_use]
pub fn which(parts: &[Part], place: &Place, text: &str) -> Option<usize> {
    match place {
        Place::Span { start, .. } => {
            let byte = byte_of(text, *start)?;
            // The end of the text belongs to the last part.
            let byte = byte.min(text.len().checked_sub(1)?);
            parts.iter().position(|part| part.range.contains(&byte))
        }
        Place::Section(name) => {
            let name = normal(name.trim_start().trim_start_matches('#'));
            let mut named = parts.iter().enumerate().filter(|(_, part)| normal(&part.label) == name);
            match (named.next(), named.next()) {
                (Some((index, _)), None) => Some(index),
                _ => None,
            }
        }
        Place::Pointer(_) => None,
    }
}

/// Puts something else in the place of a part. The others stay as they are, byte by byte.
///
/// The blank space at the end of the part stays too, so that the next one begins on its own line; if nothing but
/// blank space is put there, the part goes with it. Nothing if there is no such part.
#[must_use]
pub fn replace(text: &str, parts: &[Part], index: usize, new: &str) -> Option<String> {
    let part = parts.get(index)?;
    let (before, old, after) =
        (text.get(..part.range.start)?, text.get(part.range.clone())?, text.get(part.range.end..)?);
    if new.trim().is_empty() {
        return Some(format!("{before}{after}"));
    }
    let blank = old.get(old.trim_end().len()..)?;
    let new = in_the_endings_of(text, new.trim_end().to_owned());
    Some(format!("{before}{new}{blank}{after}"))
}

/// Finds the byte at a position. A column beyond the end of its line is that end.
fn byte_of(text: &str, position: Position) -> Option<usize> {
    let line = (position.line as usize).checked_sub(1)?;
    let start = match line {
        0 => 0,
        _ => text.match_indices('\n').nth(line - 1)?.0 + 1,
    };
    let line = text.get(start..)?.split('\n').next()?;
    let column = position.column.map_or(0, |column| (column as usize).saturating_sub(1));
    Some(start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at))
}

fn tiled(text: &str, starts: Vec<(usize, String)>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(starts.len() + 1);
    if !text.is_empty() && starts.first().is_none_or(|(start, _)| *start > 0) {
        parts.push(Part { label: String::new(), range: 0..text.len() });
    }
    for (start, label) in starts {
        if let Some(last) = parts.last_mut() {
            last.range.end = start;
        }
        parts.push(Part { label, range: start..text.len() });
    }
    parts
}

/// A line without its line break.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    text: &'a str,
    /// Whether it belongs to a fenced block of code; its first and last line do.
    is_fenced: bool,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// What follows the indentation, and how deep that is. A tab is four spaces.
    fn unindented(&self) -> (&str, usize) {
        let rest = self.text.trim_start_matches([' ', '\t']);
        let indent = self.text.bytes().take(self.text.len() - rest.len());
        (rest, indent.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum())
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut fence: Option<(char, usize)> = None;
    let mut lines = Vec::new();
    for whole in text.split_inclusive('\n') {
        let mut line = Line { start, text: whole.trim_end_matches(['\n', '\r']), is_fenced: fence.is_some() };
        start += whole.len();
        let (rest, indent) = line.unindented();
        match (fence, row(rest)) {
            (Some((sign, width)), Some((other, length, tail)))
                if sign == other && length >= width && tail.trim().is_empty() =>
            {
                fence = None;
            }
            // Deeper than that it can only be in a list: a fence there, and its text, are as deep.
            (None, Some((sign, length, tail))) if indent < 12 && !(sign == '`' && tail.contains('`')) => {
                fence = Some((sign, length));
                line.is_fenced = true;
            }
            _ => {}
        }
        lines.push(line);
    }
    lines
}

/// Reads three or more backticks or tildes: which, how many, and what follows.
fn row(line: &str) -> Option<(char, usize, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let tail = line.trim_start_matches(sign);
    let length = line.len() - tail.len();
    (length >= 3).then_some((sign, length, tail))
}

fn headings(text: &str, lines: &[Line<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // The lines of a paragraph become a heading if they are underlined.
    let mut paragraph: Option<usize> = None;
    let mut is_plain = true;
    let body = lines.iter().enumerate().skip(front_matter(lines));
    for (index, line) in body {
        let (rest, indent) = line.unindented();
        if line.is_fenced || line.is_blank() {
            (paragraph, is_plain) = (None, true);
        } else if let Some(title) = hashed(rest).filter(|_| indent < 4) {
            found.push((line.start, title.to_owned()));
            (paragraph, is_plain) = (None, true);
        } else if indent < 4 && is_underline(rest) && is_plain && paragraph.is_some() {
            if let Some(first) = paragraph.take() {
                let start = lines[first].start;
                let title = text.get(start..line.start).unwrap_or_default();
                found.push((start, title.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        } else if paragraph.is_none() {
            // A list, a quotation, a table or indented code cannot be underlined.
            is_plain = indent < 4 && !begins_block(rest);
            paragraph = Some(index);
        } else if begins_block(rest) {
            is_plain = false;
        }
    }
    found
}

/// How many lines of settings a text begins with.
fn front_matter(lines: &[Line<'_>]) -> usize {
    if lines.first().is_none_or(|line| line.text.trim_end() != "---") {
        return 0;
    }
    lines.iter().skip(1).position(|line| line.text.trim_end() == "---").map_or(0, |end| end + 2)
}

fn hashed(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let depth = line.len() - rest.len();
    if !(1..=6).contains(&depth) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    Some(if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title })
}

fn is_underline(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty() && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

fn begins_block(line: &str) -> bool {
    let bullet = line
        .strip_prefix(['-', '*', '+'])
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    bullet || line.starts_with(['>', '|', '<']) || numbered(line).is_some()
}

/// Reads the number of an item of a list.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line.get(..line.len() - rest.len())?;
    let after = rest.strip_prefix(['.', ')'])?;
    ((1..=9).contains(&number.len()) && (after.is_empty() || after.starts_with([' ', '\t'])))
        .then_some(number)
}

/// Reads `Step 1:`, `**Step 1.**`, `### step 1` and the like.
fn step(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['#', '*', '_', ' ', '>']);
    let rest = line.get(..4).filter(|word| word.eq_ignore_ascii_case("step")).and(line.get(4..))?;
    let rest = rest.strip_prefix([' ', '\u{a0}'])?.trim_start();
    let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = rest.get(..rest.len() - tail.len()).filter(|number| !number.is_empty())?;
    // "Step 2 follows from it" is a sentence.
    let ends = tail.trim_end_matches(['*', '_', ' ']).is_empty()
        || tail.trim_start_matches(['*', '_', ' ']).starts_with([':', '.', ')', '-', '–', '—']);
    ends.then_some(number)
}

fn paragraphs(lines: &[Line<'_>]) -> Vec<(usize, String)> {
    let mut starts: Vec<(usize, String)> = Vec::new();
    let mut is_after_blank = true;
    for line in lines {
        if is_after_blank && !line.is_blank() {
            // Blank lines at the very beginning go with the first paragraph.
            let start = if starts.is_empty() { 0 } else { line.start };
            starts.push((start, format!("paragraph {}", starts.len() + 1)));
        }
        is_after_blank = line.is_blank() && !line.is_fenced;
    }
    starts
}

fn steps(lines: &[Line<'_>]) -> Vec<(usize, String)> {
    let open = || lines.iter().filter(|line| !line.is_fenced);
    let named: Vec<_> = open()
        .filter_map(|line| step(line.unindented().0).map(|number| (line.start, format!("step {number}"))))
        .collect();
    if !named.is_empty() {
        return named;
    }
    let items = || {
        open().filter_map(|line| {
            let (rest, indent) = line.unindented();
            numbered(rest).map(|number| (indent, line.start, number))
        })
    };
    let outermost = items().map(|(indent, ..)| indent).min();
    items()
        .filter(|(indent, ..)| Some(*indent) == outermost)
        .map(|(_, start, number)| (start, format!("step {number}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::verify::Finding;

    fn check(text: &str, by: Split, parts: &[(&str, &str)]) {
        let found = split(text, by);
        let found: Vec<_> = found.iter().map(|part| (part.label.as_str(), part.of(text))).collect();
        assert_eq!(found, parts, "{text:?}");
    }

    #[test]
    fn a_part_begins_at_each_heading() {
        let parts = [
            ("", "intro\n\n"),
            ("One", "# One\ntext\n"),
            ("Two words", "## Two words ##\n"),
            ("C#", "### C#\n"),
            ("A long title", "\nA long\ntitle\n===\nunder it\n\n"),
            ("Small", "Small\n---\nend"),
        ];
        // The blank line before an underlined title belongs to the part before it.
        let text: String = parts.iter().map(|(_, text)| *text).collect();
        let mut parts = parts;
        parts[3].1 = "### C#\n\n";
        parts[4].1 = "A long\ntitle\n===\nunder it\n\n";
        check(&text, Split::Headings, &parts);
        check("# One\r\na\r\n# Two\r\n", Split::Headings, &[("One", "# One\r\na\r\n"), ("Two", "# Two\r\n")]);
    }

    #[test]
    fn what_only_looks_like_a_heading_is_none() {
        let texts = [
            "```sh\n# comment\n```\n",
            "~~~~\n# a\n~~~\n# b\n~~~~\n",
            "- item\n---\n",
            "> quoted\n---\n",
            "a\n\n---\nb",
            "    # code\n",
            "#hashtag\n",
            "####### seven\n",
            "---\ntitle: x\n---\ntext",
            "a | b\n--|--\n",
            "never closed\n```\n# comment",
            "",
        ];
        for text in texts {
            assert!(split(text, Split::Headings).iter().all(|part| part.label.is_empty()), "{text:?}");
        }
    }

    #[test]
    fn a_part_begins_at_each_paragraph_and_code_stays_whole() {
        let text = "\n\none\nmore\n\n \n```\na\n\nb\n```\n\nlast";
        let parts = [
            ("paragraph 1", "\n\none\nmore\n\n \n"),
            ("paragraph 2", "```\na\n\nb\n```\n\n"),
            ("paragraph 3", "last"),
        ];
        check(text, Split::Paragraphs, &parts);
        check("\n \n", Split::Paragraphs, &[("", "\n \n")]);
    }

    #[test]
    fn a_part_begins_at_each_step() {
        let list = "Plan:\n1. first\n   1. inner\n   2. inner\n2) second\n```\n3. code\n```\n";
        let parts = [
            ("", "Plan:\n"),
            ("step 1", "1. first\n   1. inner\n   2. inner\n"),
            ("step 2", "2) second\n```\n3. code\n```\n"),
        ];
        check(list, Split::Steps, &parts);
        let named = "**Step 1:** x\n1. not a step\nStep 2 follows from it.\n### STEP 2\ny";
        let parts = [
            ("step 1", "**Step 1:** x\n1. not a step\nStep 2 follows from it.\n"),
            ("step 2", "### STEP 2\ny"),
        ];
        check(named, Split::Steps, &parts);
        check("a\nb", Split::Lines, &[("line 1", "a\n"), ("line 2", "b")]);
    }

    #[test]
    fn a_finding_belongs_to_the_part_in_which_it_begins() {
        let text = "é\n# One\nfirst\n# Two\nsecond\n# One\n";
        let parts = split(text, Split::Headings);
        let at = |finding: Finding| which(&parts, &finding.place.unwrap(), text);
        let part = |line| at(Finding::new("r", "m").line(line));
        assert_eq!([1, 2, 3, 4, 5, 6].map(part), [0, 1, 1, 2, 2, 3].map(Some));
        assert_eq!(part(7), Some(3), "the empty line at the end");
        assert_eq!([0, 8].map(part), [None, None]);
        let second = text.find("second").unwrap();
        assert_eq!(at(Finding::new("r", "m").span(text, second..second + 3)), Some(2));
        let named = |name: &str| which(&parts, &Place::Section(name.to_owned()), text);
        assert_eq!(named("## two"), Some(2));
        assert_eq!(named("One"), None, "there are two");
        assert_eq!(named("Three"), None);
        assert_eq!(at(Finding::new("r", "m").pointer("/a")), None);
        assert_eq!(which(&[], &Place::Section("a".to_owned()), ""), None);
    }

    #[test]
    fn a_new_part_does_not_run_into_the_next() {
        let text = "# One\r\nold\r\n\r\n# Two\r\n";
        let parts = split(text, Split::Headings);
        let new = replace(text, &parts, 0, "# One\nnew").unwrap();
        assert_eq!(new, "# One\r\nnew\r\n\r\n# Two\r\n");
        assert_eq!(replace(text, &parts, 0, " \n").unwrap(), "# Two\r\n");
        assert_eq!(replace(text, &parts, 2, "x"), None);
    }

    fn drafts() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just("# Heading"),
            Just("## Teil zwei ##"),
            Just("==="),
            Just("---"),
            Just("```"),
            Just("~~~~"),
            Just("1. one"),
            Just("  2) two"),
            Just("Step 3: x"),
            Just("- item"),
            Just(""),
            Just("  "),
            Just("\tword"),
            Just("naïve 語👩‍👧"),
            Just("> quote"),
            Just("plain"),
            Just("\r"),
            Just("\u{2028}"),
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("")];
        proptest::collection::vec((line, end), 0..30)
            .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end]).collect())
    }

    fn ways() -> impl Strategy<Value = Split> {
        prop_oneof![Just(Split::Headings), Just(Split::Paragraphs), Just(Split::Steps), Just(Split::Lines)]
    }

    proptest! {
        #[test]
        fn the_parts_together_are_the_text(text in prop_oneof![drafts(), any::<String>()], by in ways()) {
            let parts = split(&text, by);
            prop_assert_eq!(parts.iter().map(|part| part.of(&text)).collect::<String>(), text.as_str());
            prop_assert!(parts.iter().all(|part| !part.range.is_empty()));
        }

        #[test]
        fn the_other_parts_stay_as_they_are(text in drafts(), by in ways(), index in any::<Index>(), new in drafts()) {
            let parts = split(&text, by);
            prop_assume!(!parts.is_empty());
            let part = index.get(&parts);
            let at = parts.iter().position(|other| other == part).unwrap();
            let after = replace(&text, &parts, at, &new).unwrap();
            let (head, tail) = (&text[..part.range.start], &text[part.range.end..]);
            prop_assert!(after.starts_with(head) && after.ends_with(tail) && after.len() >= head.len() + tail.len());
            let middle = &after[head.len()..after.len() - tail.len()];
            prop_assert_eq!(middle.trim_end().replace("\r\n", "\n"), new.trim_end().replace("\r\n", "\n"));
        }

        #[test]
        fn every_byte_has_its_part(text in drafts(), by in ways(), index in any::<Index>()) {
            prop_assume!(!text.is_empty());
            let byte = text.floor_char_boundary(index.index(text.len()));
            let place = Finding::new("r", "m").span(&text, byte..byte).place.unwrap();
            let parts = split(&text, by);
            let found = which(&parts, &place, &text).unwrap();
            prop_assert!(parts[found].range.contains(&byte));
        }
    }
}
