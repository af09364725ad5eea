//! `redraft explain`

use std::process::ExitCode;

use redraft::view::Report;
use redraft::{RunId, Status, Stop};
use schemars::JsonSchema;
use serde::Serialize;

use super::{USAGE, fail, print, print_json};
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};
use crate::{chosen, ending, text};

/// Explains an error code, or why a run stopped.
///
/// A code is what stands in brackets in an error message; its page says what it means, why it happens and what to do.
/// Of a run, it is said how it stands, why, what is still wrong with its best draft, and what to type next.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft explain                every code
  redraft explain budget-spent
  redraft explain last           why the newest run stopped")]
pub(crate) struct Explain {
    /// The code or the run; without one, all codes are listed
    #[arg(value_name = "CODE|RUN")]
    what: Option<String>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What `redraft explain --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Explained {
    /// Every code.
    Codes {
        /// The codes, sorted.
        codes: Vec<String>,
    },
    /// What a code means.
    Code {
        /// The code.
        code: String,
        /// Its page, in Markdown.
        page: String,
    },
    /// Why a run stopped.
    Run(Box<Why>),
}

/// Why a run stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Why {
    /// The run.
    run_id: RunId,
    /// How it stands.
    status: Status,
    /// Why it stopped, if it did.
    stop: Option<Stop>,
    /// The same in words.
    why: String,
    /// What is still wrong with the best draft.
    open: Vec<String>,
    /// The code of the failure, if there is one.
    code: Option<String>,
    /// What a command that waited for it would exit with.
    exit_code: u8,
    /// What to type next, the most likely first.
    next: Vec<String>,
}

impl Explain {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let explained = match &self.what {
            None => Explained::Codes { codes: redraft::codes().map(str::to_owned).collect() },
            Some(word) if redraft::explain(word).is_none() && chosen::is_like_a_run(word) => {
                Explained::Run(Box::new(self.why(settings, word)?))
            }
            Some(code) => match redraft::explain(code) {
                Some(page) => Explained::Code { code: code.clone(), page: page.to_owned() },
                None => {
                    let message = format!("there is no error code `{}`", text::line(code));
                    return Ok(fail(USAGE, &message, Some("redraft explain")));
                }
            },
        };
        if self.json {
            return Ok(print_json(&explained));
        }
        Ok(match explained {
            Explained::Codes { codes } => print(&codes.join("\n")),
            Explained::Code { page, .. } => print(page.trim_end()),
            Explained::Run(why) => print(&words(&why, text::columns()).join("\n")),
        })
    }

    fn why(&self, settings: &Settings, typed: &str) -> Result<Why, Trouble> {
        let report = super::block_on(async {
            let (engine, run) = chosen::open(settings, typed).await?;
            Ok(engine.report(run).await?)
        })?;
        Ok(Why::of(&report))
    }
}

impl Why {
    fn of(report: &Report) -> Self {
        let best = report.best.as_ref().filter(|_| report.status != Status::Accepted);
        let open = best.map(|best| best.findings.as_slice()).unwrap_or_default();
        let exit: Exit = ending::exit(report);
        Self {
            run_id: report.run_id,
            status: report.status,
            stop: report.stop,
            why: ending::words(report),
            open: open.iter().map(|finding| format!("{}: {finding}", finding.verifier)).collect(),
            code: report.failure.as_ref().map(|failure| failure.code.clone()),
            exit_code: exit as u8,
            next: ending::next(report).into_iter().map(|(command, _)| command).collect(),
        }
    }
}

fn words(why: &Why, columns: usize) -> Vec<String> {
    let stop = why.stop.map(ending::word).filter(|word| word != why.status.as_str());
    let stop = stop.map(|word| format!(" ({word})")).unwrap_or_default();
    let title = format!("{} {}{stop}  {}", why.status.glyph(), why.status, text::short(why.run_id));
    let mut lines = vec![text::cut(&title, columns)];
    lines.extend(text::wrap(&why.why, columns));
    if !why.open.is_empty() {
        lines.push(String::new());
        lines.push("still wrong:".to_owned());
        for finding in &why.open {
            let parts = text::wrap(&text::line(finding), columns.saturating_sub(4));
            lines.extend(
                parts
                    .iter()
                    .enumerate()
                    .map(|(at, part)| format!("{}{part}", if at == 0 { "  ● " } else { "    " })),
            );
        }
    }
    lines.push(String::new());
    lines.push("next:".to_owned());
    lines.extend(why.next.iter().map(|command| format!("  {command}")));
    if why.next.is_empty() {
        lines.push("  nothing is to be done".to_owned());
    }
    lines
}
