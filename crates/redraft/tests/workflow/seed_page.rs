//! The refinement of the classic tutorial: state with critique and attempt histories, and nested chapters.

use std::sync::Arc;

use redraft::store::MemoryStore;
use redraft::workflow::{Action, State, Workflow};
use redraft::{Call, Engine, Failure};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, State)]
struct Refinement {
    topic: String,
    current_draft: Option<String>,
    quality_score: f64,
    iteration_count: u32,
    #[state(append)]
    critique_history: Vec<CritiqueResult>,
    #[state(append)]
    refinement_history: Vec<RefinementAttempt>,
    final_content: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CritiqueResult {
    score: f64,
    suggestions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RefinementAttempt {
    iteration: u32,
    before: String,
    after: String,
    changes_applied: Vec<String>,
}

/// Steps that hold something, as structs.
struct GenerateDraft {
    opening: &'static str,
}

impl Action<Refinement> for GenerateDraft {
    async fn run(&self, state: Arc<Refinement>, _: Call) -> Result<RefinementUpdate, Failure> {
        Ok(Refinement::update().current_draft(format!("{} {}", self.opening, state.topic)).iteration_count(0))
    }
}

struct Critique {
    scores: &'static [f64],
}

impl Action<Refinement> for Critique {
    async fn run(&self, state: Arc<Refinement>, _: Call) -> Result<RefinementUpdate, Failure> {
        let score = self.scores[state.critique_history.len()];
        let critique = CritiqueResult { score, suggestions: vec![format!("fix {score}")] };
        Ok(Refinement::update().quality_score(score).append_critique_history(critique))
    }
}

async fn refine(state: Arc<Refinement>) -> Result<RefinementUpdate, Failure> {
    let critique = state.critique_history.last().ok_or("nothing was criticised")?;
    let before = state.current_draft.clone().unwrap_or_default();
    let after = format!("{before}!");
    let attempt = RefinementAttempt {
        iteration: state.iteration_count + 1,
        before,
        after: after.clone(),
        changes_applied: critique.suggestions.clone(),
    };
    Ok(Refinement::update()
        .current_draft(after)
        .iteration_count(state.iteration_count + 1)
        .append_refinement_history(attempt))
}

async fn publish(state: Arc<Refinement>) -> Result<RefinementUpdate, Failure> {
    Ok(Refinement::update().final_content(state.current_draft.clone()))
}

fn workflow(scores: &'static [f64]) -> Workflow<Refinement> {
    Workflow::<Refinement>::named("iterative-refinement")
        .start_with("generate-draft", GenerateDraft { opening: "On" })
        .repeat_until(
            "refinement",
            5,
            |state| state.quality_score >= 0.9,
            |body| {
                body.then("critique", Critique { scores })
                    .exit_when("good-enough", |state| state.quality_score >= 0.9)
                    .then("refine", refine)
            },
        )
        .then("publish", publish)
        .build()
        .unwrap()
}

async fn run(workflow: &Workflow<Refinement>) -> Refinement {
    let engine = Engine::on(MemoryStore::new()).workflow(workflow.clone()).open().await.unwrap();
    let input = Refinement { topic: "tides".to_owned(), ..Refinement::default() };
    engine.start(workflow, input).await.unwrap().outcome().await.unwrap().into_output().unwrap()
}

#[tokio::test]
async fn histories_hold_one_entry_per_iteration_and_what_is_published_was_judged() {
    let end = run(&workflow(&[0.5, 0.7, 0.95])).await;
    let scores: Vec<f64> = end.critique_history.iter().map(|critique| critique.score).collect();
    assert_eq!(scores, [0.5, 0.7, 0.95]);
    let attempts: Vec<u32> = end.refinement_history.iter().map(|attempt| attempt.iteration).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(end.final_content.as_deref(), Some("On tides!!"));
}

#[tokio::test]
async fn the_cap_is_five_bodies_exactly() {
    let end = run(&workflow(&[0.1; 9])).await;
    assert_eq!((end.critique_history.len(), end.refinement_history.len()), (5, 5));
}

#[tokio::test]
async fn a_first_draft_that_is_good_enough_is_not_refined() {
    let end = run(&workflow(&[0.9])).await;
    assert_eq!((end.critique_history.len(), end.refinement_history.len()), (1, 0));
}

#[test]
fn phases_keep_the_hierarchy() {
    #[derive(Clone, Serialize, Deserialize, State)]
    struct Book {
        chapters: u32,
    }
    async fn step(_: Arc<Book>) -> Result<BookUpdate, Failure> {
        Ok(Book::update())
    }
    let book = Workflow::<Book>::named("book-writing")
        .repeat_until(
            "chapters",
            10,
            |book| book.chapters >= 5,
            |body| {
                body.then("generate-chapter", step).repeat_until(
                    "chapter-refinement",
                    3,
                    |_| true,
                    |inner| inner.then("critique", step).then("refine", step),
                )
            },
        )
        .build()
        .unwrap();
    let wanted = [
        "chapters/generate-chapter",
        "chapters/chapter-refinement/critique",
        "chapters/chapter-refinement/refine",
    ];
    assert_eq!(book.phases(), wanted);
}
