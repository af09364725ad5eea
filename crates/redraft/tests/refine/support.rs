//! Models whose drafts say how good they are, and a rule that believes them.

use redraft::llm::{Message, Request, Scripted};
use redraft::refine::{Refine, Refined};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Finding, Rule, Verdict};
use redraft::{Engine, RunHandle};
use serde_json::json;

/// Believes what a draft says about itself: `0.6 …` is worth 0.6.
#[derive(Debug)]
pub(crate) struct SaysItself;

impl Rule for SaysItself {
    fn demand(&self) -> String {
        "worth as much as possible".to_owned()
    }

    fn check(&self, case: &Case) -> Verdict {
        let score: f64 = case.draft.split_whitespace().next().unwrap().parse().unwrap();
        Verdict::scored(score).finding(
            Finding::new("worth", format!("worth only {score}"))
                .about("worth")
                .severity(redraft::verify::Severity::Major),
        )
    }
}

/// A gate: the draft must hold a word.
#[derive(Debug)]
pub(crate) struct Holds(pub(crate) &'static str);

impl Rule for Holds {
    fn demand(&self) -> String {
        format!("it says “{}”", self.0)
    }

    fn check(&self, case: &Case) -> Verdict {
        let missing = !case.draft.contains(self.0);
        Verdict::of(missing.then(|| Finding::new("missing", format!("“{}” is missing", self.0))))
    }
}

pub(crate) fn refine(author: &Scripted) -> Refine {
    Refine::new("essay", author.clone()).verify("worth", SaysItself)
}

pub(crate) async fn start(refine: Refine) -> (Engine, RunHandle<Refined>) {
    let refine = refine.build().unwrap();
    let engine = Engine::on(MemoryStore::new()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, json!({ "task": "Write about tides." })).await.unwrap();
    (engine, run)
}

pub(crate) async fn run(refine: Refine) -> Refined {
    let (_engine, run) = start(refine).await;
    run.outcome().await.unwrap().into_output().unwrap()
}

/// What a model was asked, as one text.
pub(crate) fn words(request: &Request) -> String {
    let said: Vec<&str> = request
        .messages
        .iter()
        .map(|message| match message {
            Message::User { text } | Message::Assistant { text, .. } => text.as_str(),
            Message::ToolResult { output, .. } => output.as_str(),
        })
        .collect();
    said.join("\n")
}
