//! What is wrong with a definition: everything at once, each with a code and a place.

use std::fmt;

/// A definition that cannot be run, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// The workflow.
    pub workflow: String,
    /// What is wrong with it; at least one thing.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of mistake: stable, kebab-case, see [`explain`](crate::explain).
    pub code: &'static str,
    /// The phase it concerns; empty for the workflow as a whole.
    pub at: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Problem {
    pub(super) fn new(code: &'static str, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, at: at.into(), message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl DefinitionError {
    /// Returns the stable code of this error; each of its [`problems`](Self::problems) has one of its own.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "bad-definition"
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the workflow `{}` cannot be run", self.workflow)?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "at `{}`: ", self.at)?;
        }
        write!(f, "{} ({})", self.message, self.code)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DefinitionError {}
