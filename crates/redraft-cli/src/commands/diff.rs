//! `redraft diff`

use std::process::ExitCode;

use redraft::RunId;
use redraft::refine::Iteration;
use redraft::view::diff::{Piece, Stat, Style};
use redraft::view::{Diff as Compared, Report};
use schemars::JsonSchema;
use serde::Serialize;

use super::show::no_iteration;
use super::{print, print_json};
use crate::findings::{self, Followed};
use crate::settings::Settings;
use crate::terminal::Palette;
use crate::trouble::{Exit, Trouble};
use crate::{chosen, text};

/// Shows what has changed between two drafts of a run, word by word.
///
/// Without more, the best draft is compared with the one it was made from. A draft is named by its iteration, or as
/// `first`, `last` or `best`. Words that make the difference are marked by colour on a terminal and by brackets
/// elsewhere; below stands what became of what was found.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft diff last                 the best draft against its parent
  redraft diff last 2..4
  redraft diff last first best
  redraft diff last 1..last --stat  only how much has changed")]
pub(crate) struct Diff {
    /// The run: its id, either end of it, or `last`
    run: String,
    /// Which drafts: `2..4`, or one draft to compare with its parent
    #[arg(value_name = "A..B")]
    from: Option<String>,
    /// The second draft, where they are named one by one
    #[arg(value_name = "B")]
    to: Option<String>,
    /// Looks at the refinement that stands there, in a run that has several
    #[arg(long, value_name = "PATH")]
    at: Option<String>,
    /// Only counts what has changed
    #[arg(long)]
    stat: bool,
    /// How many lines to show around each change
    #[arg(long, value_name = "N", default_value_t = 3)]
    context: usize,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// What `redraft diff --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The run.
    run_id: RunId,
    /// The draft before.
    from: Side,
    /// The draft after.
    to: Side,
    /// How much has changed.
    stat: Stat,
    /// Everything that is the same, was removed or was added, in order.
    pieces: Vec<Piece>,
    /// What became of what was found.
    findings: Vec<Followed>,
}

/// One of two drafts.
#[derive(Debug, Serialize, JsonSchema)]
struct Side {
    /// Its iteration, counted from 1.
    iteration: u32,
    /// Its score.
    score: f64,
}

impl Side {
    fn of(iteration: &Iteration) -> Self {
        Self { iteration: iteration.n, score: iteration.score }
    }
}

impl Diff {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let report = super::block_on(async {
            let (engine, run) = chosen::open(settings, &self.run).await?;
            chosen::report(&engine, run, self.at.as_deref()).await
        })?;
        let (before, after) = self.sides(&report)?;
        let compared = Compared::of(&before.text, &after.text);
        let followed = findings::followed(before, after);
        if self.json {
            return Ok(print_json(&Difference {
                run_id: report.run_id,
                from: Side::of(before),
                to: Side::of(after),
                stat: compared.stat(),
                pieces: compared.pieces,
                findings: followed,
            }));
        }
        let palette = Palette { colored: settings.color.wanted(&std::io::stdout()) };
        let columns = text::columns();
        let side = |it: &Iteration| format!("iteration {} ({:.2})", it.n, it.score);
        let mut lines =
            vec![palette.bold(&text::cut(&format!("{} → {}", side(before), side(after)), columns))];
        lines.push(text::cut(&compared.stat().to_string(), columns));
        if !self.stat {
            let style = if palette.colored { Style::ANSI } else { Style::BRACKETS };
            let shown = compared.show(&style, self.context);
            lines.push(if compared.is_empty() {
                "the drafts are the same".to_owned()
            } else {
                shown.trim_end().to_owned()
            });
        }
        let statuses = followed.iter().map(|followed| followed.status);
        lines.extend(text::wrap(&format!("findings: {}", findings::tally(statuses)), columns));
        if !self.stat {
            let rows = followed.iter().map(|followed| (followed.status, &followed.finding));
            lines.extend(findings::rows(rows, palette, columns));
        }
        Ok(print(&lines.join("\n")))
    }

    fn sides<'a>(&self, report: &'a Report) -> Result<(&'a Iteration, &'a Iteration), Trouble> {
        let (from, to) = match (self.from.as_deref(), self.to.as_deref()) {
            (Some(range), None) if range.contains("..") => {
                let (from, to) = range.split_once("..").unwrap_or((range, ""));
                let (from, to) = (from.trim(), to.trim_start_matches(['.', '=']).trim());
                (Some(if from.is_empty() { "first" } else { from }), if to.is_empty() { "last" } else { to })
            }
            (Some(from), Some(to)) => (Some(from), to),
            (Some(one), None) => (None, one),
            (None, _) => (None, "best"),
        };
        let after = draft(report, to)?;
        let before = match from {
            Some(word) => draft(report, word)?,
            None => parent(report, after)?,
        };
        Ok((before, after))
    }
}

fn draft<'a>(report: &'a Report, word: &str) -> Result<&'a Iteration, Trouble> {
    let nothing = || chosen::no_draft(report);
    match word {
        "first" => report.iterations.first().ok_or_else(nothing),
        "last" => report.iterations.last().ok_or_else(nothing),
        "best" => {
            let best = report.best.as_ref().ok_or_else(nothing)?;
            report.iteration(best.iteration).ok_or_else(nothing)
        }
        number => {
            let n: u32 = number.parse().map_err(|_| {
                let message =
                    format!("`{}` is no draft; name a number, `first`, `last` or `best`", text::line(number));
                Trouble::new(Exit::Usage, message).hint("redraft diff RUN 1..2")
            })?;
            report.iteration(n).ok_or_else(|| no_iteration(report, n))
        }
    }
}

/// The draft that another was made from; of one that was made from the task alone, the one before it.
fn parent<'a>(report: &'a Report, of: &Iteration) -> Result<&'a Iteration, Trouble> {
    let made_from = of.from.and_then(|n| report.iteration(n));
    made_from.or_else(|| report.iteration(of.n.checked_sub(1)?)).ok_or_else(|| {
        let message =
            format!("iteration {} was made from the task alone: there is nothing to compare it with", of.n);
        let run = text::short(report.run_id);
        let others = report.iterations.len() > 1;
        Trouble::new(Exit::Usage, message).hint(if others {
            format!("redraft diff {run} first..last")
        } else {
            format!("redraft show {run} --draft {}", of.n)
        })
    })
}
