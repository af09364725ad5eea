//! Where in a text an edit belongs.
//!
//! First its words exactly. Only if they are nowhere, line by line with other whitespace at the ends of lines, other
//! line breaks, or another indentation that differs in the same way on every line; and only if one place can be meant.

use std::collections::HashMap;
use std::ops::Range;

use super::Edit;
use super::refusal::{Passage, Reason};
use crate::refine::likeness::{Token, tokens};

/// Counting stops here: nobody tells a hundred occurrences apart.
const ENOUGH: usize = 100;

/// Finds the bytes that an edit replaces, and what it puts there.
pub(super) fn locate(text: &str, edit: &Edit) -> Result<(Range<usize>, String), Reason> {
    if edit.search.is_empty() {
        return if text.is_empty() { Ok((0..0, edit.replace.clone())) } else { Err(Reason::EmptySearch) };
    }
    let enough = edit.occurrence.map_or(ENOUGH, |asked| ENOUGH.max(asked as usize));
    let exact =
        exact(text, &edit.search, enough).into_iter().map(|range| Found { range, indents: None }).collect();
    let found = pick(exact, edit.occurrence)?;
    let found = match found {
        Some(found) => found,
        None => match pick(loose(text, &edit.search, enough), edit.occurrence)? {
            Some(found) => found,
            None => return Err(Reason::NotFound { nearest: nearest(text, &edit.search) }),
        },
    };
    let mut replacement = match &found.indents {
        Some(indents) => indents.reindent(&edit.replace),
        None => edit.replace.clone(),
    };
    replacement = in_the_endings_of(text, replacement);
    Ok((found.range, replacement))
}

/// A place that can be meant.
struct Found {
    range: Range<usize>,
    indents: Option<Indents>,
}

fn pick(mut found: Vec<Found>, occurrence: Option<u32>) -> Result<Option<Found>, Reason> {
    let times = found.len();
    match occurrence {
        _ if times == 0 => Ok(None),
        Some(asked) => match (asked as usize).checked_sub(1).filter(|index| *index < times) {
            Some(index) => Ok(Some(found.swap_remove(index))),
            None => Err(Reason::NoSuchOccurrence { asked, times }),
        },
        None if times > 1 => Err(Reason::Ambiguous { times }),
        None => Ok(found.pop()),
    }
}

fn exact(text: &str, search: &str, enough: usize) -> Vec<Range<usize>> {
    let step = search.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    // Occurrences that overlap count each: whoever says "aa" of "aaa" has not said which.
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(search)) {
        found.push(from + at..from + at + search.len());
        from += at + step;
        if found.len() == enough {
            break;
        }
    }
    found
}

/// Writes the line breaks of a replacement as the text has them: a model does not see which kind they are.
pub(in crate::refine) fn in_the_endings_of(text: &str, replacement: String) -> String {
    let breaks = text.matches('\n').count();
    if breaks > 0 && breaks == text.matches("\r\n").count() && replacement.contains('\n') {
        replacement.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        replacement
    }
}

/// A line of a text, without its line break.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl Line<'_> {
    /// Where its last word ends.
    fn end(&self) -> usize {
        self.start + self.text.trim_end().len()
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let this = Line { start, text: line };
            start += line.len() + 1;
            this
        })
        .collect()
}

fn loose(text: &str, search: &str, enough: usize) -> Vec<Found> {
    if search.trim().is_empty() {
        return Vec::new();
    }
    let (lines, sought): (Vec<_>, Vec<_>) = (lines(text), search.split('\n').collect());
    (0..lines.len()).filter_map(|first| fit(text, &lines[first..], &sought)).take(enough).collect()
}

