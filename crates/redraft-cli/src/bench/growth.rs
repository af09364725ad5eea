//! Whether a long loop gets slower or fatter: the last hundred iterations against the first hundred.
//!
//! A typed workflow whose state carries a history that grows with every iteration, as a refinement's does.

use std::sync::{Arc, Mutex, PoisonError};

use redraft::workflow::{State, Workflow};
use redraft::{Engine, Failure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Bench, Line, block_on, disk, now, rounded};

#[derive(Clone, Default, Serialize, Deserialize, State)]
struct Growing {
    draft: String,
    #[state(append)]
    critiques: Vec<String>,
}

pub(crate) fn measure(bench: &Bench, iterations: u32) -> Line {
    let raw = disk::measure(bench.folder(), 1000)?;
    let span = (iterations as usize / 10).clamp(1, 100);
    block_on(async {
        let begun = now();
        let ends: Arc<Mutex<Vec<f64>>> = Arc::default();
        let clock = Arc::clone(&ends);
        let workflow = Workflow::<Growing>::named("growing")
            .repeat_until(
                "refinement",
                iterations,
                |_| false,
                |body| {
                    body.then("critique", |_: Arc<Growing>| async {
                        Ok::<_, Failure>(Growing::update().append_critiques("c".repeat(1024)))
                    })
                    .then("revise", move |_: Arc<Growing>| {
                        clock
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(begun.elapsed().as_secs_f64());
                        async { Ok::<_, Failure>(Growing::update().draft("d".repeat(1024))) }
                    })
                },
            )
            .build()?;
        let engine = Engine::on(bench.store()?).workflow(workflow.clone()).open().await?;
        let handle = engine.start(&workflow, Growing::default()).await?;
        let run = handle.run();
        handle.outcome().await?.into_output()?;
        let ends = ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let time = |from: usize| match (ends.get(from), ends.get(from + span - 1)) {
            (Some(from), Some(to)) => to - from,
            _ => f64::NAN,
        };
        let bytes = bytes_per_iteration(&engine, run, iterations).await?;
        let sum = |part: &[usize]| part.iter().sum::<usize>() as f64;
        let last = bytes.len().saturating_sub(span);
        Ok(json!({
            "bench": "growth",
            "iterations": iterations,
            "span": span,
            "time_ratio": rounded(time(ends.len().saturating_sub(span)) / time(0), 3),
            "bytes_ratio": rounded(sum(&bytes[last..]) / sum(&bytes[..span.min(bytes.len())]), 3),
            "fdatasync_per_s": raw.per_s,
            "durability": engine.durability(),
        }))
    })
}

/// Returns how many bytes of journal each iteration wrote.
async fn bytes_per_iteration(
    engine: &Engine,
    run: redraft::RunId,
    iterations: u32,
) -> Result<Vec<usize>, Box<dyn std::error::Error>> {
    let mut bytes = vec![0; iterations as usize];
    let mut events = engine.events(run, 0).await?;
    while let Some(event) = events.next().await? {
        let Some(path) = &event.path else { continue };
        let n: Option<usize> = path.as_str().split('/').nth(1).and_then(|n| n.parse().ok());
        if let Some(slot) = n.and_then(|n| bytes.get_mut(n - 1)) {
            *slot += serde_json::to_string(&event)?.len();
        }
    }
    Ok(bytes)
}
