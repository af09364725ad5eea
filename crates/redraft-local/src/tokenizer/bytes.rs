//! Tokens made of pairs of bytes, as GPT-2 introduced them. A byte is written as a visible letter in the vocabulary.

use std::collections::HashMap;

use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

use super::{Kind, byte_pairs};
use crate::Error;
use crate::gguf::Gguf;

/// Where a text is cut before pairs are joined, by the name a file gives to it in `tokenizer.ggml.pre`.
enum Cut {
    Words,
    WordsAndDigits,
    /// A regular expression of the pieces.
    Pieces(&'static str),
}

const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) fn kind(gguf: &Gguf, words: &[&str]) -> Result<Kind, Error> {
    let name = gguf.text("tokenizer.ggml.pre").unwrap_or("default");
    let cut = match name {
        "default" | "gpt-2" | "gpt2" => Cut::Words,
        "smollm" => Cut::WordsAndDigits,
        "qwen2" => Cut::Pieces(QWEN2),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" => Cut::Pieces(LLAMA3),
        _ => return Err(gguf.unsupported(format!("its tokenizer cuts words in the manner of `{name}`"))),
    };
    let merges = gguf
        .texts("tokenizer.ggml.merges")
        .ok_or_else(|| gguf.unsupported("it does not say `tokenizer.ggml.merges`".to_owned()))?
        .into_iter()
        .filter_map(|merge| merge.split_once(' ').map(|(left, right)| (left.to_owned(), right.to_owned())))
        .collect();
    let whole_words_first = matches!(cut, Cut::Pieces(LLAMA3));
    let mut encoder = byte_pairs(gguf, words, merges, false, whole_words_first)?;
    encoder.with_pre_tokenizer(Some(cutter(gguf, &cut)?));
    if name == "qwen2" {
        encoder.with_normalizer(Some(NFC)).map_err(|error| gguf.unsupported(error.to_string()))?;
    }
    let bytes = bytes_of_letters();
    // A letter that stands for no byte only occurs in special tokens, which stand for themselves.
    let token = |word: &&str| word.chars().filter_map(|letter| bytes.get(&letter).copied()).collect();
    Ok(Kind { encoder, tokens: words.iter().map(token).collect(), begins: false })
}

fn cutter(gguf: &Gguf, cut: &Cut) -> Result<PreTokenizerWrapper, Error> {
    let sequence = |first: PreTokenizerWrapper, in_words: bool| {
        let bytes = ByteLevel::new(false, false, in_words);
        Sequence::new(vec![first, bytes.into()]).into()
    };
    Ok(match cut {
        Cut::Words => ByteLevel::new(false, false, true).into(),
        Cut::WordsAndDigits => sequence(Digits::new(true).into(), true),
        Cut::Pieces(expression) => {
            let pattern = SplitPattern::Regex((*expression).to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
                .map_err(|error| gguf.unsupported(error.to_string()))?;
            sequence(split.into(), false)
        }
    })
}

/// Bytes that are visible letters of Latin-1 stand for themselves, the others for the letters from U+0100 on, in order.
fn bytes_of_letters() -> HashMap<char, u8> {
    let visible = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut hidden = '\u{100}'..;
    (0..=u8::MAX)
        .filter_map(|byte| {
            let letter = if visible(byte) { Some(char::from(byte)) } else { hidden.next() };
            letter.map(|letter| (letter, byte))
        })
        .collect()
}
