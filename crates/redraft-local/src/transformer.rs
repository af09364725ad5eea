//! The arithmetic: tokens in, one number per word of the vocabulary out.
//!
//! One stack of layers serves Llama, Qwen2 and Qwen3; what a file has beyond the common part (biases, norms of queries
//! and keys, factors of rotations) is used where it is there. The same tokens at the same places in blocks of the same
//! size give the same numbers to the last bit; `session` relies on that.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

use crate::Error;
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::gguf::{Gguf, first_line};
use crate::matrix::{Matrix, Weights};

#[derive(Debug)]
pub(crate) struct Transformer {
    pub(crate) architecture: Architecture,
    embedding: Weights,
    layers: Vec<Layer>,
    norm: Tensor,
    output: Matrix,
    cos: Tensor,
    sin: Tensor,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    query: Linear,
    key: Linear,
    value: Linear,
    query_norm: Option<Tensor>,
    key_norm: Option<Tensor>,
    attention_output: Matrix,
    forward_norm: Tensor,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

#[derive(Debug)]
struct Linear {
    matrix: Matrix,
    bias: Option<Tensor>,
}

impl Linear {
    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let product = self.matrix.forward(rows)?;
        match &self.bias {
            Some(bias) => product.broadcast_add(bias),
            None => Ok(product),
        }
    }
}

impl Transformer {
    /// Loads a model; its matrices are unpacked if that takes no more than `unpacked_bytes`.
    pub(crate) fn load(gguf: &mut Gguf, unpacked_bytes: u64) -> std::result::Result<Self, Error> {
        let architecture = Architecture::of(gguf)?;
        let mut loader = Loader { gguf, unpack: false };
        let parameters = loader.parameters(&architecture)?;
        loader.unpack = parameters.saturating_mul(4) <= unpacked_bytes;
        let embedding = loader.tensor("token_embd.weight")?;
        let output = match loader.gguf.has("output.weight") {
            true => loader.tensor("output.weight")?,
            false => embedding.clone(),
        };
        let factors = match loader.gguf.has("rope_freqs.weight") {
            true => Some(loader.vector("rope_freqs.weight")?),
            false => None,
        };
        let layers =
            (0..architecture.layers).map(|at| loader.layer(at)).collect::<std::result::Result<_, _>>()?;
        let norm = loader.vector("output_norm.weight")?;
        let broken = |error| loader.gguf.unsupported(first_line(&error));
        // Read for one token at a time only: unpacking it would buy nothing.
        let output = Matrix::new(output, false).map_err(broken)?;
        let (cos, sin) = rotations(&architecture, factors.as_ref()).map_err(broken)?;
        Ok(Self { architecture, embedding, layers, norm, output, cos, sin })
    }

    /// Returns how many words the vocabulary has.
    pub(crate) fn vocabulary(&self) -> usize {
        self.embedding.rows()
    }

    /// Reads tokens after those the cache holds.
    pub(crate) fn read(&self, tokens: &[u32], cache: &mut Cache) -> Result<()> {
        self.hidden(tokens, cache).map(drop)
    }

    /// Reads tokens and says what may follow the last one: one number per word of the vocabulary.
    pub(crate) fn next(&self, tokens: &[u32], cache: &mut Cache) -> Result<Vec<f32>> {
        let hidden = self.hidden(tokens, cache)?;
        let last = hidden.narrow(0, tokens.len().saturating_sub(1), 1)?.contiguous()?;
        let last = rms_norm(&last, &self.norm, self.architecture.epsilon)?;
        self.output.forward(&last)?.squeeze(0)?.to_vec1()
    }

    fn hidden(&self, tokens: &[u32], cache: &mut Cache) -> Result<Tensor> {
        let epsilon = self.architecture.epsilon;
        cache.reserve(tokens.len())?;
        let mask = mask(self.architecture.heads, tokens.len(), cache.length())?;
        let mut rows = self.embedding.look_up(tokens)?.to_dtype(DType::F32)?;
        for (at, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&rows, &layer.attention_norm, epsilon)?;
            rows = (rows + self.attention(at, layer, &normed, cache, mask.as_ref())?)?;
            let normed = rms_norm(&rows, &layer.forward_norm, epsilon)?;
            let gated = (silu(&layer.gate.forward(&normed)?)? * layer.up.forward(&normed)?)?;
            rows = (rows + layer.down.forward(&gated)?)?;
        }
        cache.advance(tokens.len());
        Ok(rows)
    }

    fn attention(
        &self,
        at: usize,
        layer: &Layer,
        rows: &Tensor,
        cache: &Cache,
        mask: Option<&Tensor>,
    ) -> Result<Tensor> {
        let Architecture { heads, key_value_heads, head_width, .. } = self.architecture;
        let count = rows.dim(0)?;
        let split = |rows: Tensor, heads: usize| {
            rows.reshape((1, count, heads, head_width))?.transpose(1, 2)?.contiguous()
        };
        let queries = split(layer.query.forward(rows)?, heads)?;
        let keys = split(layer.key.forward(rows)?, key_value_heads)?;
        let values = split(layer.value.forward(rows)?, key_value_heads)?;
        let queries = self.rotated(&self.normed(queries, layer.query_norm.as_ref())?, cache.length())?;
        let keys = self.rotated(&self.normed(keys, layer.key_norm.as_ref())?, cache.length())?;
        let (keys, values) = cache.put(at, &keys, &values)?;
        let length = keys.dim(2)?;

        // Heads that share keys are stacked, so that nothing has to be repeated for them.
        let stacked = (1, key_value_heads, heads / key_value_heads * count, head_width);
        #[expect(clippy::cast_precision_loss, reason = "a head has a few hundred numbers")]
        let scale = 1.0 / (head_width as f64).sqrt();
        let scores = (queries * scale)?.reshape(stacked)?.matmul(&keys.t()?)?;
        let scores = match mask {
            Some(mask) => (scores.reshape((1, heads, count, length))? + mask)?,
            None => scores,
        };
        let weights = softmax_last_dim(&scores)?.reshape((1, key_value_heads, stacked.2, length))?;
        let mixed = weights.matmul(&values)?.reshape((1, heads, count, head_width))?;
        let mixed = mixed.transpose(1, 2)?.reshape((count, heads * head_width))?;
        layer.attention_output.forward(&mixed)
    }

    fn normed(&self, rows: Tensor, norm: Option<&Tensor>) -> Result<Tensor> {
        match norm {
            Some(norm) => rms_norm(&rows, norm, self.architecture.epsilon),
            None => Ok(rows),
        }
    }

    fn rotated(&self, rows: &Tensor, from: usize) -> Result<Tensor> {
        let count = rows.dim(2)?;
        let (cos, sin) = (self.cos.narrow(0, from, count)?, self.sin.narrow(0, from, count)?);
        if self.architecture.rotates_neighbours { rope_i(rows, &cos, &sin) } else { rope(rows, &cos, &sin) }
    }
}

