//! A person as judge: a gate that shows the draft and waits, through restarts if need be.
//!
//! | choice | what it means |
//! |---|---|
//! | `approve` | it passes |
//! | `reject` | it does not; the note says why, and is what the author is told |
//! | `edit` | it does not, but the text in the answer's value is a draft of its own |
//! | `score` | the answer's value is a number: up to 1, or out of 10 |
//!
//! An answer that cannot be used is asked for again, by a second gate that says what was wrong.

use std::time::Duration;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Case, Cost, Error, Evidence, Finding, FindingId, Severity, Verdict, Verifier, Verifying};
use crate::failure::Failure;
use crate::gate::{Answer, DEADLINE, Question};
use crate::run::Ctx;

const APPROVE: &str = "approve";
const REJECT: &str = "reject";
const EDIT: &str = "edit";
const SCORE: &str = "score";

/// How much of the task and of the draft a question shows, in characters. All of it stands in the run.
const TASK_SHOWN: usize = 300;
const DRAFT_SHOWN: usize = 4000;

/// A person who judges drafts.
#[derive(Clone, Debug)]
pub struct Human {
    question: String,
    within: Option<Duration>,
    default: Option<String>,
}

/// A person who judges, as files describe it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanConfig {
    /// What they are asked.
    pub question: String,
    /// How long is waited for the answer: `90m`, `36h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// What is taken when nobody answers in time: `approve` or `reject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What an answer comes to.
enum Read {
    Verdict(Box<Verdict>),
    /// What is wrong with it.
    Unusable(String),
}

impl Human {
    /// Makes a judge who is asked `question`, and has all the time in the world.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), within: None, default: None }
    }

    /// Makes one of what a file says.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the time cannot be read, or the default cannot be taken.
    pub fn from_config(config: HumanConfig) -> Result<Self, Error> {
        let mut human = Self::new(config.question);
        if let Some(text) = config.within {
            let within = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
            let within = within
                .ok_or_else(|| unusable(format!("`{text}` is not a time; write it as `90m` or `36h`")))?;
            human = human.within(within);
        }
        human.default = config.default;
        human.check()?;
        Ok(human)
    }

    /// Waits at most so long; without a default the gate then fails with the code `gate-expired`.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Says what is taken when nobody answers in time: `approve` or `reject`.
    #[must_use]
    pub fn default_to(mut self, choice: impl Into<String>) -> Self {
        self.default = Some(choice.into());
        self
    }

    fn check(&self) -> Result<(), Error> {
        let Some(choice) = self.default.as_deref() else { return Ok(()) };
        match choice {
            APPROVE | REJECT if self.within.is_some() => Ok(()),
            APPROVE | REJECT => {
                Err(unusable("it has a default but no time after which to take it".to_owned()))
            }
            EDIT | SCORE => {
                Err(unusable("silence can mean `approve` or `reject`; the others need words".to_owned()))
            }
            _ => Err(unusable(format!("its default `{choice}` is neither `approve` nor `reject`"))),
        }
    }

    async fn judged(&self, ctx: &Ctx, case: &Case) -> Result<Verdict, Failure> {
        self.check()?;
        let mut wrong = None;
        loop {
            let answer = ctx.gate("review", self.asks(case, wrong.as_deref())).await?;
            match read(&answer, case) {
                Read::Verdict(verdict) => return Ok(*verdict),
                Read::Unusable(reason) => wrong = Some(reason),
            }
        }
    }

    fn asks(&self, case: &Case, wrong: Option<&str>) -> Question {
        let mut text = String::new();
        if let Some(wrong) = wrong {
            text.push_str(&format!("The last answer cannot be used: {wrong}\n\n"));
        }
        text.push_str(&self.question);
        text.push_str(&format!("\n\nTask: {}", shortened(&case.task, TASK_SHOWN)));
        text.push_str(&format!("\nIteration: {}", case.iteration));
        if let Some(incumbent) = &case.incumbent {
            text.push_str(&format!("\nBest so far: iteration {}", incumbent.iteration));
            if let Some(score) = incumbent.score {
                text.push_str(&format!(", score {score:.2}"));
            }
        }
        if !case.earlier.is_empty() {
            text.push_str("\nSaid before:");
            for finding in &case.earlier {
                text.push_str(&format!("\n- {}", finding.message));
            }
        }
        text.push_str(&format!("\n\nDraft:\n{}", shortened(&case.draft, DRAFT_SHOWN)));
        text.push_str(concat!(
            "\n\n`approve`, `reject` (the note says why), `edit` (the value is the new text) or `score` ",
            "(the value is a number: below 1, or out of 10)."
        ));
        let mut question = Question::new(text);
        for choice in [APPROVE, REJECT, EDIT, SCORE] {
            question = question.option(choice);
        }
        if let Some(within) = self.within {
            question = question.within(within);
        }
        match &self.default {
            Some(choice) => question.default_to(choice),
            None => question,
        }
    }
}

fn unusable(reason: String) -> Error {
    Error::Unusable { verifier: "question to people", reason }
}

