//! Memory and wall time of many runs that all wait on a slow model: one second per step.

use std::time::Duration;

use redraft::{Ctx, Engine, Failure, flow};
use serde_json::json;

use super::{Bench, Line, block_on, disk, now, rounded};

pub(crate) fn measure(bench: &Bench, runs: usize, steps: u32) -> Line {
    let raw = disk::measure(bench.folder(), 1000)?;
    block_on(async {
        let slow = flow("slow", |ctx: Ctx, steps: u32| async move {
            for _ in 0..steps {
                ctx.step("ask", || async {
                    ask().await;
                    Ok::<_, Failure>("x".repeat(1024))
                })
                .await?;
            }
            Ok::<_, Failure>(())
        });
        let engine = Engine::on(bench.store()?).workflow(slow.clone()).open().await?;
        let begun = now();
        let mut starting = Vec::with_capacity(runs);
        for _ in 0..runs {
            let (engine, slow) = (engine.clone(), slow.clone());
            starting.push(tokio::spawn(async move { engine.start(&slow, steps).await }));
        }
        let mut handles = Vec::with_capacity(runs);
        for starting in starting {
            handles.push(starting.await??);
        }
        for handle in handles {
            handle.outcome().await?.into_output()?;
        }
        let wall = begun.elapsed().as_secs_f64();
        Ok(json!({
            "bench": "waiting",
            "runs": runs,
            "steps_each": steps,
            "rss_mib": rounded(peak_rss_mib()?, 1),
            "wall_s": rounded(wall, 2),
            "wall_over_ideal": rounded(wall / f64::from(steps), 3),
            "fdatasync_per_s": raw.per_s,
            "durability": engine.durability(),
        }))
    })
}

#[expect(clippy::disallowed_methods, reason = "it plays a model that takes a second")]
async fn ask() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The most memory this process has had resident, as Linux tells it.
fn peak_rss_mib() -> Result<f64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|_| "this measurement needs /proc/self/status, which only Linux has")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    Ok(kib / 1024.0)
}
