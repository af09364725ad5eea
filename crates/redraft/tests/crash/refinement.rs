//! For every prefix of the journal of a refinement: resume, same outcome, no model asked twice. Alone, with candidates
//! side by side, with people, and inside other workflows.

use std::sync::Arc;

use redraft::llm::{Answering, Completion, Listener, Model, Request, ToolCall, say};
use redraft::refine::protocol::chain_of_verification::chain_of_verification;
use redraft::refine::protocol::feedback_loop::{Agent, FeedbackLoop};
use redraft::refine::protocol::self_consistency::SelfConsistency;
use redraft::refine::protocol::stepwise::stepwise;
use redraft::refine::protocol::thought_revision::thought_revision;
use redraft::refine::{Accept, Batch, Criterion, Limits, Mode, Oversight, Refine, Refined, Tactic};
use redraft::verify::{Case, Cost, Evidence, Finding, Rule, Verdict, Verifier, Verifying};
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

/// Steps of a sum: the author's last step is wrong until it is told so.
fn sums(words: &str, _: Option<u64>) -> String {
    let asks = |what: &str| words.contains(what);
    if asks("Give the edits") {
        let edit = |search: &str, replace: &str| json!({ "search": search, "replace": replace });
        return json!({ "edits": [edit("two bad", "two"), edit("four bad", "four")] }).to_string();
    }
    if asks("<part>") {
        let part = words.split("<part>\\n").nth(1).unwrap().split("\\n</part>").next().unwrap();
        return part.replace(" bad", "").replace("\\n", "\n");
    }
    if asks("What was wrong with the next one") {
        return "2. two\n3. three\n4. four\nAnswer: 4".to_owned();
    }
    if asks("Answer with one line") || asks("<steps>") {
        return "Answer: 4".to_owned();
    }
    "1. one\n2. two bad\n3. three\n4. four bad\nAnswer: 5".to_owned()
}

/// A checker that finds every step that says it is bad; it asks a model before it looks.
fn faults(words: &str, _: Option<u64>) -> String {
    if words.contains("<step number") {
        let steps = words.split("<step number").skip(1).zip(1..);
        let bad = steps.filter(|(step, _)| step.split("</step>").next().unwrap().contains("bad"));
        let bad: Vec<Value> = bad.map(|(_, n)| json!({ "step": n, "problem": "is bad" })).collect();
        return json!({ "faults": bad }).to_string();
    }
    if words.contains("List the claims, each with its question.") {
        let claim = |claim: &str| json!({ "claim": claim, "question": format!("{claim}?") });
        return json!({ "claims": [claim("one"), claim("two"), claim("three")] }).to_string();
    }
    if words.contains("<claim>") {
        return json!({ "agreement": "consistent" }).to_string();
    }
    "it is so".to_owned()
}

fn counted(effects: &Effects, answer: fn(&str, Option<u64>) -> String) -> Counted {
    Counted { effects: Arc::clone(effects), answer }
}

fn checker(effects: &Effects) -> Arc<dyn Model> {
    Arc::new(counted(effects, faults))
}

/// Finds what says that it is bad, where it stands.
#[derive(Debug)]
struct NoBad;

impl Rule for NoBad {
    fn demand(&self) -> String {
        "nothing bad".to_owned()
    }
    fn check(&self, case: &Case) -> Verdict {
        Verdict::of(case.draft.match_indices("bad").map(|(at, word)| {
            Finding::new("bad", "is bad").about(at.to_string()).span(&case.draft, at..at + word.len())
        }))
    }
}

#[tokio::test]
async fn every_way_to_revise_ends_the_same() {
    for mode in [Mode::Edits, Mode::Sections, Mode::Rewrite] {
        let make = move |effects: &Effects| {
            let author = counted(effects, |words, seed| match words.contains("Write the improved text") {
                true => "1. one".to_owned(),
                false => sums(words, seed).replace(". ", ".\n\n"),
            });
            Refine::new("sum", author).verify("good", NoBad).mode(mode)
        };
        check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted, "{mode:?}")).await;
    }
}

