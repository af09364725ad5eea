//! Turns text into tokens and tokens into bytes, with nothing but what the GGUF file says.
//!
//! Two kinds are known: pairs of bytes (`gpt2`: SmolLM2, Qwen, Llama 3) and pairs of pieces (`llama`: Llama 2, Mistral).
//! A token is bytes, not text: a letter may be spread over several, so joining is done by whoever has them all.

mod bytes;
mod pieces;

use std::sync::Arc;

use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenizerEnv};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{AddedToken, Tokenizer as Encoder};

use crate::Error;
use crate::gguf::Gguf;

/// Tokens that end a turn in some family of models, beside the one that the file names.
const ENDS: &[&str] = &["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "</s>"];

/// The kinds of token that are not text: unknown, control, user-defined, unused.
const NOT_TEXT: std::ops::RangeInclusive<i64> = 2..=5;

/// Before and after the number of a special token that a message spells out; private letters that no text has.
const MARK: (char, char) = ('\u{F8F0}', '\u{F8F1}');

pub(crate) struct Tokenizer {
    encoder: Encoder,
    /// The same, but special tokens are text like any other.
    plain: Encoder,
    tokens: Vec<Vec<u8>>,
    specials: Vec<String>,
    pub(crate) ends: Vec<u32>,
    begin: Option<u32>,
    pub(crate) begin_text: String,
    pub(crate) end_text: String,
    env: TokEnv,
}

/// How the two kinds differ.
struct Kind {
    encoder: Encoder,
    /// What each token stands for.
    tokens: Vec<Vec<u8>>,
    begins: bool,
}

impl Tokenizer {
    /// Makes a tokenizer for a model with so many words in its vocabulary, which may be more than there are tokens.
    pub(crate) fn of(gguf: &Gguf, vocabulary: usize) -> Result<Self, Error> {
        let missing = |key: &str| gguf.unsupported(format!("it does not say `{key}`"));
        let words = gguf.texts("tokenizer.ggml.tokens").ok_or_else(|| missing("tokenizer.ggml.tokens"))?;
        let types = gguf.numbers("tokenizer.ggml.token_type").unwrap_or_default();
        if words.len() > vocabulary || words.is_empty() {
            let message = format!("it has {} tokens for {vocabulary} words", words.len());
            return Err(gguf.unsupported(message));
        }
        let kind = match gguf.text("tokenizer.ggml.model") {
            Some("gpt2") => bytes::kind(gguf, &words)?,
            Some("llama") => pieces::kind(gguf, &words, &types)?,
            other => {
                let message =
                    format!("its tokenizer is `{}`, and known are gpt2, llama", other.unwrap_or(""));
                return Err(gguf.unsupported(message));
            }
        };
        let id = |name: &str| {
            let number = gguf.number(&format!("tokenizer.ggml.{name}_token_id"))?;
            u32::try_from(number).ok().filter(|_| number < words.len())
        };
        let begin = id("bos");
        let mut ends: Vec<u32> = [id("eos"), id("eot")].into_iter().flatten().collect();
        let is_special = |at: usize| {
            types.get(at).is_some_and(|kind| NOT_TEXT.contains(kind))
                || u32::try_from(at).is_ok_and(|at| ends.contains(&at) || begin == Some(at))
        };
        let special: Vec<bool> = (0..words.len()).map(is_special).collect();
        for (at, word) in (0_u32..).zip(&words) {
            if ENDS.contains(word) && special.get(at as usize) == Some(&true) && !ends.contains(&at) {
                ends.push(at);
            }
        }
        if ends.is_empty() {
            return Err(missing("tokenizer.ggml.eos_token_id"));
        }
        let text =
            |id: Option<u32>| id.and_then(|id| words.get(id as usize)).map_or("", |word| word).to_owned();

        let Kind { mut encoder, mut tokens, begins } = kind;
        let specials: Vec<String> = words
            .iter()
            .zip(&special)
            .filter(|(_, special)| **special)
            .map(|(word, _)| (*word).to_owned())
            .collect();
        let added = specials.iter().map(|word| AddedToken::from(word.clone(), true));
        encoder.add_special_tokens(added).map_err(|error| gguf.unsupported(error.to_string()))?;
        let mut plain = encoder.clone();
        plain.set_encode_special_tokens(true);

        for (token, (word, special)) in tokens.iter_mut().zip(words.iter().zip(&special)) {
            if *special {
                *token = [&[TokTrie::SPECIAL_TOKEN_MARKER], word.as_bytes()].concat();
            }
        }
        // Words beyond the tokens are padding; a grammar must know them to forbid them.
        tokens.resize_with(vocabulary, Vec::new);
        let env = environment(&tokens, &ends);
        for (token, special) in tokens.iter_mut().zip(&special) {
            if *special {
                token.clear();
            }
        }
        let begins = gguf.flag("tokenizer.ggml.add_bos_token").unwrap_or(begins);
        Ok(Self {
            encoder,
            plain,
            tokens,
            specials,
            begin_text: text(begin),
            end_text: text(ends.first().copied()),
            begin: begin.filter(|_| begins),
            ends,
            env,
        })
    }

    /// Returns what a grammar has to know about the tokens.
    pub(crate) fn environment(&self) -> &TokEnv {
        &self.env
    }

    /// Returns the bytes a token stands for; none for a special one.
    pub(crate) fn bytes(&self, token: u32) -> &[u8] {
        self.tokens.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Marks special tokens in a text from outside, so that [`encode`](Self::encode) takes them for words.
    pub(crate) fn disarm(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, special) in self.specials.iter().enumerate() {
            if text.contains(special.as_str()) {
                text = text.replace(special.as_str(), &format!("{}{at}{}", MARK.0, MARK.1));
            }
        }
        text
    }

    /// Turns a whole prompt into tokens.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some((before, (number, after))) =
            rest.split_once(MARK.0).and_then(|(before, rest)| Some((before, rest.split_once(MARK.1)?)))
        {
            tokens.extend(encoded(&self.encoder, before)?);
            let special = number.parse().ok().and_then(|at: usize| self.specials.get(at));
            tokens.extend(encoded(&self.plain, special.map_or(number, String::as_str))?);
            rest = after;
        }
        tokens.extend(encoded(&self.encoder, rest)?);
        if let Some(begin) = self.begin
            && tokens.first() != Some(&begin)
        {
            tokens.insert(0, begin);
        }
        Ok(tokens)
    }
}

