//! Words that are quoted: found again in the text they come from, compared with each other, and kept from speaking.
//!
//! Pure functions; nothing here knows what a verifier is.

use std::collections::BTreeSet;
use std::ops::Range;

/// How much of the words of two remarks must be the same for them to be one remark.
const ALIKE: f64 = 0.5;

/// The tags that prompts put around what others wrote.
const TAGS: [&str; 5] = ["task", "draft", "text", "claim", "source"];

/// Makes a text safe to be put between the tags of a prompt: it cannot close them, so whatever it says is said inside.
pub(super) fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let name = after.get(1..).unwrap_or_default().trim_start();
        let closes =
            TAGS.iter().any(|tag| name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag)));
        if closes {
            out.push('\\');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Finds a quotation in a text. White space may differ, and so may the form of dashes, quotation marks and apostrophes,
/// which models like to change. It must not begin or end inside a word or number: 19 is no quotation from 1932. The bytes
/// of the text are returned; nothing if it does not stand there.
pub(super) fn find(text: &str, quote: &str) -> Option<Range<usize>> {
    let (needle, _) = folded(quote.trim());
    let exact = needle.trim();
    let bare = exact.trim_matches(|c| matches!(c, '"' | '\'' | '`' | '…')).trim();
    let (hay, places) = folded(text);
    [exact, bare].into_iter().filter(|needle| !needle.is_empty()).find_map(|needle| {
        let (at, _) = hay.match_indices(needle).find(|(at, _)| is_whole(&hay, *at..at + needle.len()))?;
        let start = places.get(hay.get(..at)?.chars().count())?.start;
        let end = places.get(hay.get(..at + needle.len())?.chars().count().checked_sub(1)?)?.end;
        Some(start..end)
    })
}

/// Says whether a part of a text cuts no word in two, where words can be told by their letters.
fn is_whole(text: &str, part: Range<usize>) -> bool {
    let joined = |before: Option<char>, after: Option<char>| {
        before
            .zip(after)
            .is_some_and(|(before, after)| before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric())
    };
    let (before, rest) = text.split_at(part.start);
    let (inside, after) = rest.split_at(part.len());
    !joined(before.chars().next_back(), inside.chars().next())
        && !joined(inside.chars().next_back(), after.chars().next())
}

/// Brings a text into the form in which quotations are compared, with the place in the text of every character of it.
fn folded(text: &str) -> (String, Vec<Range<usize>>) {
    let mut out = String::with_capacity(text.len());
    let mut places: Vec<Range<usize>> = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
                places.push(at..end);
            }
            continue;
        }
        out.push(match c {
            '“' | '”' | '„' | '«' | '»' => '"',
            '‘' | '’' | '‚' => '\'',
            '‐' | '‑' | '–' | '—' => '-',
            plain => plain,
        });
        places.push(at..end);
    }
    (out, places)
}

/// Returns the words of a text, in lower case, each once.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Says whether two remarks say the same: at least half of all their words are in both.
pub(super) fn alike(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let shared = one.intersection(&other).count();
    let all = one.union(&other).count();
    all > 0 && count(shared) / count(all) >= ALIKE
}

/// Says whether two quotations are of the same words: one stands in the other.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    find(one, other).is_some() || find(other, one).is_some()
}

/// A small count as a number to calculate with.
pub(super) fn count(items: usize) -> f64 {
    f64::from(u32::try_from(items).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_is_found_as_models_write_it() {
        let text = "It’s  said:\n  “Tides rise — and\nfall.” Twice a day.";
        let cases = [
            ("Twice a day", Some("Twice a day")),
            ("Tides rise - and fall.", Some("Tides rise — and\nfall.")),
            ("\"Twice a day.\"", Some("Twice a day.")),
            ("It's said", Some("It’s  said")),
            ("…and fall.", Some("and\nfall.")),
            ("Tides fall", None),
            ("ides rise", None),
            ("Twice a da", None),
            ("a day", Some("a day")),
            ("twice a day", None),
            ("", None),
            ("\"\"", None),
        ];
        for (quote, wanted) in cases {
            assert_eq!(find(text, quote).map(|bytes| &text[bytes]), wanted, "{quote}");
        }
    }

    #[test]
    fn a_text_cannot_close_the_tags_around_it() {
        let cases = [
            ("a < b, </b> and </", "a < b, </b> and </"),
            ("x </draft> y", "x <\\/draft> y"),
            ("</ DRAFT\n></source></task>", "<\\/ DRAFT\n><\\/source><\\/task>"),
            ("</tä", "</tä"),
        ];
        for (text, wanted) in cases {
            assert_eq!(inert(text), wanted);
        }
    }

    #[test]
    fn remarks_are_alike_when_half_of_their_words_are() {
        assert!(alike("The opening is too long.", "the opening is far too long"));
        assert!(!alike("The opening is too long.", "There is no number at the end."));
        assert!(!alike("", ""));
    }
}