/// The first characters of a text, and how many more there are.
fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text.chars().count() - most;
            format!("{}… ({left} more characters)", text.get(..end).unwrap_or_default())
        }
    }
}

fn read(answer: &Answer, case: &Case) -> Read {
    let note = answer.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    let mut verdict = match answer.choice.as_str() {
        APPROVE => {
            let remark = note.map(|note| Finding::new("remark", note).severity(Severity::Minor));
            let mut verdict = Verdict::of(remark);
            verdict.fixed = known(case);
            verdict
        }
        EDIT => match answer.value.as_ref().and_then(Value::as_str).filter(|text| !text.trim().is_empty()) {
            None => return Read::Unusable("`edit` needs the new text as its value".to_owned()),
            Some(text) if *text == *case.draft => {
                return Read::Unusable(
                    "the text is the draft as it was; choose `approve` if it is good".to_owned(),
                );
            }
            Some(text) => {
                let why = note.unwrap_or("a person put another text in its place");
                let mut verdict = Verdict::of([Finding::new("edited", why)]);
                verdict.edited = Some(text.to_owned());
                verdict
            }
        },
        SCORE => match score(answer.value.as_ref()) {
            Err(reason) => return Read::Unusable(reason),
            Ok(score) => {
                let verdict = Verdict::scored(score);
                match note {
                    Some(note) => verdict.finding(Finding::new("remark", note).severity(Severity::Major)),
                    None => verdict,
                }
            }
        },
        _ => Verdict::of([Finding::new(
            "rejected",
            note.unwrap_or("a person rejected the draft and did not say why"),
        )]),
    };
    if answer.by == DEADLINE {
        verdict = verdict.warning(format!("nobody answered in time; `{}` was taken", answer.choice));
    }
    Read::Verdict(Box::new(verdict))
}

fn known(case: &Case) -> Vec<FindingId> {
    let ids = case.earlier.iter().map(|finding| finding.id.clone());
    ids.filter(|id| !id.as_str().is_empty()).collect()
}

/// Reads a number below 1 as it is, and one above 1 as out of 10. A plain 1 could be the best or the worst.
fn score(value: Option<&Value>) -> Result<f64, String> {
    let number = match value {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_f64(),
        None => None,
    };
    match number {
        None => Err("`score` needs a number as its value".to_owned()),
        Some(one) if (one - 1.0_f64).abs() < f64::EPSILON => {
            Err("1 can be the best (of 1) or the worst (of 10); write 10 for the best, 0.1 for the worst"
                .to_owned())
        }
        Some(share) if (0.0..1.0).contains(&share) => Ok(share),
        Some(of_ten) if of_ten > 1.0 && of_ten <= 10.0 => Ok(of_ten / 10.0),
        Some(other) => Err(format!("{other} is neither between 0 and 1 nor between 1 and 10")),
    }
}

impl Verifier for Human {
    fn evidence(&self) -> Evidence {
        Evidence::Human
    }

    fn cost(&self) -> Cost {
        Cost::Person
    }

    fn describe(&self) -> Value {
        let within_ms = self.within.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        json!({ "human": { "question": self.question, "within_ms": within_ms, "default": self.default } })
    }

    fn demand(&self) -> String {
        format!("a person who is asked “{}” approves", self.question)
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(self.judged(ctx, case))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_read_in_either_way_unless_it_could_be_both() {
        let cases = [
            (json!(0.7), Some(0.7)),
            (json!(0), Some(0.0)),
            (json!(7), Some(0.7)),
            (json!("8.5"), Some(0.85)),
            (json!(10), Some(1.0)),
            (json!(1), None),
            (json!(11), None),
            (json!(-0.1), None),
            (json!("good"), None),
            (json!("NaN"), None),
            (json!([7]), None),
        ];
        for (value, wanted) in cases {
            assert_eq!(score(Some(&value)).ok(), wanted, "{value}");
        }
        assert!(score(None).is_err());
    }

    #[test]
    fn a_long_text_is_shortened_between_characters() {
        assert_eq!(shortened("  äöü ", 3), "äöü");
        assert_eq!(shortened("äöüß!", 3), "äöü… (2 more characters)");
    }

    #[test]
    fn silence_cannot_mean_more_than_yes_or_no() {
        let minute = Duration::from_secs(60);
        assert!(Human::new("?").within(minute).default_to("approve").check().is_ok());
        assert!(Human::new("?").within(minute).check().is_ok() && Human::new("?").check().is_ok());
        for bad in [
            Human::new("?").default_to("approve"),
            Human::new("?").within(minute).default_to("edit"),
            Human::new("?").within(minute).default_to("aprove"),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let config = |within: &str| HumanConfig {
            question: "?".to_owned(),
            within: Some(within.to_owned()),
            default: None,
        };
        assert_eq!(Human::from_config(config("90m")).unwrap().within, Some(Duration::from_secs(5400)));
        assert!(Human::from_config(config("soon")).is_err() && Human::from_config(config("-1h")).is_err());
    }
}
