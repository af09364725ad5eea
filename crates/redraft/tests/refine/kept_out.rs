//! What must not come out as accepted, whatever else speaks for it.

use std::sync::Arc;
use std::time::Duration;

use redraft::llm::Scripted;
use redraft::refine::edits::Keep;
use redraft::refine::{Accept, How, Limits, Origin, Oversight, Refine, Tactic};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Cost, Evidence, Finding, Human, Rule, Severity, Verdict, Verifier, Verifying};
use redraft::{Answer, Ctx, Engine, ManualClock, Stop};
use serde_json::{Value, json};

use crate::support::{Holds, SaysItself, refine, run, start};

/// Scores a draft by what it says of itself, and objects to `poison` without a gate.
#[derive(Debug)]
struct Objects;

impl Rule for Objects {
    fn demand(&self) -> String {
        "without poison".to_owned()
    }

    fn check(&self, case: &Case) -> Verdict {
        let verdict = SaysItself.check(case);
        let poisoned = case.draft.contains("poison");
        if poisoned {
            verdict.finding(Finding::new("poison", "is poisoned").severity(Severity::Blocking))
        } else {
            verdict
        }
    }
}

#[tokio::test]
async fn what_is_accepted_comes_out_and_not_a_draft_with_a_higher_score_that_was_kept_out() {
    let author = Scripted::new("author", ["0.95 poison", "0.85"]);
    let refined = run(Refine::new("essay", author).verify("worth", Objects)).await;
    assert_eq!((refined.stop, refined.best.unwrap().text.as_str()), (Stop::Accepted, "0.85"));
    assert_eq!((refined.repaired, refined.damaged), (1, 0), "it got better: it is accepted now");

    let author = Scripted::new("author", ["0.9 dull", "0.4 bright"]);
    let accept = Accept::When("it is bright".to_owned(), Arc::new(|it| it.text.contains("bright")));
    let refined = run(refine(&author).accept(accept)).await;
    assert_eq!((refined.stop, refined.best.unwrap().iteration), (Stop::Accepted, 2));

    // A chain without anything protected has a gate less than one with.
    let author = Scripted::new("author", ["0.5 (c) ada", "0.5 (c) ada", "0.9 afresh"]);
    let refined = run(refine(&author).keep(Keep::words("(c) ada")).on_stall([Tactic::FreshChain])).await;
    assert_eq!((refined.stop, refined.best.unwrap().text.as_str()), (Stop::Accepted, "0.9 afresh"));
}

#[tokio::test]
async fn what_was_protected_once_stays_protected_in_every_later_draft() {
    // The second draft loses it; the third is made from the second, and does not have it back.
    let author = Scripted::new("author", ["0.5 (c) ada", "0.6", "0.9"]);
    let from_the_last = refine(&author)
        .keep(Keep::words("(c) ada"))
        .revise_from(Origin::Last)
        .on_stall([Tactic::Widen; 9])
        .limits(Limits::iterations(3));
    let refined = run(from_the_last).await;
    assert_eq!((refined.stop, refined.best.unwrap().iteration), (Stop::IterationsSpent, 1));

    // One gate lost, two won: the second is the best, and what is made of it must still put the words back.
    let author =
        Scripted::new("author", ["0.5 (c) ada", "0.5 moon sea", "0.9 moon sea", "0.9 moon sea (c) ada"]);
    let refined = run(refine(&author)
        .verify("moon", Holds("moon"))
        .verify("sea", Holds("sea"))
        .keep(Keep::words("(c) ada"))
        .limits(Limits::iterations(4)))
    .await;
    assert_eq!(refined.iterations[2].from, Some(2));
    assert_eq!((refined.stop, refined.best.unwrap().iteration), (Stop::Accepted, 4));
}

#[tokio::test]
async fn a_passage_that_is_protected_twice_must_be_there_twice() {
    let author = Scripted::new("author", ["0.5 42 and 42", "0.9 42", "0.9 42 or 42"]);
    let refined = run(refine(&author).keep(Keep::words("42")).limits(Limits::iterations(3))).await;
    assert_eq!((refined.stop, refined.best.unwrap().iteration), (Stop::Accepted, 3));
}

