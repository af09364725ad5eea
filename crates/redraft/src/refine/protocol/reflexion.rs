//! Reflexion: after every try that failed, a short lesson; at most three are kept for the next.
//!
//! Source: Shinn et al., "Reflexion: Language Agents with Verbal Reinforcement Learning" (2023). Its gains come from
//! tests; without them it made answers worse. So it refuses to run on the author's own opinion.

use serde_json::Value;

use crate::refine::{Error, Refine};
use crate::verify::Evidence;

/// Makes a refinement learn from its failed tries.
///
/// # Errors
/// [`Error::NeedsEvidence`] if every criterion asks the model that writes.
pub fn reflexion(refine: Refine) -> Result<Refine, Error> {
    let author = refine.author_name().to_owned();
    let is_external = |criterion: &crate::refine::Criterion| match criterion.verifier.evidence() {
        Evidence::Sound | Evidence::Human => true,
        Evidence::Statistical => asks_another(&criterion.verifier.describe(), &author),
    };
    if !refine.criteria.iter().any(is_external) {
        return Err(Error::NeedsEvidence { protocol: "reflexion" });
    }
    Ok(refine.lessons())
}

/// Says whether a verifier asks a model that is not the author, wherever its description names one.
fn asks_another(described: &Value, author: &str) -> bool {
    match described {
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::String(model) if key == "model" => model != author,
            value => asks_another(value, author),
        }),
        Value::Array(items) => items.iter().any(|item| asks_another(item, author)),
        _ => false,
    }
}
