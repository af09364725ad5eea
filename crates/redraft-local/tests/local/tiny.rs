//! Tiny models with weights by chance, written as GGUF files: they talk nonsense, but every part has its place.

use std::fs::File;
use std::path::Path;

use candle_core::quantized::gguf_file::{Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

const WIDTH: usize = 64;
const HEADS: usize = 4;
const KEY_VALUE_HEADS: usize = 2;
const HEAD_WIDTH: usize = 16;
const FORWARD: usize = 96;
const LAYERS: usize = 2;
pub(crate) const CONTEXT: usize = 256;

pub(crate) struct Tiny<'a> {
    pub(crate) architecture: &'a str,
    pub(crate) tokenizer: &'a str,
    pub(crate) cut: &'a str,
    pub(crate) weights: GgmlDType,
    pub(crate) template: Option<&'a str>,
}

impl Default for Tiny<'_> {
    fn default() -> Self {
        Self {
            architecture: "llama",
            tokenizer: "gpt2",
            cut: "default",
            weights: GgmlDType::Q8_0,
            template: None,
        }
    }
}

impl Tiny<'_> {
    pub(crate) fn write(&self, path: &Path) {
        let name = self.architecture;
        let number =
            |key: &str, value: usize| (format!("{name}.{key}"), Value::U32(u32::try_from(value).unwrap()));
        let (words, types, merges) = vocabulary(self.tokenizer);
        let vocabulary = words.len();
        let texts = |texts: Vec<String>| Value::Array(texts.into_iter().map(Value::String).collect());
        let mut metadata = vec![
            ("general.architecture".to_owned(), Value::String(name.to_owned())),
            number("block_count", LAYERS),
            number("context_length", CONTEXT),
            number("embedding_length", WIDTH),
            number("feed_forward_length", FORWARD),
            number("attention.head_count", HEADS),
            number("attention.head_count_kv", KEY_VALUE_HEADS),
            (format!("{name}.attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
            ("tokenizer.ggml.model".to_owned(), Value::String(self.tokenizer.to_owned())),
            ("tokenizer.ggml.pre".to_owned(), Value::String(self.cut.to_owned())),
            ("tokenizer.ggml.scores".to_owned(), Value::Array(scores(vocabulary))),
            ("tokenizer.ggml.tokens".to_owned(), texts(words)),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Value::Array(types.into_iter().map(Value::I32).collect()),
            ),
            ("tokenizer.ggml.merges".to_owned(), texts(merges)),
            ("tokenizer.ggml.bos_token_id".to_owned(), Value::U32(0)),
            ("tokenizer.ggml.eos_token_id".to_owned(), Value::U32(1)),
        ];
        if let Some(template) = self.template {
            metadata.push(("tokenizer.chat_template".to_owned(), Value::String(template.to_owned())));
        }
        let tensors = self.tensors(vocabulary);
        let metadata: Vec<(&str, &Value)> =
            metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let tensors: Vec<(&str, &QTensor)> =
            tensors.iter().map(|(key, value)| (key.as_str(), value)).collect();
        write(&mut File::create(path).unwrap(), &metadata, &tensors).unwrap();
    }

    fn tensors(&self, vocabulary: usize) -> Vec<(String, QTensor)> {
        let mut chance = fastrand::Rng::with_seed(7);
        let mut tensor = |name: String, shape: Vec<usize>, kind: GgmlDType| {
            let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| chance.f32() - 0.5).collect();
            let tensor = Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap();
            (name, QTensor::quantize(&tensor, kind).unwrap())
        };
        let kind = self.weights;
        let (all, shared) = (HEADS * HEAD_WIDTH, KEY_VALUE_HEADS * HEAD_WIDTH);
        let mut tensors = vec![
            tensor("token_embd.weight".to_owned(), vec![vocabulary, WIDTH], kind),
            tensor("output_norm.weight".to_owned(), vec![WIDTH], GgmlDType::F32),
        ];
        for layer in 0..LAYERS {
            for (part, rows, columns) in [
                ("attn_q", all, WIDTH),
                ("attn_k", shared, WIDTH),
                ("attn_v", shared, WIDTH),
                ("attn_output", WIDTH, all),
                ("ffn_gate", FORWARD, WIDTH),
                ("ffn_up", FORWARD, WIDTH),
                ("ffn_down", WIDTH, FORWARD),
            ] {
                tensors.push(tensor(format!("blk.{layer}.{part}.weight"), vec![rows, columns], kind));
                if self.architecture == "qwen2" && part.len() == 6 {
                    tensors.push(tensor(format!("blk.{layer}.{part}.bias"), vec![rows], GgmlDType::F32));
                }
            }
            for part in ["attn_norm", "ffn_norm"] {
                tensors.push(tensor(format!("blk.{layer}.{part}.weight"), vec![WIDTH], GgmlDType::F32));
            }
            if self.architecture == "qwen3" {
                for part in ["attn_q_norm", "attn_k_norm"] {
                    tensors.push(tensor(
                        format!("blk.{layer}.{part}.weight"),
                        vec![HEAD_WIDTH],
                        GgmlDType::F32,
                    ));
                }
            }
        }
        tensors
    }
}

/// Two special tokens, all bytes, and a few pieces made of them.
fn vocabulary(kind: &str) -> (Vec<String>, Vec<i32>, Vec<String>) {
    let mut words = vec!["<|im_start|>".to_owned(), "<|im_end|>".to_owned()];
    let mut types = vec![3, 3];
    let mut merges = Vec::new();
    if kind == "gpt2" {
        let visible = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let mut hidden = '\u{100}'..;
        let letters: Vec<char> = (0..=u8::MAX)
            .map(|byte| if visible(&byte) { char::from(byte) } else { hidden.next().unwrap() })
            .collect();
        words.extend(letters.iter().map(char::to_string));
        for (left, right) in [("t", "h"), ("th", "e"), ("\u{120}", "the"), ("1", "2")] {
            merges.push(format!("{left} {right}"));
            words.push(format!("{left}{right}"));
        }
        types.resize(words.len(), 1);
    } else {
        words.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")));
        types.resize(words.len(), 6);
        words.extend(["▁", "t", "h", "e", "th", "the", "▁the"].map(str::to_owned));
        types.resize(words.len(), 1);
    }
    (words, types, merges)
}

/// Longer pieces, which come later, are better.
fn scores(count: usize) -> Vec<Value> {
    (0..count).map(|at| Value::F32(u16::try_from(at).unwrap().into())).collect()
}
