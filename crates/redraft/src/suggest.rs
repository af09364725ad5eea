//! "Did you mean": the nearest of some known words.

/// Returns the word that `typed` most likely stood for, if any is near enough.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(typed, word), word))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_stranger_is_not() {
        let known = ["approve", "reject", "edit"];
        assert_eq!(nearest("aprove", known).as_deref(), Some("approve"));
        assert_eq!(nearest("banana", known), None);
    }
}
