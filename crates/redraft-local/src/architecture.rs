//! What kinds of models are known, and the measures of one.
//!
//! To add an architecture of the same family: its name and its way to turn positions into rotations in [`KNOWN`], and
//! whatever it does differently in `transformer`.

use crate::Error;
use crate::gguf::Gguf;

/// The names a file may give in `general.architecture`, and whether rotations pair neighbours (as Llama does) or the
/// two halves of a head.
const KNOWN: &[(&str, bool)] = &[("llama", true), ("qwen2", false), ("qwen3", false)];

/// The measures of a model.
#[derive(Clone, Debug)]
pub(crate) struct Architecture {
    pub(crate) name: String,
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) key_value_heads: usize,
    pub(crate) head_width: usize,
    pub(crate) context: usize,
    pub(crate) rotation_base: f32,
    pub(crate) rotates_neighbours: bool,
    pub(crate) epsilon: f32,
}

impl Architecture {
    pub(crate) fn of(gguf: &Gguf) -> Result<Self, Error> {
        let name = gguf
            .text("general.architecture")
            .ok_or_else(|| gguf.unsupported("it does not name its architecture".to_owned()))?
            .to_owned();
        let Some((_, rotates_neighbours)) = KNOWN.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            return Err(
                gguf.unsupported(format!("its architecture is `{name}`, and known are {}", known.join(", ")))
            );
        };
        let optional = |key: &str| gguf.number(&format!("{name}.{key}"));
        let required = |key: &str| {
            optional(key)
                .filter(|number| *number > 0)
                .ok_or_else(|| gguf.unsupported(format!("it does not say `{name}.{key}`")))
        };
        let width = required("embedding_length")?;
        let heads = required("attention.head_count")?;
        let architecture = Self {
            layers: required("block_count")?,
            width,
            heads,
            key_value_heads: optional("attention.head_count_kv").unwrap_or(heads),
            head_width: optional("attention.key_length").unwrap_or(width / heads),
            context: required("context_length")?,
            rotation_base: gguf.float(&format!("{name}.rope.freq_base")).unwrap_or(10_000.0),
            rotates_neighbours: *rotates_neighbours,
            epsilon: gguf.float(&format!("{name}.attention.layer_norm_rms_epsilon")).unwrap_or(1e-5),
            name: name.clone(),
        };
        architecture.check(gguf)?;
        Ok(architecture)
    }

    /// Refuses what would load and then talk nonsense.
    fn check(&self, gguf: &Gguf) -> Result<(), Error> {
        let name = &self.name;
        let scaling = gguf.text(&format!("{name}.rope.scaling.type")).unwrap_or("none");
        let experts = gguf.number(&format!("{name}.expert_count")).unwrap_or(0);
        let rotated = gguf.number(&format!("{name}.rope.dimension_count")).unwrap_or(self.head_width);
        let message = if scaling != "none" {
            format!("it stretches its context by `{scaling}`")
        } else if experts > 0 {
            format!("it is a mixture of {experts} experts")
        } else if rotated != self.head_width {
            format!("it rotates {rotated} of the {} numbers of a head", self.head_width)
        } else if self.key_value_heads == 0 || !self.heads.is_multiple_of(self.key_value_heads) {
            format!("its {} heads do not share {} evenly", self.heads, self.key_value_heads)
        } else {
            return Ok(());
        };
        Err(gguf.unsupported(message))
    }
}
