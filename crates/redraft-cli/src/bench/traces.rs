//! Recorded drafts, driven through the loop: how often the last draft passes, and how often what redraft returns does.
//!
//! A line of the file is a task with the drafts that some loop wrote for it, in order, and whether each passes:
//! `{"prompt", "rounds": [{"text", "passes"}, …]}`. The drafts are the script of the author; what they are worth is known
//! and not asked. So nothing but the loop is measured.

use std::collections::HashMap;
use std::path::Path;

use redraft::Engine;
use redraft::llm::Scripted;
use redraft::refine::{Batch, Limits, Refine, Tactic};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Finding, Rule, Verdict};
use serde::Deserialize;
use serde_json::json;

use super::{Line, block_on};

#[derive(Deserialize)]
struct Trace {
    prompt: String,
    rounds: Vec<Round>,
}

#[derive(Deserialize)]
struct Round {
    text: String,
    passes: bool,
}

/// Knows which drafts pass.
#[derive(Debug)]
struct Known(HashMap<String, bool>);

impl Rule for Known {
    fn demand(&self) -> String {
        "as the task says".to_owned()
    }

    fn check(&self, case: &Case) -> Verdict {
        let passes = self.0.get(&*case.draft).copied().unwrap_or(false);
        Verdict::of((!passes).then(|| Finding::new("recorded", "does not pass").about("recorded")))
    }
}

pub(crate) fn measure(file: &Path) -> Line {
    let text = std::fs::read_to_string(file)?;
    let traces = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect::<Result<Vec<Trace>, _>>()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    block_on(replay(&traces))
}

async fn replay(traces: &[Trace]) -> Line {
    let (mut last, mut best, mut made, mut recorded) = (0, 0, 0, 0);
    for trace in traces.iter().filter(|trace| !trace.rounds.is_empty()) {
        recorded += trace.rounds.len();
        last += usize::from(trace.rounds.last().is_some_and(|round| round.passes));
        let author = Scripted::new("recorded", trace.rounds.iter().map(|round| round.text.as_str()));
        let known = trace.rounds.iter().map(|round| (round.text.trim().to_owned(), round.passes)).collect();
        let refine = Refine::new("trace", author.clone())
            .verify("recorded", Known(known))
            // The recorded loop went on whatever came; so does this one.
            .on_stall([Tactic::Focus; 32])
            .limits(Limits::iterations(u32::try_from(trace.rounds.len()).unwrap_or(u32::MAX)))
            .build()?;
        let batch = Batch::of(refine, 1);
        let engine = Engine::on(MemoryStore::new()).workflow(batch.clone()).open().await?;
        let run = engine.start(&batch, vec![json!({ "task": trace.prompt })]).await?;
        let result = run.outcome().await?.into_output()?;
        best += result.accepted;
        made += author.asked().len();
    }
    let share = |count: usize| (count as f64 / traces.len().max(1) as f64 * 1000.0).round() / 1000.0;
    Ok(json!({
        "tasks": traces.len(),
        "last_passes": share(last),
        "redraft_passes": share(best),
        "drafts_recorded": recorded,
        "drafts_made": made,
    }))
}
