//! Which part of a document speaks of a claim: pure, by the words they share.
//!
//! Rare words weigh more than frequent ones, so that "the" decides nothing in any language.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::verify::quote::{count, words};

/// The most characters of a passage.
const LONGEST: usize = 1200;

/// A document that is ready to be searched.
#[derive(Clone, Debug)]
pub(super) struct Indexed {
    passages: Vec<(Range<usize>, BTreeSet<String>)>,
}

/// The part of a document that is shown for a claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Relevant {
    /// Which document.
    pub(super) document: usize,
    /// Its best passages, in the order of the document.
    pub(super) passages: Vec<Range<usize>>,
}

impl Indexed {
    pub(super) fn new(text: &str) -> Self {
        let passages = split(text, LONGEST);
        let indexed = passages.into_iter().map(|bytes| {
            let words = words(text.get(bytes.clone()).unwrap_or_default());
            (bytes, words)
        });
        Self { passages: indexed.collect() }
    }
}

/// Splits a text into passages of whole paragraphs, as many as fit. A paragraph that is too long is split between its
/// sentences, else between words, else anywhere. Nothing is lost but white space.
pub(super) fn split(text: &str, longest: usize) -> Vec<Range<usize>> {
    let mut passages: Vec<Range<usize>> = Vec::new();
    for piece in pieces(text, 0..text.len(), &["\n\n", "\n", ". ", " "], longest) {
        match passages.last_mut() {
            Some(last) if fits(text, &(last.start..piece.end), longest) => last.end = piece.end,
            _ => passages.push(piece),
        }
    }
    passages
}

/// Cuts after the first separator, and what is still too long after the next.
fn pieces(text: &str, part: Range<usize>, separators: &[&str], longest: usize) -> Vec<Range<usize>> {
    let part = trimmed(text, part);
    if part.is_empty() {
        return Vec::new();
    }
    if fits(text, &part, longest) {
        return vec![part];
    }
    let Some((separator, finer)) = separators.split_first() else {
        let whole = text.get(part.clone()).unwrap_or_default();
        let seams = whole.char_indices().step_by(longest.max(1)).map(|(at, _)| part.start + at);
        let seams: Vec<usize> = seams.chain([part.end]).collect();
        return seams.windows(2).filter_map(|seam| Some(*seam.first()?..*seam.last()?)).collect();
    };
    let whole = text.get(part.clone()).unwrap_or_default();
    let mut start = part.start;
    let mut cut = Vec::new();
    for (at, _) in whole.match_indices(separator) {
        let end = part.start + at + separator.len();
        cut.extend(pieces(text, start..end, finer, longest));
        start = end;
    }
    cut.extend(pieces(text, start..part.end, finer, longest));
    cut
}

fn trimmed(text: &str, part: Range<usize>) -> Range<usize> {
    let whole = text.get(part.clone()).unwrap_or_default();
    let start = part.start + (whole.len() - whole.trim_start().len());
    start..(start + whole.trim().len())
}

fn fits(text: &str, part: &Range<usize>, longest: usize) -> bool {
    // There are never more characters than bytes, and counting bytes costs nothing.
    part.len() <= longest || text.get(part.clone()).is_none_or(|part| part.chars().count() <= longest)
}

/// Finds the documents that speak most of a claim, the best first, each with its best passages. What shares no word with
/// the claim comes last, but it comes: a source in another language may speak of it all the same.
pub(super) fn relevant(
    documents: &[&Indexed],
    claim: &str,
    most: usize,
    passages_each: usize,
) -> Vec<Relevant> {
    let claim = words(claim);
    let everything = documents.iter().flat_map(|document| &document.passages);
    let total = everything.clone().count();
    let rarity: BTreeMap<&str, f64> = claim
        .iter()
        .map(|word| {
            let having = everything.clone().filter(|(_, words)| words.contains(word)).count();
            (word.as_str(), (1.0 + count(total) / (1.0 + count(having))).ln())
        })
        .collect();
    let weight = |words: &BTreeSet<String>| -> f64 {
        rarity.iter().filter(|(word, _)| words.contains(**word)).map(|(_, rarity)| rarity).sum()
    };
    let mut ranked: Vec<(f64, Relevant)> = documents
        .iter()
        .enumerate()
        .map(|(document, indexed)| {
            let mut passages: Vec<(f64, &Range<usize>)> =
                indexed.passages.iter().map(|(bytes, words)| (weight(words), bytes)).collect();
            passages.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            passages.truncate(passages_each);
            let best = passages.first().map_or(0.0, |(weight, _)| *weight);
            let mut passages: Vec<Range<usize>> =
                passages.into_iter().map(|(_, bytes)| bytes.clone()).collect();
            passages.sort_by_key(|bytes| bytes.start);
            (best, Relevant { document, passages })
        })
        .collect();
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    ranked.truncate(most);
    ranked.into_iter().map(|(_, relevant)| relevant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_split_at_the_largest_seam_that_fits() {
        let cases: [(&str, usize, &[&str]); 5] = [
            ("one\n\ntwo", 20, &["one\n\ntwo"]),
            ("one one\n\ntwo two\n\nthree", 16, &["one one\n\ntwo two", "three"]),
            ("A first. A second. A third.", 18, &["A first. A second.", "A third."]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            (" \n ", 5, &[]),
        ];
        for (text, longest, wanted) in cases {
            let got: Vec<&str> = split(text, longest).into_iter().map(|bytes| &text[bytes]).collect();
            assert_eq!(got, wanted, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[a-zäß. \n]{0,200}", longest in 1_usize..40) {
            let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let parts = split(&text, longest);
            let kept: String = parts.iter().map(|bytes| plain(&text[bytes.clone()])).collect();
            proptest::prop_assert_eq!(kept, plain(&text));
            proptest::prop_assert!(parts.iter().all(|bytes| text[bytes.clone()].chars().count() <= longest));
        }
    }

    #[test]
    fn the_document_with_the_rare_words_comes_first_and_only_its_best_passages_are_taken() {
        let filler = "the sea and the land and the sky ".repeat(36);
        let long = format!("{filler}\n\nThe bridge was opened in 1932.\n\n{filler}\n\n{filler}");
        let (short, long_one) = (Indexed::new("The sea and the land."), Indexed::new(&long));
        let documents = [&short, &long_one];
        let found = relevant(&documents, "the bridge opened in 1932", 1, 1);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].document, found[0].passages.len()), (1, 1));
        assert!(long[found[0].passages[0].clone()].contains("opened in 1932"));

        let every = relevant(&documents, "xyzzy", 5, 1);
        assert_eq!(every.iter().map(|found| found.document).collect::<Vec<_>>(), [0, 1]);
    }
}