#[tokio::test]
async fn protocols_that_check_steps_and_claims_end_the_same() {
    let make = |effects: &Effects| stepwise(Refine::new("sum", counted(effects, sums)), checker(effects));
    check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted)).await;
    let make =
        |effects: &Effects| thought_revision(Refine::new("sum", counted(effects, sums)), checker(effects));
    check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted)).await;
    let make = |effects: &Effects| {
        chain_of_verification(Refine::new("sum", counted(effects, sums)), checker(effects))
    };
    check(make, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted)).await;
}

#[tokio::test]
async fn answers_that_are_counted_are_counted_once() {
    let make = |effects: &Effects| {
        let model = counted(effects, |_, seed| format!("Answer: {}", seed.unwrap() % 2));
        SelfConsistency::new("vote", model).samples(3, 6).unwrap()
    };
    let (first, _) = crash_everywhere(make, json!({ "task": "?" }), WhenFailed::LeaveIt).await;
    assert_eq!((refined(&first).iterations.len(), refined(&first).spend.calls), (6, 6));
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_stopped_and_the_flag_goes_with_the_message() {
    let make = |effects: &Effects| {
        let drafter = counted(effects, |words, _| format!("draft {}", words.matches("draft").count()));
        let reviewer = Approving(counted(effects, |words, _| {
            if words.contains("draft 1") { "approve".to_owned() } else { "more".to_owned() }
        }));
        let (drafter, reviewer) =
            (Agent::model("drafter", drafter, ""), Agent::model("reviewer", reviewer, ""));
        FeedbackLoop::new("talk", "{{ task }}", drafter, reviewer)
            .unwrap()
            .verify("good", NoBad)
            .build()
            .unwrap()
    };
    let (first, lives) = crash_everywhere(make, json!({ "task": "?" }), WhenFailed::LeaveIt).await;
    assert_eq!((refined(&first).stop, refined(&first).iterations.len()), (redraft::Stop::Accepted, 2));
    assert!(lives.len() > 10);
}

/// A model that calls `approve` instead of saying so.
#[derive(Debug)]
struct Approving(Counted);

impl Model for Approving {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn answer<'a>(&'a self, request: &'a Request, listener: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move {
            let mut said = self.0.answer(request, listener).await?;
            if said.text == "approve" {
                let arguments = json!({ "reason": "good" });
                said.calls.push(ToolCall { id: "1".to_owned(), name: "approve".to_owned(), arguments });
            }
            Ok(said)
        })
    }
}

#[tokio::test]
async fn a_batch_in_which_one_fails_ends_the_same() {
    let make = |effects: &Effects| Batch::of(stars(effects).build().unwrap(), 2);
    let inputs =
        vec![json!({ "task": "One" }), json!({ "topic": "lacks its task" }), json!({ "task": "moon" })];
    let (first, _) = crash_everywhere(make, inputs, WhenFailed::LeaveIt).await;
    match &first.ending {
        Ending::Done { output, .. } => {
            assert_eq!((&output["accepted"], &output["items"][1]["refined"]), (&json!(2), &Value::Null))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_person_who_is_asked_about_a_stall_and_a_limit_in_time_and_calls_end_the_same() {
    let stalling = |effects: &Effects| {
        let model = counted(effects, |_, _| "moon moon".to_owned());
        let mut limits = Limits::iterations(6);
        limits.time = Some(std::time::Duration::from_secs(3600));
        Refine::new("stars", model.clone())
            .criterion(Criterion::new("stars", Stars(model)))
            .on_stall([Tactic::Widen, Tactic::AskHuman])
            .limits(limits)
    };
    check(stalling, |refined| assert_eq!(refined.stop, redraft::Stop::Accepted)).await;
    // Refused in the middle of the candidates, and of what their judge asks.
    for calls in 3..9 {
        let limited = move |effects: &Effects| {
            let mut limits = Limits::iterations(4);
            limits.calls = Some(calls);
            stars(effects).accept(Accept::Score(1.0)).limits(limits)
        };
        check(limited, |refined| {
            assert_eq!((refined.stop, refined.spend.calls), (redraft::Stop::BudgetSpent, calls));
        })
        .await;
    }
}
