//! The main job in small: draft, critique, revise until it is good enough, on a real file.
//!
//! Run it with `cargo run --example essay`. Kill it in the middle (Ctrl+C, or `kill -9`) and run it again: it goes on
//! at the step it was at, and nothing that was done is done again. The critic here is a rule, not a model: a sentence
//! may have at most twelve words.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::time::Duration;

use redraft::store::{Query, SqliteStore};
use redraft::workflow::{State, Workflow};
use redraft::{Engine, Failure, Status};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    topic: String,
    draft: String,
    score: f64,
    #[state(append)]
    critiques: Vec<String>,
}

async fn draft(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
    think().await;
    Ok(Essay::update().draft(format!(
        "The moon pulls at the water below it, the water rises towards the moon, and we on the shore call that the {}. \
         Sailors knew.",
        essay.topic
    )))
}

async fn critique(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
    think().await;
    let sentences: Vec<&str> = essay.draft.split_inclusive(". ").collect();
    let long = sentences.iter().find(|sentence| sentence.split_whitespace().count() > 12);
    let good = sentences.iter().filter(|sentence| sentence.split_whitespace().count() <= 12).count();
    let update = Essay::update().score(good as f64 / sentences.len() as f64);
    Ok(match long {
        Some(sentence) => update.append_critiques(sentence.trim().to_owned()),
        None => update,
    })
}

async fn revise(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
    think().await;
    let long = essay.critiques.last().ok_or("there is nothing to revise")?;
    let (first, second) = long.split_once(", ").ok_or("the sentence cannot be split")?;
    let (head, tail) = second.split_at(1);
    let split = format!("{first}. {}{tail}", head.to_uppercase());
    Ok(Essay::update().draft(essay.draft.replace(long.as_str(), &split)))
}

/// Stands for a model that takes its time.
#[expect(clippy::disallowed_methods, reason = "the time it takes is real")]
async fn think() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workflow = Workflow::<Essay>::named("essay")
        .start_with("draft", draft)
        .repeat_until(
            "refinement",
            5,
            |essay| essay.score >= 1.0,
            |body| {
                // The exit stands between critique and revise: what comes out has been judged.
                body.then("critique", critique)
                    .exit_when("good-enough", |essay| essay.score >= 1.0)
                    .then("revise", revise)
            },
        )
        .build()?;

    let store = SqliteStore::open(".redraft/essay.db")?;
    let engine = Engine::on(store).workflow(workflow.clone()).open().await?;

    // Opening the engine has taken up what an earlier life left unfinished.
    let unfinished = Query { status: vec![Status::Queued, Status::Running], ..Query::default() };
    let run = match engine.list(unfinished).await?.first() {
        Some(head) => {
            println!("going on with {}, from its journal", head.run);
            engine.handle(head.run).await?.typed::<Essay>()
        }
        None => {
            let essay =
                Essay { topic: "tide".to_owned(), draft: String::new(), score: 0.0, critiques: Vec::new() };
            let run = engine.start(&workflow, essay).await?;
            println!("started {}; kill me and run me again", run.run());
            run
        }
    };

    let mut events = engine.events(run.run(), 0).await?;
    while let Some(event) = events.next().await? {
        if let Some(path) = event.path.filter(|_| event.kind.starts_with("step")) {
            println!("{:>4}  {:<16} {path}", event.seq, event.kind);
        }
    }
    let essay = run.outcome().await?.into_output()?;
    println!("\n{}\n\n{}", engine.tree(run.run()).await?, essay.draft);
    Ok(())
}
