//! People in the loop: when they are asked, what they are asked, and what becomes of their answer.

use std::time::Duration;

use super::outcome::Iteration;
use crate::failure::Failure;
use crate::gate::{DEADLINE, Question};
use crate::run::Ctx;

/// When people are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oversight {
    /// After every verdict that did not accept the draft.
    pub each_iteration: bool,
    /// When a limit of iterations is reached.
    pub at_cap: bool,
    /// When the drafts no longer get better, before any other tactic.
    pub on_stall: bool,
    /// How long to wait for an answer; then the loop goes on as if nobody had been asked.
    pub within: Option<Duration>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// The best draft is good enough.
    Approve,
    /// No draft will do.
    Reject,
    /// This is the next draft.
    Edit(String),
    /// Go on, perhaps with this in mind.
    Continue(Option<String>),
    /// Nobody decided in time.
    Nobody,
}

/// Asks a person what is to be done.
pub(super) async fn ask(
    ctx: &Ctx,
    oversight: &Oversight,
    why: &str,
    best: Option<&Iteration>,
) -> Result<Decision, Failure> {
    let mut complaint = "";
    loop {
        let mut question = Question::new(words(why, best, complaint));
        for choice in ["approve", "reject", "edit", "continue"] {
            question = question.option(choice);
        }
        if let Some(within) = oversight.within {
            question = question.within(within).default_to("continue");
        }
        let answer = ctx.gate("decide", question).await?;
        match (answer.choice.as_str(), answer.value.as_ref().and_then(|value| value.as_str())) {
            ("approve", _) if best.is_some() => return Ok(Decision::Approve),
            ("approve", _) => complaint = "There is no judged draft to approve yet.",
            ("reject", _) => return Ok(Decision::Reject),
            ("edit", Some(text)) if !text.trim().is_empty() => return Ok(Decision::Edit(text.to_owned())),
            ("edit", _) => complaint = "The answer `edit` came without a draft.",
            _ if answer.by == DEADLINE => return Ok(Decision::Nobody),
            _ => return Ok(Decision::Continue(answer.note)),
        }
    }
}

fn words(why: &str, best: Option<&Iteration>, complaint: &str) -> String {
    let state = match best {
        Some(best) => {
            let open: Vec<String> = best.open().map(|finding| format!("- {finding}")).collect();
            format!(
                "The best draft is that of iteration {} (score {:.2}):\n\n{}\n\n{}",
                best.n,
                best.score,
                best.text,
                if open.is_empty() { "Nothing was found in it.".to_owned() } else { open.join("\n") }
            )
        }
        None => "No draft has been judged yet.".to_owned(),
    };
    let before = if complaint.is_empty() { String::new() } else { format!("{complaint} ") };
    format!("{before}What shall be done: {why}.\n\n{state}")
}
