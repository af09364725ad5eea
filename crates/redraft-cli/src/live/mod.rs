//! What people see of a run while it goes on, on standard error: a tree that is redrawn in place on a terminal, plain
//! lines elsewhere, nothing if they want quiet. `tree` says what is shown, `screen` puts it there, `plain` writes lines,
//! `heard` follows what models say. Nothing here decides anything about a run.

pub(crate) mod bar;
mod heard;
mod plain;
pub(crate) mod screen;
mod tree;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use redraft::llm::Audience;
use redraft::spec::{Acceptance, SpecInput};
use redraft::{Clock, Engine, RunId, SystemClock};

use self::heard::Heard;
use self::screen::Screen;
use crate::settings::Settings;
use crate::terminal::Palette;

/// How often the tree is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// What is shown beside the tree: what the run was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) accept: String,
    pub(crate) budget: Option<String>,
}

impl Facts {
    pub(crate) fn of(input: &SpecInput) -> Self {
        let accept = match &input.spec.accept {
            Acceptance::Score(least) => format!("accept ≥ {:.2}", least.score),
            Acceptance::When(expression) => format!("accept when {expression}"),
        };
        let budget = input.spec.limits.cost.as_ref();
        let budget = budget.map(|cost| format!("${}", cost.0.trim_start_matches('$')));
        Self { accept, budget }
    }
}

/// How much people want to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Nothing but what goes wrong.
    Quiet,
    /// A line for each thing that matters.
    Plain,
    /// A tree, redrawn in place.
    Tree,
}

impl Style {
    /// Decides by the wish and by where standard error leads. Whoever wants to read along gets lines: a tree would be
    /// drawn over the words.
    pub(crate) fn wanted(quiet: bool, stream: bool) -> Self {
        let set = |name| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
        };
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match (quiet, stream) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Plain,
            _ if std::io::stderr().is_terminal() && !set("CI") && !dumb => Self::Tree,
            _ => Self::Plain,
        }
    }
}

/// A view on one run.
pub(crate) struct View {
    pub(crate) style: Style,
    pub(crate) palette: Palette,
    heard: Arc<Heard>,
    stream: bool,
}

impl View {
    pub(crate) fn new(settings: &Settings, quiet: bool, stream: bool) -> Self {
        let style = Style::wanted(quiet, stream);
        let palette = Palette { colored: settings.color.wanted(&std::io::stderr()) };
        Self { style, palette, heard: Arc::new(Heard::new(stream)), stream }
    }

    /// Returns who hears what models say, if anybody does. Without one, models need not stream.
    pub(crate) fn audience(&self) -> Option<Arc<dyn Audience>> {
        (self.stream || self.style == Style::Tree).then(|| Arc::clone(&self.heard) as Arc<dyn Audience>)
    }

    /// Follows a run until it is told to stop, or the run ends.
    pub(crate) fn follow(&self, engine: &Engine, run: RunId, facts: Facts, history: u64) -> Following {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (engine, palette, heard) = (engine.clone(), self.palette, Arc::clone(&self.heard));
        let task = match self.style {
            Style::Quiet => None,
            Style::Plain => Some(tokio::spawn(async move {
                plain::follow(&engine, run, palette, history, stopped).await;
            })),
            Style::Tree => Some(tokio::spawn(async move {
                draw(&engine, run, &facts, palette, &heard, stopped).await;
            })),
        };
        Following { stop: Some(stop), task }
    }
}

/// A view at work.
pub(crate) struct Following {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Following {
    /// Lets it show what there is, and ends it.
    pub(crate) async fn finish(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

async fn draw(
    engine: &Engine,
    run: RunId,
    facts: &Facts,
    palette: Palette,
    heard: &Heard,
    mut stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let mut screen = Screen::new(palette);
    let mut tick = tokio::time::interval(DRAW_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let over = tokio::select! {
            biased;
            _ = &mut stopped => true,
            _ = tick.tick() => false,
        };
        // A journal that cannot be read is reported by whoever waits for the run.
        let Ok(tree) = engine.tree(run).await else { break };
        let now = SystemClock.now();
        let room = if over { usize::MAX } else { screen.height() };
        screen.draw(&tree::lines(&tree, facts, heard, now, room));
        if over {
            break;
        }
    }
    screen.leave();
}

/// Writes a line for people.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
