//! `redraft watch`

use std::process::ExitCode;

use redraft::refine::Iteration;
use redraft::view::{Event, Report};
use redraft::{Engine, RunId, Status};
use serde_json::Value;

use super::{print, say, show};
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::{chosen, ending, text};

/// Follows a run until it ends, whoever drives it.
///
/// Prints a line for everything that happens, what has happened already first. Nothing is driven here: a run that was
/// left where it stood goes on with `redraft resume`. The exit code is that of the run.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft watch last
  redraft watch last --jsonl | jq -c 'select(.type == \"step_succeeded\") | .path'
  redraft watch last && echo accepted")]
pub(crate) struct Watch {
    /// The run: its id, either end of it, or `last`
    run: String,
    /// Prints every event as JSON, one on a line
    #[arg(long, alias = "json")]
    jsonl: bool,
}

impl Watch {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        super::block_on(async {
            let (engine, run) = chosen::open(settings, &self.run).await?;
            self.follow(&engine, run).await?;
            let report = engine.report(run).await?;
            if !self.jsonl {
                end(&report);
            }
            Ok(ending::exit(&report).into())
        })
    }

    async fn follow(&self, engine: &Engine, run: RunId) -> Result<(), Trouble> {
        let known = engine.summary(run).await?;
        let mut events = engine.events(run, 0).await?;
        while let Some(event) = events.next().await? {
            let line = if self.jsonl { Some(super::json(&event)?) } else { line(&event) };
            if let Some(line) = line
                && print(&line) != ExitCode::SUCCESS
            {
                return Ok(());
            }
            if event.seq == known.events && !known.status.is_final() && !self.jsonl {
                stands(run, known.status);
            }
        }
        Ok(())
    }
}

/// Says how a run that has not ended stands, once everything that had happened is told.
fn stands(run: RunId, status: Status) {
    let run = text::short(run);
    match status {
        Status::Waiting => say(&format!("◔ it waits for a person\n  next: redraft approve {run}")),
        _ => say(&format!("● following; if nobody drives it: redraft resume {run}")),
    }
}

fn end(report: &Report) {
    say(&format!("{} {}: {}", report.status.glyph(), report.status, ending::words(report)));
    show::next(report);
}

/// Says what happened; nothing for what only the engine cares about.
fn line(event: &Event) -> Option<String> {
    let path = event.path.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = event.path.as_ref().map_or("", |path| path.name());
    let word = |key: &str| event.details.get(key).and_then(Value::as_str).map(text::line).unwrap_or_default();
    let inner = |key: &str, inside: &str| {
        event
            .details
            .get(key)
            .and_then(|value| value.get(inside))
            .and_then(Value::as_str)
            .map(text::line)
            .unwrap_or_default()
    };
    let line = match event.kind.as_str() {
        "run_started" => format!("● {} started", inner("run", "workflow")),
        "run_resumed" => "↺ taken over from its journal".to_owned(),
        "step_succeeded" if name == "verdict" => {
            let verdict = event.details.get("output").cloned().unwrap_or_default();
            match serde_json::from_value::<Iteration>(verdict) {
                Ok(it) => format!(
                    "{} iteration {}  score {:.2}  {}",
                    if it.accepted { '✓' } else { '△' },
                    it.n,
                    it.score,
                    text::count(it.open().count(), "finding")
                ),
                Err(_) => format!("✓ {path}"),
            }
        }
        "step_succeeded" if name == "criteria" => return None,
        "step_succeeded" => format!("✓ {path}"),
        "step_failed" => {
            let again = if event.details.contains_key("retry_at") { "; another attempt follows" } else { "" };
            format!("✗ {path}: {} [{}]{again}", inner("failure", "message"), inner("failure", "code"))
        }
        "gate_opened" => {
            let question = event.details.get("question");
            let words = question.and_then(|it| it.as_str().or_else(|| it.get("text")?.as_str()));
            format!(
                "◔ {path} asks: {}",
                text::line(words.and_then(|it| it.lines().next()).unwrap_or_default())
            )
        }
        "gate_answered" => format!("✓ {path}: {} by {}", inner("answer", "choice"), inner("answer", "by")),
        "gate_closed" => format!("⊘ {path}: no answer is waited for any more"),
        "sleep_started" => format!("◔ {path}: until {}", word("until")),
        "note_written" => format!("· {}", word("text")),
        "cancel_requested" => format!("⊘ {} asks it to stop: {}", word("by"), word("reason")),
        "run_reopened" => format!("↺ reopened by {}", word("by")),
        _ => return None,
    };
    Some(format!("{}  {line}", event.at))
}
