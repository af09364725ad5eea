//! Durable steps per second with many runs in flight: the work of a refinement loop without the model.
//!
//! A run is a draft, five times critique and revise, and a publication: twelve steps, each returning 1 KiB. As soon as
//! one ends, the next is started.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use redraft::{Ctx, Engine, Failure, flow};
use serde_json::json;

use super::{Bench, Line, block_on, disk, now, rounded};

const DRAFT_BYTES: usize = 1024;

pub(crate) fn measure(bench: &Bench, runs: usize, seconds: f64) -> Line {
    let raw = disk::measure(bench.folder(), 2000)?;
    block_on(async {
        let done = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&done);
        let essay = flow("essay", move |ctx: Ctx, ()| {
            let counter = Arc::clone(&counter);
            async move { refine(&ctx, &counter).await }
        });
        let engine = Engine::on(bench.store()?).workflow(essay.clone()).open().await?;
        let over = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::with_capacity(runs);
        let begun = now();
        for _ in 0..runs {
            let (engine, essay, over) = (engine.clone(), essay.clone(), Arc::clone(&over));
            tasks.push(tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    engine.start(&essay, ()).await?.outcome().await?;
                }
                Ok::<_, redraft::Error>(())
            }));
        }
        // A warm-up fills the pipeline before we look at the counter.
        sleep(seconds * 0.2).await;
        let (from, at) = (done.load(Ordering::Relaxed), now());
        sleep(seconds).await;
        let steps = done.load(Ordering::Relaxed) - from;
        let per_s = steps as f64 / at.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await??;
        }
        Ok(json!({
            "bench": "steps",
            "runs": runs,
            "output_bytes": DRAFT_BYTES,
            "seconds": rounded(begun.elapsed().as_secs_f64(), 2),
            "steps_per_s": rounded(per_s, 0),
            "durability": engine.durability(),
            "fdatasync_per_s": raw.per_s,
            "steps_per_fdatasync": rounded(per_s / raw.per_s, 2),
        }))
    })
}

async fn refine(ctx: &Ctx, done: &AtomicU64) -> Result<usize, Failure> {
    let step = |ctx: &Ctx, name: &'static str| {
        let ctx = ctx.clone();
        async move {
            let draft = ctx.step(name, || async { Ok::<_, Failure>("x".repeat(DRAFT_BYTES)) }).await;
            done.fetch_add(1, Ordering::Relaxed);
            draft
        }
    };
    let mut draft = step(ctx, "draft").await?;
    let refinement = ctx.group("refinement");
    for n in 1..=5 {
        let round = refinement.iteration(n);
        step(&round, "critique").await?;
        draft = step(&round, "revise").await?;
    }
    step(ctx, "publish").await?;
    Ok(draft.len())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn sleep(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}
