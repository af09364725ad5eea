//! Reflexion: after every try that failed, a short lesson; at most three are kept for the next.
//!
//! Source: Shinn et al., "Reflexion: Language Agents with Verbal Reinforcement Learning" (2023). Its gains come from
//! tests; without them it made answers worse. So it refuses to run on the author's own opinion.

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
        Evidence::Statistical => {
            let described = criterion.verifier.describe();
            described.get("model").and_then(|model| model.as_str()).is_some_and(|model| model != author)
        }
    };
    if !refine.criteria.iter().any(is_external) {
        return Err(Error::NeedsEvidence { protocol: "reflexion" });
    }
    Ok(refine.lessons())
}
