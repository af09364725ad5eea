//! Matrices of weights: packed in blocks of bytes for one token at a time, unpacked for many at once.
//!
//! Both forms use the machine's vector instructions as they are found at run time; no compiler flag is needed.
//!
//! Weights of eight bits, and those of formats that have no fast kernel (`Q4_1`, `Q5_0`, `Q5_1`), are kept as `Q8_0` and
//! multiplied here, with the library's kernels but on rayon's threads. The library's own pool spins until its last
//! thread has been given a processor, two hundred times per token: on a machine that has other things to do, that
//! takes ten times as long as the work. Formats for large models (`Q4_0`, `Q4_K`, …) would take twice the memory that
//! way and are left to the library.
//!
//! Unpacked to `f32`, a matrix takes four times the memory again and multiplies many tokens at once four times as fast:
//! worth it for small models, out of the question for large ones.

use std::sync::Arc;

use candle_core::quantized::k_quants::BlockQ8_0;
use candle_core::quantized::{GgmlDType, GgmlType, QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};
use rayon::prelude::*;

/// Fewer products than these are done sooner by one thread than handed to another.
const WORTH_A_THREAD: usize = 1 << 18;

/// A matrix as the file has it, or packed anew.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    Bytes(Arc<Rows>),
    Library(Arc<QTensor>),
}

impl Weights {
    pub(crate) fn new(tensor: QTensor) -> Result<Self> {
        Ok(match tensor.dtype() {
            GgmlDType::Q8_0 | GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q8_1 => {
                Self::Bytes(Arc::new(Rows::pack(&tensor.dequantize(&Device::Cpu)?)?))
            }
            _ => Self::Library(Arc::new(tensor)),
        })
    }

    /// Returns how many rows there are.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Bytes(rows) => rows.count,
            Self::Library(tensor) => tensor.shape().dims().first().copied().unwrap_or(0),
        }
    }

    /// Returns some rows, unpacked.
    pub(crate) fn look_up(&self, numbers: &[u32]) -> Result<Tensor> {
        match self {
            Self::Bytes(rows) => rows.look_up(numbers),
            Self::Library(tensor) => tensor.embedding(&Tensor::new(numbers, &Device::Cpu)?),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    packed: Packed,
    unpacked: Option<Tensor>,
}

#[derive(Clone, Debug)]
enum Packed {
    Bytes(Arc<Rows>),
    Library(QMatMul),
}

impl Matrix {
    pub(crate) fn new(weights: Weights, unpack: bool) -> Result<Self> {
        let (packed, unpacked) = match weights {
            Weights::Bytes(rows) => {
                let unpacked = if unpack { Some(rows.unpack()?) } else { None };
                (Packed::Bytes(rows), unpacked)
            }
            Weights::Library(tensor) => {
                let packed = QMatMul::from_arc(Arc::clone(&tensor))?;
                // Floats are unpacked already.
                let can = unpack && matches!(packed, QMatMul::QTensor(_));
                let unpacked = if can { Some(tensor.dequantize(&Device::Cpu)?) } else { None };
                (Packed::Library(packed), unpacked)
            }
        };
        Ok(Self { packed, unpacked })
    }

    /// Multiplies rows by this matrix: `(rows, inputs)` becomes `(rows, outputs)`.
    pub(crate) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        match (&self.unpacked, &self.packed) {
            (Some(weights), _) if rows.dim(0)? > 1 => rows.matmul(&weights.t()?),
            (_, Packed::Bytes(weights)) => weights.multiply(rows),
            (_, Packed::Library(weights)) => weights.forward(rows),
        }
    }
}

/// Rows of bytes, in blocks that each have a scale.
#[derive(Debug)]
pub(crate) struct Rows {
    blocks: Vec<BlockQ8_0>,
    count: usize,
    width: usize,
}

impl Rows {
    fn pack(tensor: &Tensor) -> Result<Self> {
        let (count, width) = tensor.dims2()?;
        if !width.is_multiple_of(BlockQ8_0::BLCK_SIZE) {
            candle_core::bail!("rows of {width} numbers do not fill blocks")
        }
        Ok(Self { blocks: packed(&tensor.flatten_all()?.to_vec1()?), count, width })
    }

    fn blocks_per_row(&self) -> usize {
        self.width / BlockQ8_0::BLCK_SIZE
    }

    fn unpack(&self) -> Result<Tensor> {
        let mut numbers = vec![0.0; self.count * self.width];
        BlockQ8_0::to_float(&self.blocks, &mut numbers);
        Tensor::from_vec(numbers, (self.count, self.width), &Device::Cpu)
    }

    fn look_up(&self, numbers: &[u32]) -> Result<Tensor> {
        let mut found = vec![0.0; numbers.len() * self.width];
        for (number, row) in numbers.iter().zip(found.chunks_mut(self.width)) {
            let at = *number as usize * self.blocks_per_row();
            let Some(blocks) = self.blocks.get(at..at + self.blocks_per_row()) else {
                candle_core::bail!("there is no row {number}")
            };
            BlockQ8_0::to_float(blocks, row);
        }
        Tensor::from_vec(found, (numbers.len(), self.width), &Device::Cpu)
    }

    fn multiply(&self, rows: &Tensor) -> Result<Tensor> {
        let (count, width) = rows.dims2()?;
        if width != self.width {
            candle_core::bail!("{width} numbers meet rows of {}", self.width)
        }
        let inputs = packed(&rows.flatten_all()?.to_vec1()?);
        let mut outputs = vec![0.0; count * self.count];
        let least = (WORTH_A_THREAD / self.width).max(1);
        for (input, outputs) in inputs.chunks(self.blocks_per_row()).zip(outputs.chunks_mut(self.count)) {
            outputs
                .par_iter_mut()
                .zip(self.blocks.par_chunks(self.blocks_per_row()))
                .with_min_len(least)
                .for_each(|(output, row)| *output = BlockQ8_0::vec_dot(self.width, row, input));
        }
        Tensor::from_vec(outputs, (count, self.count), &Device::Cpu)
    }
}

fn packed(numbers: &[f32]) -> Vec<BlockQ8_0> {
    let mut blocks = vec![BlockQ8_0::zeros(); numbers.len() / BlockQ8_0::BLCK_SIZE];
    BlockQ8_0::from_float(numbers, &mut blocks);
    blocks
}
