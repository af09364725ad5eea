//! `redraft export`

use std::path::PathBuf;
use std::process::ExitCode;

use super::{print_raw, say, show};
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};
use crate::{chosen, document};

/// Writes a run as a document: for people, for programs, for test reports.
///
/// Reports are made from the journal alone, also of a run that has not ended. The page of HTML stands alone: it has no
/// script and loads nothing, and what models wrote is shown as text.
#[derive(clap::Args)]
#[command(after_long_help = "\
Formats:
  jsonl      the journal, one event on a line
  json       what came of the run: the object of `redraft run --json`
  markdown   a report to paste: what was asked, how it went, what was found, what it cost
  html       the same as a page that stands alone, with a chart and every change
  junit      each criterion as a test of the best draft

Examples:
  redraft export last --format html -o report.html
  redraft export last --format junit -o results.xml
  redraft export last --format markdown >> \"$GITHUB_STEP_SUMMARY\"")]
pub(crate) struct Export {
    /// The run: its id, either end of it, or `last`
    run: String,
    /// What to write
    #[arg(long, short, value_name = "FORMAT", default_value = "jsonl")]
    format: Format,
    /// Where to write it; standard output if nothing is said
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Looks at the refinement that stands there, in a run that has several
    #[arg(long, value_name = "PATH")]
    at: Option<String>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The journal, one event on a line
    Jsonl,
    /// What came of the run
    Json,
    /// A report to paste
    #[value(alias = "md")]
    Markdown,
    /// A page that stands alone
    Html,
    /// Criteria as tests
    Junit,
}

impl Export {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let format = if self.json { Format::Json } else { self.format };
        let document = super::block_on(async {
            let (engine, run) = chosen::open(settings, &self.run).await?;
            if format == Format::Jsonl {
                return Ok(show::events(&engine, run).await?.join("\n") + "\n");
            }
            let came = chosen::report(&engine, run, self.at.as_deref()).await?;
            Ok(match format {
                Format::Markdown => document::markdown::write(&came),
                Format::Html => document::html::write(&came),
                Format::Junit => document::junit::write(&came),
                Format::Json | Format::Jsonl => super::json(&came)? + "\n",
            })
        })?;
        let Some(file) = self.output.as_ref().filter(|file| file.as_os_str() != "-") else {
            return Ok(print_raw(&document));
        };
        std::fs::write(file, &document).map_err(|error| {
            Trouble::new(Exit::Configuration, format!("`{}` could not be written: {error}", file.display()))
                .hint("redraft export RUN --output FILE")
        })?;
        say(&format!("wrote {}", file.display()));
        Ok(ExitCode::SUCCESS)
    }
}
