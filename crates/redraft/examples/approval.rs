//! A person decides: a run waits at a gate, through restarts if need be, until somebody answers.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::store::MemoryStore;
use redraft::{Answer, Ctx, Engine, Failure, Question, flow};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let publish = flow("publish", |ctx: Ctx, text: String| async move {
        let question = Question::new(format!("Publish “{text}”?")).option("publish").option("hold back");
        let answer = ctx.gate("editor", question).await?;
        if answer.choice != "publish" {
            return Ok(format!("held back by {}: {}", answer.by, answer.note.unwrap_or_default()));
        }
        ctx.step("press", || async { Ok::<_, Failure>(format!("printed: {text}")) }).await
    });
    let store = MemoryStore::new();
    let engine = Engine::on(store.clone()).workflow(publish.clone()).open().await?;
    let run = engine.start(&publish, "The tides".to_owned()).await?;
    println!("{:?}", run.settled().await?.ending);

    // The process ends here. Another one opens the store, perhaps days later.
    drop(engine);
    let engine = Engine::on(store).workflow(publish).open().await?;
    for gate in engine.summary(run.run()).await?.gates {
        println!("{} {:?}", gate.question, gate.options);
    }
    engine.answer(run.run(), "editor", Answer::new("publish").by("ada").note("fine")).await?;
    let outcome = engine.handle(run.run()).await?.outcome().await?;
    println!("{}\n{}", outcome.into_output()?, engine.tree(run.run()).await?);
    Ok(())
}
