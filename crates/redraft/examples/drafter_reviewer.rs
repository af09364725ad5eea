//! A drafter and a reviewer who talk until the reviewer approves. Three rules are checked by program, not by the
//! reviewer: exactly three sentences, at most twelve words in the first, a number at the end.
//!
//! Run it with `cargo run --example drafter_reviewer`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::llm::{Scripted, Turn};
use redraft::refine::protocol::feedback_loop::{Agent, FeedbackLoop};
use redraft::store::MemoryStore;
use redraft::verify::Text;
use redraft::verify::text::{Bounds, LastToken};
use redraft::{Engine, Stop};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let drafter = Scripted::new(
        "drafter",
        [
            "Distributed systems are hard because they take away what you lean on. Networks fail, clocks drift, machines \
             crash. It looks easy on a whiteboard and is difficult in production.",
            "Distributed systems are hard because nodes fail apart. Networks fail, clocks drift, machines crash. Teams \
             lose a good part of their time to it, often more than 30%.",
        ],
    );
    let reviewer = Scripted::new(
        "reviewer",
        [
            Turn::text("Please end the last sentence on a number."),
            Turn::text("APPROVED: all three rules hold.")
                .and_call("approve", json!({ "reason": "all rules hold" })),
        ],
    );
    let rules = Text::rules()
        .sentences(Bounds::exactly(3))
        .first_sentence_words(Bounds::max(12))
        .last_token(LastToken::Number)
        .compile()?;
    let talk = FeedbackLoop::new(
        "blog-opening",
        "Topic: write the opening paragraph of a blog post explaining {{ topic }}.",
        Agent::model("drafter", drafter, "You write the paragraph, and nothing else."),
        Agent::model("reviewer", reviewer, "You review. Approve with the tool, or say what to change."),
    )?
    .verify("rules", rules)
    .max_turns(10)
    .build()?;

    let engine = Engine::on(MemoryStore::new()).workflow(talk.clone()).open().await?;
    let run = engine.start(&talk, json!({ "topic": "why distributed systems are hard" })).await?;
    let refined = run.outcome().await?.into_output()?;
    for said in &refined.transcript {
        if let Some(tool) = &said.called {
            println!("[tool] {tool}");
        }
        println!("{}: {}", said.speaker, said.text);
    }
    println!("closed: {}", refined.closed.as_deref().unwrap_or_default());
    assert_eq!((refined.stop, refined.closed.as_deref()), (Stop::Accepted, Some("approved")));
    assert!(!refined.iterations[0].accepted, "it does not end on a number");
    Ok(())
}
