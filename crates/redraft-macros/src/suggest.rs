//! "Did you mean": the nearest of some known words.
//!
//! The library asks `strsim` for this; a macro crate is compiled by every user before anything else, so it does
//! without the dependency.

/// The number of slips of the finger that are still understood.
const SLIPS: usize = 2;

/// Returns the word that `typed` most likely stood for, if any is near enough.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    known
        .into_iter()
        .map(|word| (slips(&typed, word), word))
        .filter(|(slips, _)| *slips <= SLIPS)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, word)| word)
}

/// Counts the letters to add, remove or change to get from one word to the other (Levenshtein's distance).
fn slips(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, a) in from.chars().enumerate() {
        let (mut diagonal, mut left) = (above, above + 1);
        for (cell, b) in row.iter_mut().skip(1).zip(to.chars()) {
            let here = (diagonal + usize::from(a != b)).min(left + 1).min(*cell + 1);
            (diagonal, left, *cell) = (*cell, here, here);
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_stranger_is_not() {
        let known = ["replace", "append", "merge"];
        for (typed, meant) in [
            ("apend", Some("append")),
            ("Append", Some("append")),
            ("appned", Some("append")),
            ("merg", Some("merge")),
            ("replaced", Some("replace")),
            ("push", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn slips_are_counted() {
        for (from, to, count) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3)] {
            assert_eq!(slips(from, to), count, "{from} to {to}");
        }
    }
}
