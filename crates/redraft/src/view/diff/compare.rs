//! What is the same in two rows of lines or words.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::{Change, Piece};

/// Some neighbours in two rows: the same ones, or such as stand for each other.
pub(super) struct Span {
    pub(super) is_same: bool,
    pub(super) before: Range<usize>,
    pub(super) after: Range<usize>,
}

/// Compares two rows of things.
pub(super) fn spans(old: &[&str], new: &[&str], most: usize) -> Vec<Span> {
    let span = |is_same, before, after| Span { is_same, before, after };
    if old.len() + new.len() > most {
        let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let tails = old[head..].iter().rev().zip(new[head..].iter().rev());
        let tail = tails.take_while(|(old, new)| old == new).count();
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        return vec![
            span(true, 0..head, 0..head),
            span(false, head..old_end, head..new_end),
            span(true, old_end..old.len(), new_end..new.len()),
        ];
    }
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    ops.iter().map(|op| span(op.tag() == DiffTag::Equal, op.old_range(), op.new_range())).collect()
}

/// Words and single signs, and where they stand. Blank space is neither.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // What is neither in ASCII nor a letter may be a mark on a letter or a part of a picture.
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || !(c.is_ascii() || c.is_whitespace());
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let found = rest.trim_start();
        let start = at + rest.len() - found.len();
        let first = found.chars().next()?;
        let length = if is_word(first) {
            found.find(|c| !is_word(c)).unwrap_or(found.len())
        } else {
            first.len_utf8()
        };
        at = start + length;
        Some((start, text.get(start..at)?))
    })
}

/// Pieces, put together where neighbours are alike.
#[derive(Default)]
pub(super) struct Pieces(pub(super) Vec<Piece>);

impl Pieces {
    pub(super) fn push(&mut self, change: Change, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.change == change => last.text.push_str(text),
            _ => self.0.push(Piece { change, text: text.to_owned() }),
        }
    }

    /// Compares the words of lines that stand for each other. Blank space has no say in which words are the same.
    pub(super) fn push_words(&mut self, removed: &str, added: &str, most: usize) {
        let (old, new): (Vec<_>, Vec<_>) = (words(removed).collect(), words(added).collect());
        let old_words: Vec<&str> = old.iter().map(|(_, word)| *word).collect();
        let new_words: Vec<&str> = new.iter().map(|(_, word)| *word).collect();
        let (mut from, mut to) = (0, 0);
        for span in spans(&old_words, &new_words, most).into_iter().filter(|span| span.is_same) {
            for (&(left, word), &(right, _)) in old[span.before].iter().zip(&new[span.after]) {
                self.push_between(&removed[from..left], &added[to..right]);
                self.push(Change::Same, word);
                (from, to) = (left + word.len(), right + word.len());
            }
        }
        self.push_between(&removed[from..], &added[to..]);
    }

    /// Adds what stands between two words that are the same: blank space at its ends may be the same too.
    fn push_between(&mut self, removed: &str, added: &str) {
        let same = |(left, right): &(char, char)| left == right && left.is_whitespace();
        let width = |pair: (char, char)| pair.0.len_utf8();
        let head: usize = removed.chars().zip(added.chars()).take_while(same).map(width).sum();
        let (head, removed, added) = (&removed[..head], &removed[head..], &added[head..]);
        let tail: usize = removed.chars().rev().zip(added.chars().rev()).take_while(same).map(width).sum();
        let (removed, tail) = removed.split_at(removed.len() - tail);
        self.push(Change::Same, head);
        self.push(Change::Removed, removed);
        self.push(Change::Added, &added[..added.len() - tail.len()]);
        self.push(Change::Same, tail);
    }
}