/// Whether the sought lines stand at the beginning of `lines`. The first may begin, and the last may end, within a
/// line of the text if there are several; one line alone must be a whole one, for "art" is not in "party".
fn fit(text: &str, lines: &[Line<'_>], sought: &[&str]) -> Option<Found> {
    let mut indents = Indents::default();
    let [first, inner @ ..] = sought else { return None };
    let line = lines.first()?;
    let Some((last, inner)) = inner.split_last() else {
        indents.learn(first, line.text)?;
        return Some(Found { range: line.start..line.end(), indents: Some(indents.with_the_first_line()) });
    };

    let start = if line.text.trim_end().ends_with(first.trim_end()) {
        line.end() - first.trim_end().len()
    } else {
        indents.learn(first, line.text)?;
        indents = indents.with_the_first_line();
        line.start
    };
    for (sought, line) in inner.iter().zip(lines.get(1..=inner.len())?) {
        indents.learn(sought, line.text)?;
    }
    let end = match lines.get(sought.len() - 1) {
        Some(line) if last.trim().is_empty() => {
            line.start + if line.text.starts_with(last) { last.len() } else { 0 }
        }
        Some(line) => {
            let begun = line.text.trim_start().starts_with(last.trim_start());
            let whole = indent(line.text).len() + last.trim_start().len();
            let part = if begun { line.text.get(..whole)? } else { line.text };
            indents.learn(last, part)?;
            if begun { line.start + whole } else { line.end() }
        }
        // A search that ends with a line break fits the end of a text that does not.
        None if last.is_empty() => {
            indents.unbroken = true;
            text.len()
        }
        None => return None,
    };
    Some(Found { range: start..end, indents: Some(indents) })
}

fn indent(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// How indentation in a search stands in the text.
#[derive(Default)]
struct Indents {
    known: HashMap<String, String>,
    /// Whether the first line of the replacement begins a line.
    from_first: bool,
    /// Whether the text ends without the line break that the search has.
    unbroken: bool,
}

impl Indents {
    /// Compares a sought line with a line of the text. Nothing if they are different, or if what is indented alike in
    /// the search is not in the text.
    fn learn(&mut self, sought: &str, line: &str) -> Option<()> {
        if sought.trim() != line.trim() {
            return None;
        }
        if !sought.trim().is_empty() {
            let there =
                self.known.entry(indent(sought).to_owned()).or_insert_with(|| indent(line).to_owned());
            (there == indent(line)).then_some(())?;
        }
        Some(())
    }

    fn with_the_first_line(mut self) -> Self {
        self.from_first = true;
        self
    }

    fn reindent(&self, replacement: &str) -> String {
        let replacement = match replacement.strip_suffix('\n') {
            Some(rest) if self.unbroken => rest,
            _ => replacement,
        };
        let lines = replacement.split('\n').enumerate().map(|(index, line)| {
            if line.trim().is_empty() || (index == 0 && !self.from_first) {
                return line.to_owned();
            }
            let known = self.known.iter().filter(|(here, _)| indent(line).starts_with(here.as_str()));
            match known.max_by_key(|(here, _)| here.len()) {
                Some((here, there)) => format!("{there}{}", line.get(here.len()..).unwrap_or_default()),
                None => line.to_owned(),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Finds the passage that has most words in common with what was sought.
fn nearest(text: &str, search: &str) -> Option<Passage> {
    let words = |text| tokens(text).filter(|token| token.is_word).collect::<Vec<Token>>();
    let (words, sought) = (words(text), words(search));
    let mut wanted: HashMap<&str, isize> = HashMap::new();
    for word in &sought {
        *wanted.entry(&word.normal).or_default() += 1;
    }
    // A window as long as the search slides over the text, and it is counted how many of its words are wanted.
    let (mut shared, mut best): (usize, Option<(usize, usize)>) = (0, None);
    for (index, word) in words.iter().enumerate() {
        if let Some(count) = wanted.get_mut(word.normal.as_str()) {
            shared += usize::from(*count > 0);
            *count -= 1;
        }
        if let Some(left) = index.checked_sub(sought.len())
            && let Some(count) = wanted.get_mut(words[left].normal.as_str())
        {
            *count += 1;
            shared -= usize::from(*count > 0);
        }
        if best.is_none_or(|(most, _)| shared > most) {
            best = Some((shared, index));
        }
    }
    let (shared, end) = best?;
    if shared == 0 || shared * 2 < sought.len() {
        return None;
    }
    let window = words.get((end + 1).saturating_sub(sought.len())..=end)?;
    let is_wanted = |word: &&Token| sought.iter().any(|sought| sought.normal == word.normal);
    let start = window.iter().find(is_wanted)?.range.start;
    Some(Passage::of(text, &(start..words[end].range.end)))
}