fn encoded(encoder: &Encoder, text: &str) -> Result<Vec<u32>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    Ok(encoder.encode_fast(text, false).map_err(|error| error.to_string())?.get_ids().to_vec())
}

/// Builds the common part of both kinds.
fn byte_pairs(
    gguf: &Gguf,
    words: &[&str],
    merges: Vec<(String, String)>,
    falls_back: bool,
    ignores_merges: bool,
) -> Result<Encoder, Error> {
    let vocabulary: Vocab = (0_u32..).zip(words).map(|(at, word)| ((*word).to_owned(), at)).collect();
    let model = BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .byte_fallback(falls_back)
        .ignore_merges(ignores_merges)
        .build()
        .map_err(|error| gguf.unsupported(format!("its tokenizer: {error}")))?;
    Ok(Encoder::new(model))
}

struct Environment {
    trie: TokTrie,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<u32> {
        self.trie.greedy_tokenize(text)
    }

    fn tokenize_is_canonical(&self) -> bool {
        false
    }
}

fn environment(tokens: &[Vec<u8>], ends: &[u32]) -> TokEnv {
    let size = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
    let info = TokRxInfo::new(size, ends.first().copied().unwrap_or(0));
    Arc::new(Environment { trie: TokTrie::from(&info, tokens).with_eos_tokens(ends) })
}
