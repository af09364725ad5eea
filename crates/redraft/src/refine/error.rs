//! What can be wrong with a refinement before it begins.

use crate::failure::Fault;
use crate::llm::PromptError;

/// A refinement that cannot be run as it is described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing judges the drafts.
    #[error("`{name}` has no criteria: nothing would judge its drafts")]
    NoCriteria {
        /// The refinement.
        name: String,
    },
    /// Two criteria have the same name.
    #[error("two criteria are called `{criterion}`")]
    DuplicateCriterion {
        /// The name.
        criterion: String,
    },
    /// A number makes no sense.
    #[error("{what} is {given}; {wanted}")]
    BadNumber {
        /// What the number is.
        what: &'static str,
        /// The number.
        given: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A name cannot be used.
    #[error(transparent)]
    BadName(#[from] crate::BadName),
    /// A prompt cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The protocol needs evidence from outside the author, and there is none.
    #[error("`{protocol}` learns from evidence, and every criterion is the author's own opinion")]
    NeedsEvidence {
        /// The protocol.
        protocol: &'static str,
    },
    /// A rule speaks of something that is not there.
    #[error("a rule speaks of {what} `{name}`, which there is not{}", meant(did_you_mean))]
    UnknownName {
        /// What it would be.
        what: &'static str,
        /// The name.
        name: String,
        /// One that looks like it.
        did_you_mean: Option<String>,
    },
    /// A tactic needs something that is not there.
    #[error("`{tactic}` is asked for on a stall, but {missing}")]
    BadTactic {
        /// The tactic.
        tactic: &'static str,
        /// What is missing.
        missing: &'static str,
    },
}

fn meant(word: &Option<String>) -> String {
    word.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

impl Fault for Error {
    fn code(&self) -> &str {
        match self {
            Self::NoCriteria { .. } => "no-criteria",
            Self::DuplicateCriterion { .. } => "duplicate-name",
            Self::BadNumber { .. } => "bad-number",
            Self::BadName(_) => "bad-name",
            Self::Prompt(error) => error.code(),
            Self::NeedsEvidence { .. } => "needs-evidence",
            Self::UnknownName { .. } => "unknown-name",
            Self::BadTactic { .. } => "bad-tactic",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoCriteria { .. } => {
                Some("add a verifier, for instance a text rule or a command".to_owned())
            }
            Self::NeedsEvidence { .. } => {
                Some("add a rule, a command, a test, a person, or a judge that is another model".to_owned())
            }
            Self::Prompt(error) => error.hint(),
            _ => None,
        }
    }
}
