//! For every prefix of the journal of a refinement: resume, same outcome, no model asked twice. Alone, with candidates
//! side by side, with people, and inside other workflows.

use std::sync::Arc;

use redraft::llm::{Answering, Completion, Listener, Model, Request, say};
use redraft::refine::{Accept, Criterion, Limits, Oversight, Refine, Refined, Tactic};
use redraft::verify::{Case, Cost, Evidence, Verdict, Verifier, Verifying};
use redraft::{Ctx, Ending, Failure, flow};
use serde_json::{Value, json};

use crate::support::{Effects, Life, WhenFailed, crash_everywhere};

/// A model whose answer follows from what it is asked, and that counts each call where it was made.
#[derive(Clone)]
struct Counted {
    effects: Effects,
    answer: fn(&str, Option<u64>) -> String,
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counted")
    }
}

impl Model for Counted {
    fn name(&self) -> &str {
        "scripted:counted"
    }

    fn answer<'a>(&'a self, request: &'a Request, _: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move {
            // Something always happens between the beginning and the end of real work.
            tokio::task::yield_now().await;
            let key = request.idempotency_key.clone().unwrap();
            let (_, path) = key.split_once('/').unwrap();
            *self.effects.lock().unwrap().entry(path.to_owned()).or_default() += 1;
            let words = serde_json::to_string(&request.messages).unwrap();
            Ok(Completion::new(self.name(), (self.answer)(&words, request.seed)))
        })
    }
}

/// Each draft is better than the one it is made from: one moon more, or two.
fn one_more(words: &str, seed: Option<u64>) -> String {
    let stars = words.matches("moon").count();
    "moon ".repeat(stars + if seed == Some(2) { 2 } else { 1 })
}

/// A judge that asks a model twice before it counts the moons.
#[derive(Debug)]
struct Stars(Counted);

impl Verifier for Stars {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }
    fn cost(&self) -> Cost {
        Cost::Model
    }
    fn describe(&self) -> Value {
        json!("stars")
    }
    fn demand(&self) -> String {
        "bright".to_owned()
    }
    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            for name in ["look", "look-again"] {
                say(ctx, name, &self.0, &Request::new(format!("How many? {}", case.draft))).await?;
            }
            Ok(Verdict::scored(case.draft.matches("moon").count() as f64 / 10.0))
        })
    }
}

fn stars(effects: &Effects) -> Refine {
    let model = Counted { effects: Arc::clone(effects), answer: one_more };
    Refine::new("stars", model.clone())
        .criterion(Criterion::new("stars", Stars(model)))
        .accept(Accept::Score(0.4))
        .limits(Limits::iterations(6))
}

fn refined(life: &Life) -> Refined {
    match &life.ending {
        Ending::Done { output, .. } => serde_json::from_value(output.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn check(make: impl Fn(&Effects) -> Refine, wanted: impl Fn(&Refined)) {
    let input = json!({ "task": "Stars." });
    let (first, lives) =
        crash_everywhere(|effects| make(effects).build().unwrap(), input, WhenFailed::LeaveIt).await;
    wanted(&refined(&first));
    assert!(lives.len() > 10);
}

#[tokio::test]
async fn a_refinement_ends_the_same_after_a_crash_at_every_event() {
    check(stars, |refined| assert_eq!(refined.iterations.len(), 4)).await;
}

#[tokio::test]
async fn lessons_and_stalls_are_remembered() {
    let make = |effects: &Effects| {
        let model = Counted { effects: Arc::clone(effects), answer: |_, _| "moon moon".to_owned() };
        Refine::new("stars", model.clone())
            .criterion(Criterion::new("stars", Stars(model)))
            .lessons()
            .on_stall([Tactic::Focus, Tactic::FreshChain, Tactic::Stop])
            .limits(Limits::iterations(6))
    };
    check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Stalled)).await;
}

#[tokio::test]
async fn candidates_side_by_side_end_the_same() {
    // None passes: which of two that pass is the first is left to chance.
    let make = |effects: &Effects| {
        stars(effects).candidates(3).limits(Limits::iterations(3)).accept(Accept::Score(1.0))
    };
    check(make, |refined| assert_eq!(refined.best.as_ref().unwrap().score, 0.6)).await;
}

#[tokio::test]
async fn a_person_who_decided_is_not_asked_again() {
    let make = |effects: &Effects| {
        let mut oversight = Oversight::default();
        oversight.at_cap = true;
        stars(effects).limits(Limits::iterations(2)).oversight(oversight)
    };
    check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted)).await;
}

#[tokio::test]
async fn chapters_that_are_refined_side_by_side_inside_a_book_end_the_same() {
    let book = |effects: &Effects| {
        let refine = stars(effects).build().unwrap();
        flow("book", move |ctx: Ctx, chapters: Vec<String>| {
            let refine = refine.clone();
            async move {
                let refine = &refine;
                let all = ctx
                    .parallel("chapters", chapters, 2, |ctx, title| async move {
                        let input = json!({ "task": title });
                        Ok(refine.run_in(&ctx, &input).await?.best.unwrap().text)
                    })
                    .await;
                Failure::gather(all)
            }
        })
    };
    let chapters = vec!["One".to_owned(), "Two moon".to_owned()];
    let (first, _) = crash_everywhere(book, chapters, WhenFailed::LeaveIt).await;
    match &first.ending {
        Ending::Done { output, .. } => {
            assert_eq!(*output, json!(["moon moon moon moon", "moon moon moon moon"]))
        }
        other => panic!("{other:?}"),
    }
}