/// Hides from each of `count` tokens those that come after it; one token alone sees everything.
///
/// Written out for every head: adding it as it is is several times faster than stretching it for every layer.
fn mask(heads: usize, count: usize, before: usize) -> Result<Option<Tensor>> {
    if count < 2 {
        return Ok(None);
    }
    let length = before + count;
    let cells: Vec<f32> = (0..count)
        .flat_map(|row| (0..length).map(move |at| if at > before + row { f32::NEG_INFINITY } else { 0.0 }))
        .collect();
    let mask = Tensor::from_vec(cells, (1, 1, count, length), &Device::Cpu)?;
    mask.broadcast_as((1, heads, count, length))?.contiguous().map(Some)
}

/// How far each pair of numbers of a head is turned, for every place there is.
#[expect(clippy::cast_precision_loss, reason = "places and widths are far below what `f32` holds exactly")]
fn rotations(architecture: &Architecture, factors: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
    let width = architecture.head_width;
    let factors = factors.map(Tensor::to_vec1::<f32>).transpose()?;
    let speeds: Vec<f32> = (0..width / 2)
        .map(|pair| {
            let factor = factors.as_ref().and_then(|factors| factors.get(pair)).copied().unwrap_or(1.0);
            1.0 / architecture.rotation_base.powf((2 * pair) as f32 / width as f32) / factor
        })
        .collect();
    let places = Tensor::arange(0.0_f32, architecture.context as f32, &Device::Cpu)?.unsqueeze(1)?;
    let angles = places.matmul(&Tensor::new(speeds.as_slice(), &Device::Cpu)?.unsqueeze(0)?)?;
    Ok((angles.cos()?, angles.sin()?))
}

struct Loader<'a> {
    gguf: &'a mut Gguf,
    unpack: bool,
}

impl Loader<'_> {
    fn parameters(&mut self, architecture: &Architecture) -> std::result::Result<u64, Error> {
        let forward = self.gguf.number(&format!("{}.feed_forward_length", architecture.name)).unwrap_or(0);
        let Architecture { width, heads, key_value_heads, head_width, layers, .. } = *architecture;
        let attention = width * head_width * 2 * (heads + key_value_heads);
        Ok((layers as u64).saturating_mul((attention + 3 * width * forward) as u64))
    }

    fn layer(&mut self, at: usize) -> std::result::Result<Layer, Error> {
        let name = |part: &str| format!("blk.{at}.{part}.weight");
        Ok(Layer {
            attention_norm: self.vector(&name("attn_norm"))?,
            query: self.linear(at, "attn_q")?,
            key: self.linear(at, "attn_k")?,
            value: self.linear(at, "attn_v")?,
            query_norm: self.optional(&name("attn_q_norm"))?,
            key_norm: self.optional(&name("attn_k_norm"))?,
            attention_output: self.matrix(&name("attn_output"))?,
            forward_norm: self.vector(&name("ffn_norm"))?,
            gate: self.matrix(&name("ffn_gate"))?,
            up: self.matrix(&name("ffn_up"))?,
            down: self.matrix(&name("ffn_down"))?,
        })
    }

    fn linear(&mut self, at: usize, part: &str) -> std::result::Result<Linear, Error> {
        let matrix = self.matrix(&format!("blk.{at}.{part}.weight"))?;
        Ok(Linear { matrix, bias: self.optional(&format!("blk.{at}.{part}.bias"))? })
    }

    fn matrix(&mut self, name: &str) -> std::result::Result<Matrix, Error> {
        let tensor = self.tensor(name)?;
        Matrix::new(tensor, self.unpack).map_err(|error| self.gguf.unsupported(first_line(&error)))
    }

    fn tensor(&mut self, name: &str) -> std::result::Result<Weights, Error> {
        let tensor = self.gguf.tensor(name)?;
        Weights::new(tensor).map_err(|error| self.gguf.unsupported(first_line(&error)))
    }

    fn vector(&mut self, name: &str) -> std::result::Result<Tensor, Error> {
        let tensor = self.gguf.tensor(name)?;
        tensor.dequantize(&Device::Cpu).map_err(|error| self.gguf.unsupported(first_line(&error)))
    }

    fn optional(&mut self, name: &str) -> std::result::Result<Option<Tensor>, Error> {
        if self.gguf.has(name) { self.vector(name).map(Some) } else { Ok(None) }
    }
}