/// A verifier whose score is no score.
#[derive(Debug)]
struct Broken(f64);

impl Verifier for Broken {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }
    fn cost(&self) -> Cost {
        Cost::Model
    }
    fn describe(&self) -> Value {
        json!("broken")
    }
    fn demand(&self) -> String {
        "good".to_owned()
    }
    fn verify<'a>(&'a self, _: &'a Ctx, _: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let mut verdict = Verdict::scored(0.0);
            verdict.score = self.0;
            Ok(verdict)
        })
    }
}

#[tokio::test]
async fn a_score_that_is_none_is_no_verdict() {
    for score in [f64::NAN, f64::INFINITY, 7.0, -0.1] {
        let author = Scripted::new("author", ["0.9", "0.9 again"]);
        let refined = run(refine(&author).verify("broken", Broken(score))).await;
        assert_eq!((refined.stop, refined.best), (Stop::Undecidable, None), "{score}");
        assert_eq!(refined.because.unwrap().code, "no-verdict");
    }
}

#[tokio::test]
async fn weights_of_any_size_give_a_score() {
    let author = Scripted::new("author", ["0.9"]);
    let heavy = |name: &str| redraft::refine::Criterion::new(name, SaysItself).weight(f64::MAX);
    let refined = run(Refine::new("essay", author).criterion(heavy("a")).criterion(heavy("b"))).await;
    assert_eq!(refined.stop, Stop::Accepted);
}

#[tokio::test]
async fn if_nobody_answers_at_the_cap_it_is_the_cap() {
    let author = Scripted::by("author", |_, at| format!("0.{:03}", 100 + at * 20).into());
    let mut oversight = Oversight::default();
    oversight.at_cap = true;
    oversight.within = Some(Duration::from_secs(60));
    let refine = refine(&author).oversight(oversight).limits(Limits::iterations(2)).build().unwrap();
    let clock = Arc::new(ManualClock::default());
    let engine =
        Engine::on(MemoryStore::new()).clock(clock.clone()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap();
    run.settled().await.unwrap();
    clock.advance(Duration::from_secs(61));
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, author.asked().len()), (Stop::IterationsSpent, 2));
}

#[tokio::test]
async fn a_persons_own_draft_is_judged_even_at_the_cap_and_whichever_candidate_it_was_given_for() {
    let author = Scripted::new("author", ["0.5"]);
    let (engine, run) =
        start(refine(&author).verify("person", Human::new("Good?")).limits(Limits::iterations(1))).await;
    for answer in [Answer::new("edit").value(json!("0.9 by hand")), Answer::new("approve")] {
        run.settled().await.unwrap();
        let gates = engine.summary(run.run()).await.unwrap().gates;
        engine.answer(run.run(), gates[0].gate.as_str(), answer.by("ada")).await.unwrap();
    }
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Accepted, 2));
    assert_eq!(refined.iterations[1].how, How::Human);

    let author = Scripted::by("author", |request, _| format!("0.{}", 6 - request.seed.unwrap_or(0)).into());
    let (engine, run) = start(
        refine(&author).verify("person", Human::new("Good?")).candidates(2).limits(Limits::iterations(2)),
    )
    .await;
    run.settled().await.unwrap();
    let gates = engine.summary(run.run()).await.unwrap().gates;
    assert_eq!(gates.len(), 2);
    for gate in gates {
        let worse = gate.gate.as_str().contains("/2/");
        let answer =
            if worse { Answer::new("edit").value(json!("0.9 by hand")) } else { Answer::new("reject") };
        engine.answer(run.run(), gate.gate.as_str(), answer.by("ada")).await.unwrap();
    }
    run.settled().await.unwrap();
    let gates = engine.summary(run.run()).await.unwrap().gates;
    engine.answer(run.run(), gates[0].gate.as_str(), Answer::new("approve").by("ada")).await.unwrap();
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.best.unwrap().text.as_str()), (Stop::Accepted, "0.9 by hand"));
}
