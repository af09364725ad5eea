//! Whether two drafts say the same, whatever their spaces, capitals and kinds of quotation marks.
//!
//! This is how a loop finds out that it turns in circles. It looks at content, not at form: where form is what is
//! judged (indentation, capitals), compare the texts themselves too. The work is bounded by the length of the texts,
//! and no clock is looked at: the same texts always give the same answer.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::fingerprint::Fingerprint;

/// Brings a text into a form in which only its content is left.
///
/// Capitals become small letters. Words and signs are set apart by one space each, so that neither line breaks nor
/// the spaces around signs matter. Typographic quotation marks, dashes and dots become the plain ones, and a longer
/// row of dots, dashes, stars or marks becomes three of them. Signs are otherwise kept: in code and in JSON they are
/// the content.
///
/// ```
/// use redraft::refine::likeness::normal;
///
/// assert_eq!(normal("“Wait…”\r\n\tshe   said"), normal("\"wait...\" she said"));
/// assert_ne!(normal("a == b"), normal("a = b"));
/// ```
#[must_use]
pub fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for token in tokens(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&token.normal);
    }
    out
}

/// Returns a hash of the content of a text: texts that say the same have the same one.
#[must_use]
pub fn fingerprint(text: &str) -> Fingerprint {
    Fingerprint::of([normal(text).as_bytes()])
}

/// Longer texts are compared without regard to order: the search for the longest common row takes too long there.
const MOST_TOKENS: usize = 100_000;

/// Says how much of two texts is the same, from 0.0 (nothing) to 1.0 (the content is equal, and only then).
///
/// It is the share of words and signs that both have in the same order: a paragraph that has moved counts as changed.
/// Texts of a hundred thousand words are compared by the pairs of neighbouring words that both have.
#[must_use]
pub fn likeness(a: &str, b: &str) -> f64 {
    within(a, b, MOST_TOKENS)
}

fn within(a: &str, b: &str, most: usize) -> f64 {
    let words = |text| tokens(text).map(|token| token.normal).collect::<Vec<String>>();
    let (mut a, mut b) = (words(a), words(b));
    if a == b {
        return 1.0;
    }
    // In the same order whoever is asked about whom: the search is not even-handed.
    if a > b {
        std::mem::swap(&mut a, &mut b);
    }
    if a.len() + b.len() <= most {
        let spans = capture_diff_slices(Algorithm::Myers, &a, &b);
        let same = spans.iter().filter(|span| span.tag() == DiffTag::Equal);
        let same: usize = same.map(|span| span.old_range().len()).sum();
        return share(same, a.len() + b.len());
    }
    let (left, right) = (pairs(&a), pairs(&b));
    let same =
        left.iter().map(|(pair, count)| (*count).min(right.get(pair).copied().unwrap_or_default())).sum();
    // The same pairs in another order are still another text.
    share(same, (a.len() + b.len()).saturating_sub(2)).min(0.999)
}

/// How much the same ones make of all in two texts.
fn share(same: usize, of: usize) -> f64 {
    (same * 2) as f64 / of.max(1) as f64
}

/// Which words follow which, and how often.
fn pairs(words: &[String]) -> HashMap<(&str, &str), usize> {
    let mut counts = HashMap::new();
    for pair in words.windows(2) {
        *counts.entry((pair[0].as_str(), pair[1].as_str())).or_default() += 1;
    }
    counts
}

/// A word or a sign of a text, or a row of the same sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Where it stands.
    pub(super) range: Range<usize>,
    /// Its content.
    pub(super) normal: String,
    /// Whether it is a word.
    pub(super) is_word: bool,
}

/// Finds the words and signs of a text, in order.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut rest = text.char_indices().filter(|(_, c)| !is_invisible(*c)).peekable();
    std::iter::from_fn(move || {
        while rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let (start, first) = rest.next()?;
        let mut end = start + first.len_utf8();
        let mut normal = String::new();
        if is_word(first) {
            push_folded(&mut normal, first);
            while let Some((at, c)) = rest.next_if(|(_, c)| is_word(*c)) {
                push_folded(&mut normal, c);
                end = at + c.len_utf8();
            }
            return Some(Token { range: start..end, normal, is_word: true });
        }
        let sign = plain(first);
        let is_row = matches!(sign, '.' | '!' | '?' | '-' | '_' | '*' | '~');
        let width = |c: char| if c == '…' { 3 } else { 1 };
        let mut count = width(first);
        while let Some((at, c)) = rest.next_if(|(_, c)| is_row && plain(*c) == sign) {
            count += width(c);
            end = at + c.len_utf8();
        }
        normal.extend(std::iter::repeat_n(sign, count.min(3)));
        Some(Token { range: start..end, normal, is_word: false })
    })
}

