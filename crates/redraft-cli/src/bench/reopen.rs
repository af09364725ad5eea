//! How long it takes, from opening the file, until every unfinished run is being driven again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redraft::{Ctx, Engine, Failure, Flow, flow};
use serde_json::json;
use tokio::sync::Semaphore;

use super::{Bench, Line, block_on, disk, now, rounded};

const STEPS: usize = 4;

/// A run with some history that comes to a step which does not end; `arrived` counts those that have.
fn stuck(arrived: &Arc<AtomicU64>, all: &Arc<Semaphore>) -> Flow<(), ()> {
    let (arrived, all) = (Arc::clone(arrived), Arc::clone(all));
    flow("stuck", move |ctx: Ctx, ()| {
        let (arrived, all) = (Arc::clone(&arrived), Arc::clone(&all));
        async move {
            for _ in 0..STEPS {
                ctx.step("past", || async { Ok::<_, Failure>("x".repeat(1024)) }).await?;
            }
            ctx.step("present", || {
                arrived.fetch_add(1, Ordering::Relaxed);
                all.add_permits(1);
                std::future::pending::<Result<(), Failure>>()
            })
            .await
        }
    })
}

pub(crate) fn measure(bench: &Bench, runs: usize) -> Line {
    let raw = disk::measure(bench.folder(), 1000)?;
    let wanted = u32::try_from(runs)?;
    block_on(async {
        let (arrived, all) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(0)));
        let workflow = stuck(&arrived, &all);
        let engine = Engine::on(bench.store()?).workflow(workflow.clone()).open().await?;
        let mut starting = Vec::with_capacity(runs);
        for _ in 0..runs {
            let (engine, workflow) = (engine.clone(), workflow.clone());
            starting.push(tokio::spawn(async move { engine.start(&workflow, ()).await }));
        }
        for starting in starting {
            starting.await??;
        }
        all.acquire_many(wanted).await?.forget();
        drop(engine);
        Ok(())
    })?;
    block_on(async {
        let (arrived, all) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(0)));
        let begun = now();
        let engine = Engine::on(bench.store()?).workflow(stuck(&arrived, &all)).open().await?;
        all.acquire_many(wanted).await?.forget();
        let seconds = begun.elapsed().as_secs_f64();
        Ok(json!({
            "bench": "reopen",
            "runs": runs,
            "steps_each": STEPS,
            "seconds": rounded(seconds, 3),
            "driving": arrived.load(Ordering::Relaxed),
            "fdatasync_per_s": raw.per_s,
            "durability": engine.durability(),
        }))
    })
}
