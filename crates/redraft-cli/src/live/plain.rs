//! A line for each thing that matters, for logs and for programs that read along.

use std::collections::HashMap;

use redraft::llm::Spend;
use redraft::refine::Iteration;
use redraft::view::Event;
use redraft::{Engine, RunId, Timestamp};

use super::say;
use super::tree::seconds;
use crate::terminal::{Palette, one_line};

/// Follows a run until it ends or somebody says stop; what was written by then is still shown.
pub(super) async fn follow(
    engine: &Engine,
    run: RunId,
    palette: Palette,
    history: u64,
    mut stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let Ok(mut events) = engine.events(run, 0).await else { return };
    let mut told = Told { palette, history, spent: HashMap::new(), began: HashMap::new() };
    let mut over = false;
    loop {
        let next = if over {
            // What is there is there at once; nobody waits for more.
            match tokio::time::timeout(std::time::Duration::from_millis(20), events.next()).await {
                Ok(next) => next,
                Err(_) => return,
            }
        } else {
            tokio::select! {
                biased;
                next = events.next() => next,
                _ = &mut stopped => {
                    over = true;
                    continue;
                }
            }
        };
        match next {
            Ok(Some(event)) => told.tell(&event),
            Ok(None) | Err(_) => return,
        }
    }
}

struct Told {
    palette: Palette,
    /// So many events were there before.
    history: u64,
    spent: HashMap<String, Spend>,
    began: HashMap<String, Timestamp>,
}

impl Told {
    fn tell(&mut self, event: &Event) {
        let path = event.path.as_ref().map(|path| path.as_str().to_owned()).unwrap_or_default();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
        self.began.entry(parent.clone()).or_insert(event.at);
        if let Some(spend) =
            event.details.get("spend").and_then(|spend| serde_json::from_value(spend.clone()).ok())
        {
            let mut scope = parent.as_str();
            loop {
                *self.spent.entry(scope.to_owned()).or_default() += spend;
                match scope.rsplit_once('/') {
                    Some((outer, _)) => scope = outer,
                    None if scope.is_empty() => break,
                    None => scope = "",
                }
            }
        }
        let text =
            |key: &str| one_line(event.details.get(key).and_then(|value| value.as_str()).unwrap_or_default());
        match event.kind.as_str() {
            "run_resumed" if event.seq > self.history => {
                say(&self.palette.dim("↺ taken up from its journal; what is done is not paid for again"))
            }
            "step_succeeded" if path.ends_with("verdict") => {
                let output = event.details.get("output").cloned().unwrap_or_default();
                if let Ok(iteration) = serde_json::from_value::<Iteration>(output) {
                    self.judged(&iteration, &parent, event);
                }
            }
            "step_failed" if event.seq > self.history => {
                let failure = event.details.get("failure");
                let message = failure.and_then(|failure| failure["message"].as_str()).unwrap_or_default();
                let again = if event.details.contains_key("retry_at") { "; trying again" } else { "" };
                say(&format!("{} {path}: {}{again}", self.palette.warn("!"), one_line(message)));
            }
            "note_written" if event.seq > self.history => {
                say(&self.palette.dim(&format!("  {}", text("text"))))
            }
            _ => {}
        }
    }

    fn judged(&self, iteration: &Iteration, scope: &str, event: &Event) {
        let at = event.at;
        if event.seq <= self.history {
            let line = format!("↺ iteration {}   score {:.2}", iteration.n, iteration.score);
            return say(&self.palette.dim(&line));
        }
        let sign = if iteration.accepted { self.palette.good("✓") } else { self.palette.warn("△") };
        let open = iteration.open().count();
        let findings = match open {
            0 => String::new(),
            1 => "   1 finding".to_owned(),
            count => format!("   {count} findings"),
        };
        let spent = self.spent.get(scope).map(|spend| format!("   {spend}")).unwrap_or_default();
        let began = self.began.get(scope).copied().unwrap_or(at);
        let time = seconds(u64::try_from(at.since(began).as_millis()).unwrap_or_default());
        say(&format!(
            "{sign} iteration {}   score {:.2}   {time}{spent}{findings}",
            iteration.n, iteration.score
        ));
        for finding in iteration.open() {
            say(&format!(
                "    {} {}: {}",
                self.palette.bad("✗"),
                finding.verifier,
                one_line(&finding.message)
            ));
        }
    }
}
