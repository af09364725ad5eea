//! Words of a draft, short enough to be shown in a finding.

/// In characters; beyond it the middle is left out.
const MOST: usize = 80;

/// Puts a text on one line and leaves its middle out if it is long.
pub(super) fn shortened(text: &str) -> String {
    // Twice as much is looked at as is shown, so that a long draft is not gone through for a short line.
    let head: String = text.trim().chars().take(4 * MOST).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = head.len() == text.trim().len();
    let count = line.chars().count();
    if whole && count <= MOST {
        return line;
    }
    let begin: String = line.chars().take(MOST / 2).collect();
    let tail: String = text.trim().chars().rev().take(MOST / 3).collect();
    let tail: String = tail.chars().rev().collect();
    let tail = tail.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} … {tail}", begin.trim_end())
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn short_words_stay_and_of_long_ones_the_middle_goes() {
        assert_eq!(shortened(" two\n lines "), "two lines");
        let long = format!("begin {} end", "middle ".repeat(1000));
        let short = shortened(&long);
        assert!(short.starts_with("begin middle") && short.ends_with("middle end"), "{short}");
        assert!(short.chars().count() <= 80, "{short}");
        assert_eq!(shortened(""), "");
    }
}
