//! How a run ended or where it stands, in words: why it stopped, what to type next, and the exit code that says the same
//! to programs.

use redraft::view::Report;
use redraft::{Status, Stop};

use crate::terminal::Palette;
use crate::text;
use crate::trouble::{Exit, Trouble};

/// Returns the exit code of a command that waited for this run.
pub(crate) fn exit(report: &Report) -> Exit {
    match report.status {
        Status::Accepted | Status::Completed => Exit::Done,
        Status::Exhausted => match report.stop {
            Some(Stop::BudgetSpent | Stop::TimeSpent) => Exit::Spent,
            _ => Exit::NotAccepted,
        },
        Status::Waiting => Exit::Waiting,
        Status::Failed => match &report.failure {
            Some(failure) => Trouble::from(failure.clone()).exit,
            None => Exit::NotAccepted,
        },
        Status::Cancelled => Exit::NotAccepted,
        _ => Exit::Done,
    }
}

/// Says in a sentence how the run stands.
pub(crate) fn words(report: &Report) -> String {
    let failure = report.failure.as_ref().map(|failure| text::line(&failure.message));
    match (report.status, report.stop) {
        (Status::Queued, _) => "it was written down and has not begun".to_owned(),
        (Status::Running, _) => "it is under way, or was left where it stood and can be resumed".to_owned(),
        (Status::Waiting, _) => "it waits for a person".to_owned(),
        (Status::Completed, _) => "it came to its end; there was nothing to prove".to_owned(),
        (Status::Accepted, _) => "a draft was proven good enough".to_owned(),
        (Status::Failed, _) => match failure {
            Some(message) => format!("it could not be done: {message}"),
            None => "it could not be done".to_owned(),
        },
        (Status::Cancelled, _) => match &report.cancel_reason {
            Some(reason) if !reason.is_empty() => format!("somebody stopped it: {}", text::line(reason)),
            _ => "somebody stopped it".to_owned(),
        },
        (_, Some(Stop::BudgetSpent)) => "the next call could have cost more than was left".to_owned(),
        (_, Some(Stop::TimeSpent)) => "the time allowed is over".to_owned(),
        (_, Some(Stop::IterationsSpent)) => {
            "as many drafts were made as were allowed, and none was good enough".to_owned()
        }
        (_, Some(Stop::Stalled)) => "the drafts no longer got better".to_owned(),
        (_, Some(Stop::Undecidable)) => match failure {
            Some(message) => format!("nobody could say whether the draft is good: {message}"),
            None => "nobody could say whether the draft is good".to_owned(),
        },
        (_, Some(Stop::Rejected)) => "a person said no".to_owned(),
        _ => "it came to its end, and no draft was good enough".to_owned(),
    }
}

/// Returns the word for why it stopped, as JSON has it.
pub(crate) fn word(stop: Stop) -> String {
    match serde_json::to_value(stop) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Returns what to type next, the most likely first, each with what it is good for.
pub(crate) fn next(report: &Report) -> Vec<(String, &'static str)> {
    let run = text::short(report.run_id);
    let resume = (format!("redraft resume {run}"), "goes on; what is done is not paid for again");
    let best = (format!("redraft show {run} --best"), "prints the best draft");
    let diff = (format!("redraft diff {run}"), "shows what made it better");
    let code = report.failure.as_ref().filter(|failure| redraft::explain(&failure.code).is_some());
    let explain = code.map(|failure| (format!("redraft explain {}", failure.code), "says what went wrong"));
    let mut next = Vec::new();
    match report.status {
        Status::Accepted => next.push(best.clone()),
        Status::Exhausted => {
            next.extend(explain);
            let more = match report.stop {
                Some(Stop::IterationsSpent) => {
                    Some(format!("--max-iterations {}", report.iterations.len() + 2))
                }
                Some(Stop::BudgetSpent) => Some("--max-cost AMOUNT".to_owned()),
                Some(Stop::TimeSpent) => Some("--max-time TIME".to_owned()),
                _ => None,
            };
            next.extend(
                more.map(|more| (format!("redraft resume {run} {more}"), "goes on with more allowed")),
            );
            next.push(best.clone());
        }
        Status::Waiting => {
            next.push((format!("redraft approve {run}"), "takes the draft as it is"));
            next.push((format!("redraft reject {run}"), "says no"));
        }
        Status::Failed => {
            next.extend(explain);
            next.push(resume);
        }
        Status::Cancelled => next.push((format!("redraft rerun {run}"), "starts from the beginning")),
        Status::Running | Status::Queued => {
            next.push((format!("redraft watch {run}"), "follows it"));
            next.push(resume);
        }
        _ => {}
    }
    if report.best.is_none() {
        next.retain(|(command, _)| *command != best.0);
    }
    let has_parent = |n| report.iteration(n).is_some_and(|it| it.from.is_some());
    if report.status.is_final() && report.best.as_ref().is_some_and(|best| has_parent(best.iteration)) {
        next.push(diff);
    }
    next
}

/// Paints a word in the colour of a status.
pub(crate) fn paint(palette: Palette, status: Status, words: &str) -> String {
    match status {
        Status::Accepted | Status::Completed => palette.good(words),
        Status::Exhausted | Status::Waiting => palette.warn(words),
        Status::Failed => palette.bad(words),
        Status::Cancelled | Status::Queued => palette.dim(words),
        _ => palette.bold(words),
    }
}
