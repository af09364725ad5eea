//! `redraft list`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::print;
use crate::settings::Settings;
use crate::trouble::Trouble;

/// Lists runs, the newest first.
#[derive(clap::Args)]
pub(crate) struct List {
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl List {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        super::block_on(async {
            let heads = match settings.look().await? {
                Some(engine) => engine.list(redraft::store::Query::default()).await?,
                None => Vec::new(),
            };
            let runs: Vec<Value> = heads
                .iter()
                .map(|head| {
                    let summary: Value = head
                        .standing
                        .summary
                        .as_deref()
                        .and_then(|text| serde_json::from_str(text).ok())
                        .unwrap_or_default();
                    json!({
                        "run_id": head.run,
                        "workflow": head.workflow,
                        "status": head.standing.status,
                        "stop": head.standing.stop,
                        "best_score": summary["best_score"],
                        "iterations": summary["iterations"],
                        "started_at": head.created_at,
                    })
                })
                .collect();
            if self.json {
                return Ok(print(&json!({ "runs": runs }).to_string()));
            }
            let lines: Vec<String> = heads
                .iter()
                .map(|head| {
                    format!(
                        "{} {}  {}  {}",
                        head.standing.status.glyph(),
                        head.standing.status,
                        head.run,
                        head.workflow
                    )
                })
                .collect();
            Ok(print(&lines.join("\n")))
        })
    }
}
