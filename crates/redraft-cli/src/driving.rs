//! Seeing one run through: showing it, stopping it when asked, and handing over what came of it. Every command that
//! starts or takes up a run ends here.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use redraft::refine::Refined;
use redraft::spec::SpecInput;
use redraft::{Engine, Outcome, RunHandle, RunId, Status};
use serde_json::{Value, json};

use crate::ended::Ended;
use crate::github;
use crate::interrupt::Interrupt;
use crate::live::{Facts, Style, View, say};
use crate::makers::Machine;
use crate::report::Report;
use crate::settings::Settings;
use crate::terminal::{one_line, tame};
use crate::trouble::{Exit, Trouble};
use crate::work::Work;

/// How a run is shown and handed over.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Manner {
    /// Prints one JSON object at the end instead of the draft
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Prints every event as a line of JSON as it happens, and the result as the last one
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Shows nothing but what goes wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Shows what models say while they say it
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) stream: bool,
    /// Writes a report besides: junit=PATH
    #[arg(long, value_name = "FORMAT=PATH")]
    pub(crate) report: Vec<Report>,
}

/// What it takes to see a run through.
pub(crate) struct Driving<'a> {
    settings: &'a Settings,
    manner: &'a Manner,
    view: View,
    interrupt: Interrupt,
}

impl<'a> Driving<'a> {
    /// Makes ready. Must be called inside the runtime.
    pub(crate) fn new(settings: &'a Settings, manner: &'a Manner) -> Self {
        let view = View::new(settings, manner.quiet, manner.stream);
        Self { settings, manner, view, interrupt: Interrupt::listen() }
    }

    /// Returns the workflow of the specs called `name`.
    pub(crate) fn work(&self, name: &str) -> Work {
        Work::new(name, Machine::new(self.settings), self.view.audience())
    }

    /// Opens an engine that runs specs of this name and leaves every other run alone.
    pub(crate) async fn open(&self, work: &Work) -> Result<Engine, Trouble> {
        Ok(self.settings.engine()?.workflow(work.clone()).without_resuming().open().await?)
    }

    /// Follows a run to where it can go no further, and hands over what came of it. The first `history` events were there
    /// before: they are shown as what is not paid for now.
    pub(crate) async fn see_through(
        &self,
        engine: &Engine,
        handle: &RunHandle<Value>,
        input: &SpecInput,
        history: u64,
    ) -> Result<ExitCode, Trouble> {
        let run = handle.run();
        if self.view.style == Style::Plain {
            say(&self.view.palette.dim(&format!("{}  {run}", one_line(&input.spec.name))));
        }
        let following = self.view.follow(engine, run, Facts::of(input), history);
        let printing = self.manner.jsonl.then(|| tokio::spawn(print_events(engine.clone(), run)));
        let settled = tokio::select! {
            settled = settled(engine, handle) => Some(settled),
            () = self.interrupt.asked() => None,
        };
        let Some(settled) = settled else {
            engine.shut_down().await;
            following.finish().await;
            if let Some(printing) = printing {
                printing.abort();
            }
            say(&format!("stopped; nothing is lost. Continue with: redraft resume {run}"));
            return Ok(Exit::Interrupted.into());
        };
        following.finish().await;
        if let Some(printing) = printing {
            // A run that waits has no last event to wait for.
            if settled.as_ref().is_ok_and(|outcome| outcome.status().is_final()) {
                let _ = printing.await;
            } else {
                printing.abort();
            }
        }
        let outcome: Outcome<Value> = settled?;
        let ended = Ended::of(engine, &outcome).await?;
        engine.shut_down().await;
        self.hand_over(&ended, input)
    }

    /// Hands over what came of a run: the draft or the object to standard output, the rest elsewhere.
    fn hand_over(&self, ended: &Ended, input: &SpecInput) -> Result<ExitCode, Trouble> {
        if let (Some(output), Some(draft)) = (&input.spec.output, ended.draft()) {
            write_whole(Path::new(&output.file), draft)?;
        }
        for report in &self.manner.report {
            report.write(std::slice::from_ref(ended))?;
        }
        github::tell(std::slice::from_ref(ended));
        self.explain(ended);
        let mut out = std::io::stdout().lock();
        let written = match (self.manner.json, self.manner.jsonl, ended.draft()) {
            (true, ..) => writeln!(out, "{}", ended.json()),
            (false, true, _) => {
                let mut last = json!({ "type": "result" });
                if let (Some(last), Value::Object(object)) = (last.as_object_mut(), ended.json()) {
                    last.extend(object);
                }
                writeln!(out, "{last}")
            }
            (false, false, Some(draft)) => {
                let ends = if draft.ends_with('\n') { "" } else { "\n" };
                // Byte for byte into files and pipes; a terminal is no place for control characters.
                let draft = if out.is_terminal() { tame(draft) } else { draft.into() };
                write!(out, "{draft}{ends}")
            }
            (false, false, None) => Ok(()),
        };
        // Whoever read us has gone away; there is nobody left to tell.
        let _ = written.and_then(|()| out.flush());
        Ok(ended.exit().into())
    }

