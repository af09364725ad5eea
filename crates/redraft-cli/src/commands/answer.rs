//! `redraft approve`, `redraft reject` and `redraft edit`: answers to a run that waits for a person. After an answer the
//! run goes on: whoever drives it is told; if nobody does, the command drives it itself.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use redraft::view::{Node, NodeKind, OpenGate, RunSummary};
use redraft::{Answer, Engine, RunId, store};
use serde_json::Value;

use super::block_on;
use crate::chosen;
use crate::driving::{Driving, Manner, input_of};
use crate::live::say;
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// What every answer is given to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct To {
    /// The run: its id, enough of it to be unique, or last
    run: String,
    /// The question, if the run asks several
    gate: Option<String>,
    /// What there is to say about it
    #[arg(long)]
    note: Option<String>,
    /// Leaves the answer and does not drive the run
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    manner: Manner,
}

/// Says yes: the draft is good enough.
#[derive(clap::Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    to: To,
}

/// Says no: the draft will not do.
#[derive(clap::Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    to: To,
}

/// Hands over a draft of one's own. It becomes the next draft of the run, and is judged like any other.
#[derive(clap::Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    to: To,
    /// The draft; without it, an editor opens with the one that is asked about
    #[arg(long)]
    file: Option<PathBuf>,
}

impl Approve {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(self.to.give(settings, "approve", |_, _| Ok(None)))
    }
}

impl Reject {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(self.to.give(settings, "reject", |_, _| Ok(None)))
    }
}

impl Edit {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        block_on(self.to.give(settings, "edit", |run, best| {
            let text = match &self.file {
                Some(path) => std::fs::read_to_string(path).map_err(|error| {
                    Trouble::new(Exit::Usage, format!("`{}` cannot be read: {error}", path.display()))
                })?,
                None => edited(run, best)?,
            };
            if text.trim().is_empty() {
                return Err(Trouble::new(Exit::Usage, "the draft is empty; nothing was answered"));
            }
            Ok(Some(text))
        }))
    }
}

impl To {
    async fn give(
        &self,
        settings: &Settings,
        choice: &str,
        draft: impl Fn(RunId, &str) -> Result<Option<String>, Trouble>,
    ) -> Result<ExitCode, Trouble> {
        let (looking, run) = chosen::open(settings, &self.run).await?;
        let summary = looking.summary(run).await?;
        let gate = self.gate(run, &summary.gates)?;
        let draft_now = asked_about(&looking.tree(run).await?.children, &gate.gate);
        let best = looking.report(run).await?.best.map(|best| best.text);
        let best = draft_now.or(best).unwrap_or_default();
        let mut answer = Answer::new(choice).by(who());
        if let Some(note) = &self.note {
            answer = answer.note(note);
        }
        if let Some(text) = draft(run, &best)? {
            answer = answer.value(Value::from(text));
        }
        // Checked and left in the store first: from now on the answer cannot be lost.
        looking.answer(run, gate.gate.as_str(), answer).await?;
        looking.shut_down().await;
        if self.no_wait {
            say(&format!("the answer is left for whoever drives {run}: redraft resume {run}"));
            return Ok(ExitCode::SUCCESS);
        }
        self.go_on(settings, run, &gate.gate, &summary).await
    }

    /// Drives the run, unless somebody else does.
    async fn go_on(
        &self,
        settings: &Settings,
        run: RunId,
        gate: &redraft::Path,
        summary: &RunSummary,
    ) -> Result<ExitCode, Trouble> {
        let input = input_of(run, &summary.input)?;
        let driving = Driving::new(settings, &self.manner);
        let engine: Engine = driving.open(&driving.work(&input.spec.name)).await?;
        match engine.resume(run).await {
            Ok(handle) => {
                answered(&engine, run, gate).await?;
                driving.see_through(&engine, &handle, &input, summary.events).await
            }
            Err(redraft::Error::Store(store::Error::Held { .. }) | redraft::Error::Ended { .. }) => {
                say(&format!("the process that drives {run} was told"));
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Finds the question that is answered.
    fn gate<'a>(&self, run: RunId, gates: &'a [OpenGate]) -> Result<&'a OpenGate, Trouble> {
        let named = |gate: &&OpenGate| {
            self.gate.as_deref().is_none_or(|name| gate.gate.as_str() == name || gate.gate.name() == name)
        };
        let meant: Vec<&OpenGate> = gates.iter().filter(named).collect();
        match (meant.as_slice(), gates) {
            ([gate], _) => Ok(gate),
            (_, []) => Err(Trouble::new(Exit::Usage, format!("`{run}` asks nothing"))
                .code("no-such-gate")
                .hint(format!("redraft show {run}"))),
            _ => {
                let names: Vec<String> = gates.iter().map(|gate| format!("`{}`", gate.gate)).collect();
                Err(Trouble::new(Exit::Usage, format!("say which question of `{run}` is answered"))
                    .code("no-such-gate")
                    .hint(format!("it asks {}", names.join(", "))))
            }
        }
    }
}

/// Waits until the letter with the answer has been read: before that the run looks as if it still waited.
async fn answered(engine: &Engine, run: RunId, gate: &redraft::Path) -> Result<(), Trouble> {
    let mut events = engine.events(run, 0).await?;
    while let Some(event) = events.next().await? {
        let closed = matches!(event.kind.as_str(), "gate_answered" | "gate_closed");
        if closed && event.path.as_ref() == Some(gate) {
            break;
        }
    }
    Ok(())
}

/// Finds the draft that a question is about: the last one that was written around it.
fn asked_about(nodes: &[Node], gate: &redraft::Path) -> Option<String> {
    let around = nodes.iter().find(|node| gate.is_inside(node.path.as_str()));
    let closer = around.and_then(|node| asked_about(&node.children, gate));
    closer.or_else(|| {
        nodes.iter().rev().find_map(|node| match &node.kind {
            NodeKind::Step { output: Some(output), .. }
                if matches!(node.name.as_str(), "draft" | "revise") =>
            {
                output["text"].as_str().map(str::to_owned)
            }
            _ => None,
        })
    })
}

/// Returns who sits here, as far as that is known.
pub(crate) fn who() -> String {
    let name = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    name("USER").or_else(|| name("USERNAME")).unwrap_or_else(|| "command line".to_owned())
}

/// Opens an editor with the best draft so far, and returns what was left in it.
fn edited(run: RunId, best: &str) -> Result<String, Trouble> {
    let variable = |name| std::env::var(name).ok().filter(|command| !command.trim().is_empty());
    let Some(editor) = variable("VISUAL").or_else(|| variable("EDITOR")) else {
        return Err(Trouble::new(Exit::Usage, "no editor is set").hint("--file FILE, or export EDITOR=…"));
    };
    let trouble = |what: &str, error: std::io::Error| Trouble::new(Exit::Usage, format!("{what}: {error}"));
    let path = std::env::temp_dir().join(format!("{run}.md"));
    std::fs::write(&path, best)
        .map_err(|error| trouble("the draft cannot be written for the editor", error))?;
    // An editor is often a command with flags, as `code --wait`.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&path).status();
    let text = std::fs::read_to_string(&path);
    let _ = std::fs::remove_file(&path);
    let status = status.map_err(|error| trouble(&format!("`{program}` cannot be started"), error))?;
    if !status.success() {
        return Err(Trouble::new(Exit::Usage, format!("`{program}` did not end well; nothing was answered")));
    }
    text.map_err(|error| trouble("the draft cannot be read back", error))
}
