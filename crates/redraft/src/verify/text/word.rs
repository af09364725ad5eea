//! Words, and how easily they read.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Finds the words of a text by Unicode's text segmentation. What is joined by hyphens is one word.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, word) in text.unicode_word_indices() {
        match found.last_mut() {
            Some(last) if matches!(&text[last.end..at], "-" | "\u{2010}" | "\u{2011}") => {
                last.end = at + word.len();
            }
            _ if is_note(text, at, word) => {}
            _ => found.push(at..at + word.len()),
        }
    }
    found
}

/// Says whether a word is the number of a footnote: "said so.[1]", "said so.²"
fn is_note(text: &str, at: usize, word: &str) -> bool {
    let follows = |before: &str| before.ends_with(|c: char| !c.is_whitespace());
    if word.chars().all(|c| matches!(c, '¹' | '²' | '³' | '⁰' | '⁴'..='⁹')) {
        return follows(&text[..at]);
    }
    word.chars().all(|c| c.is_ascii_digit())
        && text[at + word.len()..].starts_with(']')
        && text[..at].strip_suffix('[').is_some_and(follows)
}

/// Says how easily an English text reads, by Flesch's formula; nothing if there is nothing to read.
pub(super) fn reading_ease(text: &str, words: &[Range<usize>], sentences: usize) -> Option<f64> {
    if words.is_empty() {
        return None;
    }
    let syllables: usize = words.iter().map(|word| syllables(&text[word.clone()])).sum();
    let (words, sentences) = (float(words.len()), float(sentences.max(1)));
    Some(206.835 - 1.015 * (words / sentences) - 84.6 * (float(syllables) / words))
}

/// Guesses the syllables of an English word: groups of vowels, without a silent `e` at the end.
fn syllables(word: &str) -> usize {
    let word = word.to_lowercase();
    let mut count = 0;
    let mut in_vowels = false;
    for c in word.chars() {
        let vowel = matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'é' | 'è' | 'ä' | 'ö' | 'ü');
        count += usize::from(vowel && !in_vowels);
        in_vowels = vowel;
    }
    let silent = word.ends_with('e') && !word.ends_with("le") && !word.ends_with("ee");
    let silent = silent || word.ends_with("ed") && !word.ends_with("ted") && !word.ends_with("ded");
    if silent && count > 1 {
        count -= 1;
    }
    count.max(1)
}

pub(super) fn float(count: usize) -> f64 {
    // Exact far beyond any text: more than four thousand million words are not counted apart.
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
