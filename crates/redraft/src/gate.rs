//! Questions to people, and their answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::suggest;

/// A question that a run puts to a person with [`Ctx::gate`](crate::Ctx::gate).
///
/// Without options of its own it offers `approve` and `reject`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

/// Who answers if nobody does in time.
pub(crate) const DEADLINE: &str = "deadline";

const APPROVE_OR_REJECT: [&str; 2] = ["approve", "reject"];

impl Question {
    /// Asks `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), options: Vec::new(), within_ms: None, default: None }
    }

    /// Adds a choice.
    #[must_use]
    pub fn option(mut self, choice: impl Into<String>) -> Self {
        self.options.push(choice.into());
        self
    }

    /// Waits at most so long. Then the [`default`](Self::default_to) is taken; without one the gate fails with
    /// the code `gate-expired`.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Says which choice is taken when nobody answers in time.
    #[must_use]
    pub fn default_to(mut self, choice: impl Into<String>) -> Self {
        self.default = Some(choice.into());
        self
    }

    /// Returns the question itself.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the choices it offers.
    #[must_use]
    pub fn options(&self) -> Vec<&str> {
        if self.options.is_empty() {
            APPROVE_OR_REJECT.to_vec()
        } else {
            self.options.iter().map(String::as_str).collect()
        }
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.within_ms.map(Duration::from_millis)
    }

    pub(crate) fn default_answer(&self) -> Option<Answer> {
        self.default.as_ref().map(|choice| Answer::new(choice).by(DEADLINE))
    }

    pub(crate) fn check(&self) -> Result<(), Failure> {
        let options = self.options();
        let bad = |message: String| Err(Failure::terminal("bad-gate", message));
        for (at, option) in options.iter().enumerate() {
            if option.trim().is_empty() {
                return bad("a gate offers an empty choice".to_owned());
            }
            if options[..at].contains(option) {
                return bad(format!("a gate offers `{option}` twice"));
            }
        }
        match &self.default {
            Some(choice) if !options.contains(&choice.as_str()) => {
                let near = suggest::nearest(choice, options.iter().copied())
                    .map(|word| format!("; did you mean `{word}`?"))
                    .unwrap_or_default();
                bad(format!("the default `{choice}` is not among the choices of the gate{near}"))
            }
            Some(_) if self.within_ms.is_none() => {
                bad("a gate has a default but no deadline after which to take it".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// What somebody answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Answer {
    /// One of the choices.
    pub choice: String,
    /// Who answered; `deadline` if nobody did in time.
    pub by: String,
    /// What they had to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What they hand over with it: an edited draft, a score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Answer {
    /// Chooses `choice`.
    #[must_use]
    pub fn new(choice: impl Into<String>) -> Self {
        Self { choice: choice.into(), by: "unknown".to_owned(), note: None, value: None }
    }

    /// Says who answers.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = who.into();
        self
    }

    /// Adds a remark.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }

    /// Hands something over.
    #[must_use]
    pub fn value(mut self, value: Value) -> Self {
        self.value = Some(value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_cannot_be_answered_is_refused() {
        let minute = Duration::from_secs(60);
        let bad = [
            Question::new("?").option("yes").option("yes"),
            Question::new("?").option(" "),
            Question::new("?").option("yes").within(minute).default_to("yess"),
            Question::new("?").default_to("approve"),
        ];
        for question in bad {
            assert_eq!(question.check().unwrap_err().code, "bad-gate", "{question:?}");
        }
        assert_eq!(Question::new("?").within(minute).default_to("reject").check(), Ok(()));
        assert_eq!(Question::new("?").options(), ["approve", "reject"]);
    }
}
