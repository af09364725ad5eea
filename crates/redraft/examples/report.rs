//! A report that is critiqued on a scale from 1 to 10 and revised until it has 8, at most three times; then put into
//! three forms at once. Everything is written out by hand with a `Ctx`, so that the groups are called as you like.
//!
//! Run it with `cargo run --example report`. The models are scripted; put real ones in their place.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::llm::{Model, Prompts, Request, Scripted, ask, say};
use redraft::refine::{Format, in_formats};
use redraft::store::MemoryStore;
use redraft::{Ctx, Engine, Failure, flow};
use serde::{Deserialize, Serialize};

const MAX_ITERATIONS: u32 = 3;
const QUALITY_THRESHOLD: u8 = 8;

#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
struct Critique {
    /// From 1 to 10.
    score: u8,
    improvements: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Report {
    text: String,
    score: u8,
    html: String,
    summary: String,
}

async fn refine_report(
    ctx: &Ctx,
    topic: &str,
    author: &dyn Model,
    critic: &dyn Model,
) -> Result<(String, u8), Failure> {
    let first = Request::new(format!("Write a short report about {topic}."));
    let mut draft = say(ctx, "generate_initial_draft", author, &first).await?.text;
    let mut best = (String::new(), 0);
    for i in 1..=MAX_ITERATIONS {
        let group = ctx.group(&format!("refinement_{i}"));
        let request = Request::new(format!("Judge this report about {topic} from 1 to 10:\n{draft}"));
        let critique: Critique = ask(&group, "critique", critic, request, 3).await?;
        if critique.score > best.1 {
            best = (draft.clone(), critique.score);
        }
        // The last draft has been judged like the others: nothing unjudged leaves this loop.
        if best.1 >= QUALITY_THRESHOLD || i == MAX_ITERATIONS {
            break;
        }
        let wishes = critique.improvements.join("\n- ");
        let request = Request::new(format!(
            "Improve this report about {topic}.\nImprovements:\n- {wishes}\n\n{}",
            best.0
        ));
        draft = say(&group, "revise", author, &request).await?.text;
    }
    Ok(best)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let author = Scripted::new(
        "author",
        ["Tides happen.", "# Tides\n\nThe moon pulls the sea.", "The moon pulls the sea, twice a day."],
    );
    let critic = Scripted::new(
        "critic",
        [r#"{"score": 5, "improvements": ["say why"]}"#, r#"{"score": 8, "improvements": []}"#],
    );
    let pipeline = flow("report_pipeline", move |ctx: Ctx, topic: String| {
        let (author, critic) = (author.clone(), critic.clone());
        async move {
            let (text, score) = refine_report(&ctx, &topic, &author, &critic).await?;
            let forms = [Format::Html, Format::Summary];
            let mut made = in_formats(&ctx, &text, &forms, &author, &Prompts::builtin()).await?;
            let mut take = |format| made.remove(&format).unwrap_or_default();
            Ok::<_, Failure>(Report { html: take(Format::Html), summary: take(Format::Summary), text, score })
        }
    });

    let engine = Engine::on(MemoryStore::new()).workflow(pipeline.clone()).open().await?;
    let run = engine.start(&pipeline, "tides".to_owned()).await?;
    let report = run.outcome().await?.into_output()?;
    println!("{}", engine.tree(run.run()).await?);
    println!("\nscore {} of 10\n\n{}\n{}", report.score, report.html, report.summary);

    assert_eq!(report.score, 8);
    let tree = engine.tree(run.run()).await?;
    assert!(tree.find("refinement_1/revise").is_some() && tree.find("refinement_2/critique").is_some());
    assert!(tree.find("refinement_2/revise").is_none(), "good enough: nothing more is paid for");
    Ok(())
}
