//! `redraft show`

use std::process::ExitCode;

use redraft::llm::{Completion, Spend};
use redraft::view::{Node, NodeKind, Report, Tree};
use redraft::{Engine, Path, RunId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{print, print_json, print_raw, say};
use crate::draw::{self, Look};
use crate::settings::Settings;
use crate::terminal::Palette;
use crate::trouble::{Exit, Trouble};
use crate::{chosen, ending, findings, text};

/// How much of the best draft is shown with the tree.
const HEAD_LINES: usize = 8;

/// Shows a run: its tree, its best draft, what was found and what to do next.
///
/// Every iteration has its score, what it took and what it cost; below it stands what each criterion said. The journal
/// is only read, so a run can be shown while another process drives it.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft show last
  redraft show 01JB…8XQ4 --best > essay.md     the best draft alone
  redraft show last --draft 2                  the draft of iteration 2 alone
  redraft show last --transcript               what every step answered
  redraft show last --journal | jq .type       everything that happened")]
pub(crate) struct Show {
    /// The run: its id, either end of it, or `last`
    run: String,
    /// Prints the draft of this iteration, and nothing else
    #[arg(long, value_name = "N", group = "part")]
    draft: Option<u32>,
    /// Prints the best draft, and nothing else
    #[arg(long, group = "part")]
    best: bool,
    /// Prints what was asked, and what every step answered
    #[arg(long, group = "part")]
    transcript: bool,
    /// Looks at the refinement that stands there, in a run that has several
    #[arg(long, value_name = "PATH")]
    at: Option<String>,
    /// Prints the journal: one event on a line, as JSON
    #[arg(long, group = "part")]
    journal: bool,
    /// Shows every step, as the journal has them
    #[arg(long, conflicts_with = "part")]
    full: bool,
    /// Prints one JSON object
    #[arg(long, conflicts_with = "journal")]
    json: bool,
}

/// What `redraft show --json` prints: what `redraft run --json` does, and the tree.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Shown {
    #[serde(flatten)]
    report: Report,
    /// Everything in the run.
    tree: Tree,
}

/// What `redraft show --transcript --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Transcript {
    /// The run.
    run_id: RunId,
    /// What was asked for.
    task: Option<String>,
    /// What every step answered, in order.
    steps: Vec<Answered>,
}

/// What a step answered.
#[derive(Debug, Serialize, JsonSchema)]
struct Answered {
    /// Where it stands.
    path: Path,
    /// The model, where one answered.
    model: Option<String>,
    /// How many attempts it took.
    attempts: usize,
    /// How long it took.
    duration_ms: Option<u64>,
    /// What it cost.
    spend: Option<Spend>,
    /// What it answered: the words of a model, or what the step returned.
    answer: Value,
}

/// What `redraft show --draft N --json` and `--best --json` print.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OneDraft {
    /// The run.
    run_id: RunId,
    /// The iteration, counted from 1.
    iteration: u32,
    /// Its score.
    score: f64,
    /// The draft.
    text: String,
}

impl Show {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        super::block_on(async {
            let (engine, run) = chosen::open(settings, &self.run).await?;
            if self.journal {
                return journal(&engine, run).await;
            }
            let report = chosen::report(&engine, run, self.at.as_deref()).await?;
            let tree = engine.tree(run).await?;
            if self.transcript {
                return Ok(self.transcript(&report, &tree));
            }
            if self.best || self.draft.is_some() {
                return self.one(&report);
            }
            if self.json {
                return Ok(print_json(&Shown { report, tree }));
            }
            let palette = Palette { colored: settings.color.wanted(&std::io::stdout()) };
            let look = Look { palette, columns: text::columns(), full: self.full };
            let done = print(&whole(&report, &tree, look).join("\n"));
            next(&report);
            Ok(done)
        })
    }

    /// The draft as it is: bytes for a file, unless a terminal shows them.
    fn one(&self, report: &Report) -> Result<ExitCode, Trouble> {
        let n = match (self.draft, &report.best) {
            (Some(n), _) => n,
            (None, Some(best)) => best.iteration,
            (None, None) => return Err(chosen::no_draft(report)),
        };
        let Some(iteration) = report.iteration(n) else { return Err(no_iteration(report, n)) };
        if self.json {
            return Ok(print_json(&OneDraft {
                run_id: report.run_id,
                iteration: n,
                score: iteration.score,
                text: iteration.text.clone(),
            }));
        }
        Ok(print_raw(&iteration.text))
    }

    fn transcript(&self, report: &Report, tree: &Tree) -> ExitCode {
        let mut steps = Vec::new();
        answered(&tree.children, &mut steps);
        let task = report.criteria.as_ref().and_then(|criteria| criteria.task.clone());
        let transcript = Transcript { run_id: report.run_id, task, steps };
        if self.json {
            return print_json(&transcript);
        }
        let mut lines = Vec::new();
        if let Some(task) = &transcript.task {
            lines.push("── asked".to_owned());
            lines.extend(text::lines(task));
            lines.push(String::new());
        }
        for step in &transcript.steps {
            let mut head = format!("── {}", step.path);
            for part in [step.model.as_deref().map(text::line), step.spend.map(|spend| spend.to_string())] {
                head.extend(part.map(|part| format!("  {part}")));
            }
            head.extend(step.duration_ms.map(|millis| format!("  {}", text::duration(millis))));
            if step.attempts > 1 {
                head.push_str(&format!("  {} attempts", step.attempts));
            }
            lines.push(head);
            match &step.answer {
                Value::String(words) => lines.extend(text::lines(words)),
                value => lines.extend(text::lines(&serde_json::to_string_pretty(value).unwrap_or_default())),
            }
            lines.push(String::new());
        }
        print(lines.join("\n").trim_end())
    }
}

