//! Which spans of a draft are to be kept as they are.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A comment that is longer is no mark, and is not read to its end.
const LONGEST_MARK: usize = 80;

/// A function that finds spans of bytes in a text.
pub type Find = dyn Fn(&str) -> Vec<Range<usize>> + Send + Sync;

/// Something that is to be kept wherever it stands in a draft.
#[derive(Clone)]
#[non_exhaustive]
pub enum Keep {
    /// These very words.
    Words(String),
    /// Whatever a function finds, such as the matches of a pattern.
    Found(Arc<Find>),
}

impl Keep {
    /// Keeps these words wherever they stand.
    #[must_use]
    pub fn words(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }

    /// Keeps what a function finds: it is given a draft and returns spans of bytes.
    ///
    /// ```
    /// use redraft::refine::edits::{Keep, protected_spans};
    ///
    /// let first_line = Keep::found(|text| vec![0..text.find('\n').unwrap_or(text.len())]);
    /// assert_eq!(protected_spans("Title\nbody", &[first_line]), [0..5]);
    /// ```
    #[must_use]
    pub fn found(find: impl Fn(&str) -> Vec<Range<usize>> + Send + Sync + 'static) -> Self {
        Self::Found(Arc::new(find))
    }
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.debug_tuple("Words").field(words).finish(),
            Self::Found(_) => f.debug_tuple("Found").finish_non_exhaustive(),
        }
    }
}

/// Finds the spans of a text that are to be kept: what `keep` names, and everything from a `<!-- keep -->` to the
/// next `<!-- /keep -->`, with the marks.
///
/// The spaces and capitals of a mark do not matter. One that is never closed keeps the rest of the text: rather too
/// much than too little. The spans are sorted and do not overlap.
#[must_use]
pub fn protected_spans(text: &str, keep: &[Keep]) -> Vec<Range<usize>> {
    let mut spans = marked(text);
    for keep in keep {
        match keep {
            Keep::Words(words) if words.is_empty() => {}
            Keep::Words(words) => {
                // Occurrences may overlap, and each of them is to be kept.
                let starts =
                    (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(words.as_bytes()));
                spans.extend(starts.map(|start| start..start + words.len()));
            }
            Keep::Found(find) => spans.extend(find(text)),
        }
    }
    united(spans, text.len())
}

fn marked(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (start, _) in text.match_indices("<!--") {
        let near = text.get(start + 4..text.floor_char_boundary(start + LONGEST_MARK));
        let Some((inner, _)) = near.and_then(|rest| rest.split_once("-->")) else { continue };
        let mark: String = inner.split_whitespace().collect::<String>().to_lowercase();
        match (mark.as_str(), spans.last_mut()) {
            ("keep", _) if !is_open => {
                spans.push(start..text.len());
                is_open = true;
            }
            ("/keep", Some(open)) if is_open => {
                open.end = start + 4 + inner.len() + 3;
                is_open = false;
            }
            _ => {}
        }
    }
    spans
}

fn united(mut spans: Vec<Range<usize>>, length: usize) -> Vec<Range<usize>> {
    spans.iter_mut().for_each(|span| span.end = span.end.min(length));
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| span.start);
    let mut united: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match united.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => united.push(span),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept<'a>(text: &'a str, keep: &[Keep]) -> Vec<&'a str> {
        protected_spans(text, keep).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn what_stands_between_marks_is_kept_with_the_marks() {
        let text = "a <!-- keep -->b<!-- /keep --> c <!-- keep -->d<!-- /keep --> e";
        assert_eq!(kept(text, &[]), ["<!-- keep -->b<!-- /keep -->", "<!-- keep -->d<!-- /keep -->"]);
    }

    #[test]
    fn a_mark_is_known_whatever_its_spaces_and_other_comments_are_none() {
        let text = "<!--KEEP-->a<!-- note --><!-- keeper -->b<!--  / keep\n--> c <!-- kept -->";
        assert_eq!(kept(text, &[]), ["<!--KEEP-->a<!-- note --><!-- keeper -->b<!--  / keep\n-->"]);
    }

    #[test]
    fn a_mark_that_is_never_closed_keeps_the_rest() {
        assert_eq!(kept("a <!-- keep -->b c", &[]), ["<!-- keep -->b c"]);
        assert!(kept("a <!-- /keep --> b", &[]).is_empty());
    }

    #[test]
    fn words_are_kept_wherever_they_stand_even_where_they_overlap() {
        assert_eq!(kept("ä 42 and 42", &[Keep::words("42")]), ["42", "42"]);
        assert_eq!(kept("xaaay", &[Keep::words("aa")]), ["aaa"]);
        assert!(kept("abc", &[Keep::words("")]).is_empty());
    }

    #[test]
    fn what_a_function_finds_is_cut_to_the_text() {
        #[expect(clippy::reversed_empty_ranges, reason = "a function may return nonsense")]
        let keep = Keep::found(|_| vec![2..99, 7..3, 50..60]);
        assert_eq!(kept("abcd", &[keep, Keep::words("bc")]), ["bcd"]);
    }
}