/// Anything that is neither space nor punctuation: letters of all scripts, digits, marks on letters, pictures.
fn is_word(c: char) -> bool {
    let is_punctuation = c.is_ascii_punctuation()
        || matches!(c, '«' | '»' | '¡' | '¿' | '·' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    c.is_alphanumeric() || !(c.is_whitespace() || c.is_control() || is_punctuation)
}

/// Nobody sees these, and copying adds and loses them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

fn plain(c: char) -> char {
    match c {
        '“' | '”' | '„' | '‟' => '"',
        '‘' | '’' | '‚' | '‛' => '\'',
        '‐' | '‑' | '‒' | '–' | '—' | '―' => '-',
        '…' => '.',
        other => other,
    }
}

fn push_folded(out: &mut String, c: char) {
    // A sigma at the end of a word is written differently and is the same letter.
    out.extend(c.to_lowercase().map(|small| if small == 'ς' { 'σ' } else { small }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spaces_capitals_and_typography_do_not_make_another_draft() {
        let same = [
            ("The tide rises.", "the  tide\n\nrises ."),
            ("fn main() {\n    go();\n}", "fn main(){go();}"),
            ("It’s “fine” – really…", "it's \"fine\" - really..."),
            ("a\r\nb\r\n", "a\nb"),
            ("soft\u{ad}ware", "software"),
            ("-----", "---"),
            ("ΟΔΟΣ", "οδος"),
        ];
        for (a, b) in same {
            assert_eq!(fingerprint(a), fingerprint(b), "{a:?} {b:?}");
            assert!((likeness(a, b) - 1.0).abs() < f64::EPSILON, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_sign_that_matters_makes_another_draft() {
        let different = [
            ("a == b", "a = b"),
            ("a + b", "a - b"),
            ("[1, 2]", "[1 2]"),
            ("1.5", "15"),
            ("no one", "noone"),
            ("# Title", "## Title"),
            ("x", ""),
        ];
        for (a, b) in different {
            assert_ne!(fingerprint(a), fingerprint(b), "{a:?} {b:?}");
            assert!(likeness(a, b) < 1.0, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_has_changed_little_is_more_alike_than_what_has_changed_much() {
        let draft = "The moon pulls the sea. The sea rises twice a day. The sun helps.";
        let touched = "The moon pulls the sea. The sea rises twice each day. The sun helps.";
        let moved = "The sun helps. The moon pulls the sea. The sea rises twice a day.";
        let shuffled = "day a rises. sea The helps sea sun moon the pulls The. twice The.";
        let other = "Bread needs flour, water, salt and time.";
        let order = [touched, moved, shuffled, other].map(|text| likeness(draft, text));
        assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
        assert!(order[0] > 0.9 && order[3] < 0.2, "{order:?}");
    }

    #[test]
    fn very_long_texts_are_compared_by_pairs_and_never_taken_for_equal() {
        let long = |a, b| within(a, b, 0);
        assert!(long("a b a c a", "a c a b a") < 1.0);
        assert!(long("one two three four", "one two three five") > 0.6);
        assert!(long("one two", "three four") < 0.1);
        assert!(long("one", "two") < 0.1);
        assert!((long("one Two", "one  two") - 1.0).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn the_normal_form_is_its_own_normal_form(text in any::<String>()) {
            let once = normal(&text);
            prop_assert_eq!(normal(&once), once);
        }

        #[test]
        fn likeness_is_even_handed_and_bounded(a in "[a-d .!]{0,40}", b in "[a-d .!]{0,40}") {
            let there = likeness(&a, &b);
            prop_assert!((0.0..=1.0).contains(&there));
            prop_assert!((there - likeness(&b, &a)).abs() < 1e-12);
            prop_assert_eq!(there >= 1.0, normal(&a) == normal(&b));
        }

        #[test]
        fn tokens_stand_where_they_say(text in any::<String>()) {
            let mut end = 0;
            for token in tokens(&text) {
                prop_assert!(token.range.start >= end && !token.range.is_empty());
                prop_assert!(text.get(token.range.clone()).is_some());
                end = token.range.end;
            }
        }
    }
}
