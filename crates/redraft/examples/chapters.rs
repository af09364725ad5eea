//! A book whose chapters are refined side by side, each in a loop of its own, under one budget for all.
//!
//! Run it with `cargo run --example chapters`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::llm::{Allowance, PriceTable, Scripted};
use redraft::refine::{Limits, Refine};
use redraft::store::MemoryStore;
use redraft::verify::Text;
use redraft::verify::text::Bounds;
use redraft::{Ctx, Engine, Failure, flow};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each draft is a sentence longer than the one before.
    let author = Scripted::by("author", |request, _| {
        let asked = serde_json::to_string(&request.messages).unwrap_or_default();
        let sentences = asked.matches("The tide turns.").count();
        "The tide turns. ".repeat(sentences + 1).into()
    });
    let chapter = Refine::new("chapter", author)
        .task("Write the chapter “{{ title }}”.")?
        .verify("length", Text::rules().sentences(Bounds::min(3)).compile()?)
        .limits(Limits::iterations(4))
        .build()?;
    let book = flow("book", move |ctx: Ctx, titles: Vec<String>| {
        let chapter = chapter.clone();
        async move {
            let budget = ctx.budget(Allowance { calls: Some(20), ..Allowance::default() });
            let paid = ctx.paying(budget, PriceTable::builtin());
            let chapter = &chapter;
            let written = paid
                .parallel("chapters", titles, 2, |ctx, title| async move {
                    let refined = chapter.run_in(&ctx, &json!({ "title": title })).await?;
                    let best = refined.best.ok_or("no draft was judged")?;
                    Ok(format!("# {title}\n\n{}", best.text))
                })
                .await;
            Failure::gather(written)
        }
    });

    let engine = Engine::on(MemoryStore::new()).workflow(book.clone()).open().await?;
    let titles = ["Springs", "Neaps", "Storms"].map(str::to_owned).to_vec();
    let run = engine.start(&book, titles).await?;
    let chapters = run.outcome().await?.into_output()?;
    println!("{}\n\n{}", engine.tree(run.run()).await?, chapters.join("\n\n"));
    assert_eq!(chapters.len(), 3);
    assert!(chapters.iter().all(|chapter| chapter.matches("The tide turns.").count() == 3));
    Ok(())
}