/// Says that a run has no such iteration.
pub(crate) fn no_iteration(report: &Report, n: u32) -> Trouble {
    if !report.refinements.is_empty() {
        return chosen::no_draft(report);
    }
    let has = match report.iterations.as_slice() {
        [] => "no draft was judged in it".to_owned(),
        [one] => format!("it has only iteration {}", one.n),
        [first, .., last] => format!("it has iterations {} to {}", first.n, last.n),
    };
    let message = format!("there is no judged draft of iteration {n}; {has}");
    Trouble::new(Exit::Usage, message).hint(format!("redraft show {}", text::short(report.run_id)))
}

/// Prints what has happened so far, without waiting for more.
pub(crate) async fn events(engine: &Engine, run: RunId) -> Result<Vec<String>, Trouble> {
    let count = engine.summary(run).await?.events;
    let mut events = engine.events(run, 0).await?;
    let mut lines = Vec::new();
    while u64::try_from(lines.len()).unwrap_or(u64::MAX) < count {
        let Some(event) = events.next().await? else { break };
        lines.push(super::json(&event)?);
    }
    Ok(lines)
}

async fn journal(engine: &Engine, run: RunId) -> Result<ExitCode, Trouble> {
    Ok(print(&events(engine, run).await?.join("\n")))
}

fn answered(nodes: &[Node], steps: &mut Vec<Answered>) {
    for node in nodes {
        if let NodeKind::Step { attempts, output: Some(output), .. } = &node.kind
            && node.name != "verdict"
            && node.name != "criteria"
        {
            let completion: Option<Completion> = serde_json::from_value(output.clone()).ok();
            steps.push(Answered {
                path: node.path.clone(),
                model: completion.as_ref().map(|completion| completion.model.clone()),
                attempts: attempts.len(),
                duration_ms: node.duration_ms,
                spend: node.spend,
                answer: match completion {
                    Some(completion) if completion.calls.is_empty() => Value::from(completion.text),
                    _ => output.clone(),
                },
            });
        }
        answered(&node.children, steps);
    }
}

fn whole(report: &Report, tree: &Tree, look: Look) -> Vec<String> {
    let mut lines = draw::tree(tree, report, look);
    let palette = look.palette;
    if let Some(best) = &report.best {
        lines.push(String::new());
        let title = format!("best draft: iteration {}, score {:.2}", best.iteration, best.score);
        lines.push(palette.bold(&text::cut(&title, look.columns)));
        let shown: Vec<String> = text::lines(&best.text).collect();
        let rows = shown.iter().flat_map(|line| text::wrap(line, look.columns.saturating_sub(2)));
        let rows: Vec<String> = rows.collect();
        lines.extend(rows.iter().take(HEAD_LINES).map(|row| format!("  {row}").trim_end().to_owned()));
        if rows.len() > HEAD_LINES {
            lines.push(palette.dim(&format!("  … {} more", text::count(rows.len() - HEAD_LINES, "line"))));
        }
        if let Some(iteration) = report.iteration(best.iteration).filter(|it| !it.findings.is_empty()) {
            lines.push(String::new());
            lines.push(palette.bold("findings"));
            let found = iteration.findings.iter().map(|finding| (finding.status, finding));
            lines.extend(findings::rows(found, palette, look.columns));
        }
    }
    if !report.refinements.is_empty() {
        lines.push(String::new());
        lines.push(palette.bold("refinements"));
    }
    for refinement in &report.refinements {
        let best = refinement.best.as_ref();
        let best = best.map_or("no draft yet".to_owned(), |it| {
            format!("best {:.2}, iteration {}", it.score, it.iteration)
        });
        let stop = refinement.stop.map_or("under way".to_owned(), ending::word);
        lines.push(text::cut(&format!("  --at {}  {best}, {stop}", refinement.path), look.columns));
    }
    lines.push(String::new());
    let stop = report.stop.map(|stop| format!("{}: ", ending::word(stop))).unwrap_or_default();
    let why = format!("{stop}{}", ending::words(report));
    lines.extend(text::wrap(&why, look.columns));
    for gate in &report.gates {
        let question = text::line(gate.question.lines().next().unwrap_or_default());
        let asked = format!("◔ {} asks: {question} ({})", gate.gate, gate.options.join(", "));
        lines.extend(text::wrap(&asked, look.columns));
    }
    for warning in &report.warnings {
        lines.extend(text::wrap(&format!("warning: {}", text::line(warning)), look.columns));
    }
    lines
}

/// Says to standard error what to type next.
pub(crate) fn next(report: &Report) {
    for (command, reason) in ending::next(report) {
        say(&format!("  next: {command}   ({reason})"));
    }
}
