//! `redraft list`

use std::process::ExitCode;

use redraft::llm::Spend;
use redraft::store::{Head, Query};
use redraft::{Clock, RunId, Status, Stop, SystemClock, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{print, print_json, say};
use crate::settings::Settings;
use crate::terminal::Palette;
use crate::trouble::Trouble;
use crate::{ending, text};

/// Lists runs, the newest first.
///
/// One line per run: how it stands, its id (short, and enough to type), its workflow, the score of its best draft, how
/// many drafts were judged, what it cost, how long it took and when it was started.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft list
  redraft list --status waiting          what waits for a person
  redraft list --workflow essay --limit 5
  redraft list --json | jq -r '.runs[0].run_id'")]
pub(crate) struct List {
    /// Only runs that stand so; can be given several times
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

fn status(word: &str) -> Result<Status, String> {
    let words = Status::ALL.map(Status::as_str).join(", ");
    Status::from_word(word).ok_or_else(|| format!("it is one of: {words}"))
}

/// What `redraft list --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The runs, the newest first.
    runs: Vec<ListedRun>,
}

/// A run, in a line.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedRun {
    /// The run.
    run_id: RunId,
    /// The workflow's name.
    workflow: String,
    /// How it stands.
    status: Status,
    /// Why it stopped, if it did.
    stop: Option<Stop>,
    /// The score of the best draft so far.
    best_score: Option<f64>,
    /// How many drafts were judged.
    iterations: Option<u64>,
    /// What it cost; known when it has ended.
    spend: Option<Spend>,
    /// How long it took; known when it has ended.
    duration_ms: Option<u64>,
    /// When it was started.
    started_at: Timestamp,
    /// When it ended, if it did.
    finished_at: Option<Timestamp>,
}

impl ListedRun {
    fn of(head: &Head) -> Self {
        let summary = head.standing.summary.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let summary: Value = summary.unwrap_or_default();
        let finished_at = head.standing.finished_at;
        let took = finished_at.map(|end| end.since(head.created_at).as_millis());
        Self {
            run_id: head.run,
            workflow: head.workflow.clone(),
            status: head.standing.status,
            stop: head.standing.stop,
            best_score: summary["best_score"].as_f64(),
            iterations: summary["iterations"].as_u64(),
            spend: summary.get("spend").and_then(|spend| serde_json::from_value(spend.clone()).ok()),
            duration_ms: took.and_then(|millis| u64::try_from(millis).ok()),
            started_at: head.created_at,
            finished_at,
        }
    }
}

impl List {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let heads = super::block_on(async {
            let query = Query {
                workflow: self.workflow.clone(),
                status: self.status.clone(),
                limit: self.limit,
                ..Query::default()
            };
            match settings.look().await? {
                Some(engine) => Ok(engine.list(query).await?),
                None => Ok(Vec::new()),
            }
        })?;
        let runs: Vec<ListedRun> = heads.iter().map(ListedRun::of).collect();
        if self.json {
            return Ok(print_json(&Listed { runs }));
        }
        if runs.is_empty() {
            let filtered = self.workflow.is_some() || !self.status.is_empty();
            say(if filtered {
                "no run is like that\n  next: redraft list"
            } else {
                "there is no run yet\n  next: redraft init"
            });
            return Ok(ExitCode::SUCCESS);
        }
        let palette = Palette { colored: settings.color.wanted(&std::io::stdout()) };
        Ok(print(&table(&runs, SystemClock.now(), palette, text::columns()).join("\n")))
    }
}

/// A column of the table.
struct Column {
    title: &'static str,
    /// Which goes first where there is too little room; nothing for what always stays.
    leaves: Option<u8>,
    is_number: bool,
    cells: Vec<String>,
}

fn table(runs: &[ListedRun], now: Timestamp, palette: Palette, columns: usize) -> Vec<String> {
    let column = |title, leaves, is_number, cell: &dyn Fn(&ListedRun) -> Option<String>| Column {
        title,
        leaves,
        is_number,
        cells: runs.iter().map(|run| cell(run).unwrap_or_else(|| "–".to_owned())).collect(),
    };
    let mut shown = vec![
        column("STATUS", None, false, &|run| Some(format!("{} {}", run.status.glyph(), run.status))),
        column("RUN", None, false, &|run| Some(text::short(run.run_id))),
        column("WORKFLOW", Some(5), false, &|run| Some(text::cut(&text::line(&run.workflow), 30))),
        column("BEST", Some(4), true, &|run| run.best_score.map(|score| format!("{score:.2}"))),
        column("ITER", Some(2), true, &|run| run.iterations.map(|n| n.to_string())),
        column("SPENT", Some(1), true, &|run| {
            run.spend.map(|spend| spend.money.map_or("unknown".to_owned(), |money| money.to_string()))
        }),
        column("TOOK", Some(0), true, &|run| run.duration_ms.map(text::duration)),
        column("STARTED", Some(3), false, &|run| Some(text::ago(run.started_at, now))),
    ];
    let width = |column: &Column| {
        column.cells.iter().map(|cell| text::width(cell)).max().unwrap_or(0).max(column.title.len())
    };
    while shown.iter().map(|column| width(column) + 2).sum::<usize>() > columns + 2 {
        let Some(first) = shown.iter().filter_map(|column| column.leaves).min() else { break };
        shown.retain(|column| column.leaves != Some(first));
    }
    let row = |cell: &dyn Fn(&Column) -> String| {
        let cells = shown.iter().map(|column| {
            let words = cell(column);
            if column.is_number {
                text::right(&words, width(column))
            } else {
                text::pad(&words, width(column))
            }
        });
        text::cut(cells.collect::<Vec<_>>().join("  ").trim_end(), columns)
    };
    let mut lines = vec![palette.dim(&row(&|column| column.title.to_owned()))];
    for (at, run) in runs.iter().enumerate() {
        let line = row(&|column| column.cells.get(at).cloned().unwrap_or_default());
        let status = format!("{} {}", run.status.glyph(), run.status);
        lines.push(line.replacen(&status, &ending::paint(palette, run.status, &status), 1));
    }
    lines
}
