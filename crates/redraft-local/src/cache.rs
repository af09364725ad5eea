//! What a model remembers of the tokens it has read: the keys and values of every layer.
//!
//! It grows in place and is cut at any token; a fork copies a prefix. Nothing is shared between two of them.

use candle_core::{DType, Device, Result, Tensor};

use crate::architecture::Architecture;

/// How many tokens there is room for at first, and by how many it grows at least.
const ROOM: usize = 256;

/// Keys and values of one layer, `(1, heads, room, head_width)`.
#[derive(Debug)]
struct Layer {
    keys: Tensor,
    values: Tensor,
}

#[derive(Debug)]
pub(crate) struct Cache {
    layers: Vec<Layer>,
    length: usize,
    room: usize,
    heads: usize,
    head_width: usize,
}

impl Cache {
    pub(crate) fn new(architecture: &Architecture) -> Result<Self> {
        Self::empty(architecture.layers, architecture.key_value_heads, architecture.head_width, ROOM)
    }

    fn empty(layers: usize, heads: usize, head_width: usize, room: usize) -> Result<Self> {
        let zeros = || Tensor::zeros((1, heads, room, head_width), DType::F32, &Device::Cpu);
        let layers =
            (0..layers).map(|_| Ok(Layer { keys: zeros()?, values: zeros()? })).collect::<Result<_>>()?;
        Ok(Self { layers, length: 0, room, heads, head_width })
    }

    /// Returns how many tokens it remembers.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Forgets everything after the first `length` tokens.
    pub(crate) fn cut(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Copies the first `length` tokens.
    pub(crate) fn fork(&self, length: usize) -> Result<Self> {
        let length = length.min(self.length);
        self.copied(length, length.next_multiple_of(ROOM).max(ROOM))
    }

    /// Makes room for `more` tokens.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<()> {
        let needed = self.length + more;
        if needed > self.room {
            // Half as much again: an answer grows token by token, and each growth copies everything.
            let room = needed.max(self.room + self.room / 2).next_multiple_of(ROOM);
            *self = self.copied(self.length, room)?;
        }
        Ok(())
    }

    fn copied(&self, length: usize, room: usize) -> Result<Self> {
        let mut copy = Self::empty(self.layers.len(), self.heads, self.head_width, room)?;
        if length > 0 {
            for (from, to) in self.layers.iter().zip(&copy.layers) {
                to.keys.slice_set(&from.keys.narrow(2, 0, length)?.contiguous()?, 2, 0)?;
                to.values.slice_set(&from.values.narrow(2, 0, length)?.contiguous()?, 2, 0)?;
            }
        }
        copy.length = length;
        Ok(copy)
    }

    /// Puts down the new keys and values of one layer, and returns all it has with them.
    ///
    /// There must be room, and [`advance`](Self::advance) must follow when every layer has put down its own.
    pub(crate) fn put(&self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let Some(Layer { keys: all_keys, values: all_values }) = self.layers.get(layer) else {
            candle_core::bail!("there is no layer {layer}")
        };
        let length = self.length + keys.dim(2)?;
        all_keys.slice_set(&keys.contiguous()?, 2, self.length)?;
        all_values.slice_set(&values.contiguous()?, 2, self.length)?;
        Ok((all_keys.narrow(2, 0, length)?, all_values.narrow(2, 0, length)?))
    }

    /// Counts the tokens that every layer has put down.
    pub(crate) fn advance(&mut self, tokens: usize) {
        self.length += tokens;
    }
}
