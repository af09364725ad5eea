//! Reads a GGUF file: what it says about itself, and its tensors one by one.
//!
//! Every fault of a file is told apart here, so that nobody behind this module meets a broken one: something else than
//! GGUF, a file that ends too early, a value that is missing.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::QTensor;
use candle_core::quantized::gguf_file::{Content, Value};

use crate::Error;

const MAGIC: &[u8] = b"GGUF";

/// An open file of weights.
pub(crate) struct Gguf {
    path: PathBuf,
    content: Content,
    file: BufReader<File>,
}

impl Gguf {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut file = BufReader::new(File::open(path).map_err(io)?);
        let size = file.get_ref().metadata().map_err(io)?.len();
        let mut magic = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(io)?;
        if magic != MAGIC {
            let message = "it does not begin with the letters `GGUF`".to_owned();
            return Err(Error::NotGguf { path: path.to_owned(), message });
        }
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let content = Content::read(&mut file).map_err(|error| {
            let message = first_line(&error);
            let path = path.to_owned();
            // The reader says in words that it came to the end, and of which kind: a length beyond it, or the end itself.
            if message.contains("remaining") || message.contains("fill whole buffer") {
                Error::Truncated { path, message }
            } else {
                Error::NotGguf { path, message }
            }
        })?;
        let gguf = Self { path: path.to_owned(), content, file };
        gguf.check_length(size)?;
        Ok(gguf)
    }

    /// Looks whether the last tensor is all there before anything is loaded.
    fn check_length(&self, size: u64) -> Result<(), Error> {
        let mut needed = self.content.tensor_data_offset;
        for info in self.content.tensor_infos.values() {
            let blocks = info.shape.elem_count() / info.ggml_dtype.block_size();
            let bytes = (blocks as u64).saturating_mul(info.ggml_dtype.type_size() as u64);
            let end = self.content.tensor_data_offset.saturating_add(info.offset).saturating_add(bytes);
            needed = needed.max(end);
        }
        if size < needed {
            let message = format!("it has {size} bytes of {needed}");
            return Err(Error::Truncated { path: self.path.clone(), message });
        }
        Ok(())
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.content.metadata.get(key)?.to_string().ok().map(String::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        let number = match self.content.metadata.get(key)? {
            Value::I32(number) => u64::try_from(*number).ok()?,
            Value::I64(number) => u64::try_from(*number).ok()?,
            value => value.to_u64().ok()?,
        };
        usize::try_from(number).ok()
    }

    pub(crate) fn float(&self, key: &str) -> Option<f32> {
        match self.content.metadata.get(key)? {
            Value::F32(number) => Some(*number),
            #[expect(clippy::cast_possible_truncation, reason = "the arithmetic is done with 32 bits")]
            Value::F64(number) => Some(*number as f32),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.content.metadata.get(key)?.to_bool().ok()
    }

    pub(crate) fn texts(&self, key: &str) -> Option<Vec<&str>> {
        self.list(key)?.iter().map(|value| value.to_string().ok().map(String::as_str)).collect()
    }

    pub(crate) fn numbers(&self, key: &str) -> Option<Vec<i64>> {
        let number = |value: &Value| match value {
            Value::I32(number) => Some(i64::from(*number)),
            value => i64::try_from(value.to_u64().ok()?).ok(),
        };
        self.list(key)?.iter().map(number).collect()
    }

    pub(crate) fn floats(&self, key: &str) -> Option<Vec<f32>> {
        self.list(key)?.iter().map(|value| value.to_f32().ok()).collect()
    }

    fn list(&self, key: &str) -> Option<&Vec<Value>> {
        self.content.metadata.get(key)?.to_vec().ok()
    }

    pub(crate) fn has(&self, tensor: &str) -> bool {
        self.content.tensor_infos.contains_key(tensor)
    }

    pub(crate) fn tensor(&mut self, name: &str) -> Result<QTensor, Error> {
        if !self.has(name) {
            return Err(self.unsupported(format!("it has no tensor `{name}`")));
        }
        self.content
            .tensor(&mut self.file, name, &Device::Cpu)
            .map_err(|error| self.unsupported(format!("its tensor `{name}`: {}", first_line(&error))))
    }

    pub(crate) fn unsupported(&self, message: String) -> Error {
        Error::Unsupported { path: self.path.clone(), message }
    }
}

/// What an error of the tensor library says, without its backtrace.
pub(crate) fn first_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
