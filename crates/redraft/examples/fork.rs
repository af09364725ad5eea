//! Try the rest again: a fork keeps what was done before a step, for free, and does that step and what follows anew.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::store::MemoryStore;
use redraft::{Ctx, Engine, Failure, ForkAt, Path, flow};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = flow("report", |ctx: Ctx, topic: String| async move {
        let facts = ctx
            .step("research", || async {
                println!("  (research: dear)");
                Ok::<_, Failure>(format!("facts about {topic}"))
            })
            .await?;
        let tone = if ctx.random().await % 2 == 0 { "sober" } else { "lively" };
        ctx.step("write", || async {
            println!("  (write: cheap)");
            Ok::<_, Failure>(format!("a {tone} report from {facts}"))
        })
        .await
    });
    let engine = Engine::on(MemoryStore::new()).workflow(report.clone()).open().await?;
    let first = engine.start(&report, "tides".to_owned()).await?;
    println!("{}", first.outcome().await?.into_output()?);

    let at = ForkAt::Step(Path::new("random"));
    let plan = engine.plan_fork(first.run(), &at).await?;
    println!("keeps {:?}, does {:?} again", plan.keeps, plan.repeats);
    let second = engine.fork(first.run(), &at).await?;
    println!("{}\n{}", second.outcome().await?.into_output()?, engine.tree(second.run()).await?);
    Ok(())
}