    /// Says to people why it is not what they hoped for, and what to type next.
    fn explain(&self, ended: &Ended) {
        let quiet = self.view.style == Style::Quiet;
        for warning in ended.warnings.iter().filter(|_| !quiet) {
            say(&self.view.palette.dim(&format!("note: {}", one_line(warning))));
        }
        let run = ended.run;
        match ended.status {
            Status::Failed => {
                if let Some(failure) = ended.failure.clone() {
                    let trouble = Trouble::from(failure);
                    let next = trouble.hint.clone().unwrap_or_else(|| format!("redraft resume {run}"));
                    let _ = trouble.hint(next).report();
                    if !quiet {
                        say(&format!("  what is done is kept: redraft resume {run}"));
                    }
                }
            }
            Status::Waiting => {
                for gate in &ended.gates {
                    say(&format!("◔ waiting for you at `{}`:", gate.gate));
                    for line in gate.question.lines() {
                        say(&format!("  │ {}", tame(line)));
                    }
                    say(&format!("  it offers {}", gate.options.join(", ")));
                }
                say(&format!("  next: redraft approve {run}, redraft reject {run} or redraft edit {run}"));
            }
            Status::Exhausted if !quiet => {
                let stop =
                    ended.stop.map(|stop| json!(stop)).and_then(|stop| stop.as_str().map(str::to_owned));
                let stop = stop.unwrap_or_default().replace('_', " ");
                let why = ended.failure.as_ref().map(|why| format!(": {}", one_line(&why.message)));
                say(&format!("△ not accepted; {stop}{}", why.unwrap_or_default()));
                if let Some(flag) = what_to_raise(ended) {
                    say(&format!("  next: redraft resume {run} {flag}"));
                }
            }
            Status::Cancelled => say("⊘ cancelled"),
            Status::Accepted if !quiet => {
                say(&self.view.palette.dim(&format!("  next: redraft show {run}, redraft diff {run}")));
            }
            _ => {}
        }
    }
}

/// Waits until a run can go no further. An answer may lie in the store for a run that was just taken up; it is given the
/// time to be read.
async fn settled(engine: &Engine, handle: &RunHandle<Value>) -> Result<Outcome<Value>, redraft::Error> {
    loop {
        let outcome = handle.settled().await?;
        if outcome.status() != Status::Waiting {
            return Ok(outcome);
        }
        let seen = engine.summary(handle.run()).await?.events;
        let mut events = engine.events(handle.run(), seen).await?;
        if tokio::time::timeout(MAIL_TIME, events.next()).await.is_err() {
            return Ok(outcome);
        }
    }
}

/// How long an answer that lies in the store may take to be read.
const MAIL_TIME: Duration = Duration::from_millis(300);

/// Returns the flag that lets an exhausted run go on.
pub(crate) fn what_to_raise(ended: &Ended) -> Option<String> {
    use redraft::Stop;
    match ended.stop? {
        Stop::IterationsSpent => Some(format!("--max-iterations {}", ended.iterations.len().max(1) * 2)),
        Stop::BudgetSpent => Some("--max-cost AMOUNT".to_owned()),
        Stop::TimeSpent => Some("--max-time TIME".to_owned()),
        _ => None,
    }
}

/// Prints events as they are written, until the run ends.
async fn print_events(engine: Engine, run: RunId) {
    let Ok(mut events) = engine.events(run, 0).await else { return };
    while let Ok(Some(event)) = events.next().await {
        let Ok(line) = serde_json::to_string(&event) else { continue };
        if writeln!(std::io::stdout(), "{line}").is_err() {
            return;
        }
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Trouble> {
    let trouble = |error: std::io::Error| {
        Trouble::new(Exit::Configuration, format!("`{}` cannot be written: {error}", path.display()))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(trouble)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.{}", RunId::new()));
    let ends = if text.ends_with('\n') { "" } else { "\n" };
    let written =
        std::fs::write(&beside, format!("{text}{ends}")).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        trouble(error)
    })
}

/// Reads what a run was started with. Runs of programs that use the library themselves are none of ours.
pub(crate) fn input_of(run: RunId, input: &Value) -> Result<SpecInput, Trouble> {
    serde_json::from_value(input.clone()).map_err(|_| {
        Trouble::new(
            Exit::Usage,
            format!("`{run}` was not made from a spec, so this command cannot drive it"),
        )
        .hint("take it up with the program that started it")
    })
}

/// Handles are typed where a run starts; here they are not.
pub(crate) fn untyped(handle: RunHandle<Refined>) -> RunHandle<Value> {
    handle.typed()
}
