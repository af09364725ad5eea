//! The time of one durable step when nothing else is under way, against the bare disk.
//!
//! Steps and bare writes take turns in blocks, so that both see the same disk.

use redraft::{Ctx, Engine, Failure, flow};
use serde_json::json;

use super::{Bench, Line, block_on, disk, median, now, rounded};

const BLOCKS: usize = 10;

pub(crate) fn measure(bench: &Bench, steps: usize) -> Line {
    block_on(async {
        let per_block = (steps / BLOCKS).max(1);
        let timed = flow("timed", move |ctx: Ctx, ()| async move {
            let mut times = Vec::with_capacity(per_block);
            for _ in 0..per_block {
                let step = now();
                ctx.step("step", || async { Ok::<_, Failure>("x".repeat(1024)) }).await?;
                times.push(step.elapsed().as_secs_f64() * 1e6);
            }
            Ok::<_, Failure>(times)
        });
        let engine = Engine::on(bench.store()?).workflow(timed.clone()).open().await?;
        let mut ours = Vec::new();
        let mut disks = Vec::new();
        for _ in 0..BLOCKS {
            disks.push(disk::measure(bench.folder(), per_block)?.us_p50);
            ours.extend(engine.start(&timed, ()).await?.outcome().await?.into_output()?);
        }
        let (ours, raw) = (median(&mut ours), median(&mut disks));
        Ok(json!({
            "bench": "latency",
            "steps": per_block * BLOCKS,
            "step_us_p50": rounded(ours, 1),
            "fdatasync_us_p50": rounded(raw, 1),
            "ratio": rounded(ours / raw, 3),
            "durability": engine.durability(),
        }))
    })
}
