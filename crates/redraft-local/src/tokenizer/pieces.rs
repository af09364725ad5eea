//! Tokens made of pairs of pieces of text, as SentencePiece writes them for Llama 2 and its kin.
//!
//! A file gives a score to each piece instead of an order of merges; the order follows from the scores. A space is `▁`,
//! and a byte that is in no piece is a token of its own.

use std::collections::HashMap;

use tokenizers::normalizers::{NormalizerWrapper, Prepend, Replace, Sequence};

use super::{Kind, byte_pairs};
use crate::Error;
use crate::gguf::Gguf;

const SPACE: &str = "▁";

/// The kind of token that stands for one byte, written `<0x0A>`.
const BYTE: i64 = 6;

pub(super) fn kind(gguf: &Gguf, words: &[&str], types: &[i64]) -> Result<Kind, Error> {
    let scores = gguf
        .floats("tokenizer.ggml.scores")
        .ok_or_else(|| gguf.unsupported("it does not say `tokenizer.ggml.scores`".to_owned()))?;
    let mut encoder = byte_pairs(gguf, words, merges(words, &scores), true, false)?;
    let broken = |error: tokenizers::Error| gguf.unsupported(error.to_string());
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true) {
        steps.push(Prepend::new(SPACE.to_owned()).into());
    }
    steps.push(Replace::new(" ", SPACE).map_err(broken)?.into());
    encoder.with_normalizer(Some(Sequence::new(steps))).map_err(broken)?;

    let token = |(at, word): (usize, &&str)| {
        let byte = word.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        match byte.and_then(|byte| u8::from_str_radix(byte, 16).ok()) {
            Some(byte) if types.get(at) == Some(&BYTE) => vec![byte],
            _ => word.replace(SPACE, " ").into_bytes(),
        }
    };
    Ok(Kind { encoder, tokens: words.iter().enumerate().map(token).collect(), begins: true })
}

/// Every way to make a piece of two others, the best piece first.
fn merges(words: &[&str], scores: &[f32]) -> Vec<(String, String)> {
    let known: HashMap<&str, usize> = words.iter().enumerate().map(|(at, word)| (*word, at)).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for (cut, _) in word.char_indices().skip(1) {
            let (left, right) = word.split_at(cut);
            if let (Some(left_at), Some(right_at)) = (known.get(left), known.get(right)) {
                let score = scores.get(at).copied().unwrap_or(f32::MIN);
                found.push((score, *left_at, *right_at, left, right));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    found.into_iter().map(|(_, _, _, left, right)| (left.to_owned(), right.to_owned())).collect()
}
