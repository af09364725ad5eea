//! Why the loop stops, and what comes out then.

use std::sync::Arc;
use std::time::Duration;

use redraft::llm::{Answering, Error, Listener, Model, Request, Scripted, Turn};
use redraft::refine::{Accept, Limits, Refine};
use redraft::store::MemoryStore;
use redraft::verify::{Case, Cost, Evidence, Judge, Verdict, Verifier, Verifying};
use redraft::{Ctx, Engine, Failure, ManualClock, Status, Step, Stop};
use serde_json::{Value, json};

use crate::support::{Holds, refine, run, start, words};

#[tokio::test]
async fn the_best_draft_comes_out_and_not_the_last() {
    let author = Scripted::new("author", ["0.6", "0.9", "0.4"]);
    let refined = run(refine(&author).accept(Accept::Score(0.95)).limits(Limits::iterations(3))).await;
    assert_eq!(refined.stop, Stop::IterationsSpent);
    let best = refined.best.as_ref().unwrap();
    assert_eq!((best.iteration, best.text.as_str(), best.score), (2, "0.9", 0.9));
    let scores: Vec<f64> = refined.iterations.iter().map(|iteration| iteration.score).collect();
    assert_eq!(scores, [0.6, 0.9, 0.4], "the last draft is judged like any other");
    assert_eq!((refined.repaired, refined.damaged), (1, 1));
}

#[tokio::test]
async fn what_is_revised_is_the_best_draft_and_not_the_last() {
    let author = Scripted::new("author", ["0.6", "0.9", "0.4", "0.97"]);
    let refined = run(refine(&author).accept(Accept::Score(0.95)).limits(Limits::iterations(4))).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.iterations[3].from, Some(2));
    let asked = author.asked();
    assert!(words(&asked[3]).contains("<draft>\n0.9\n</draft>"), "{}", words(&asked[3]));
    assert!(words(&asked[3]).contains("a version “0.4” with score 0.40"), "it is told what already failed");
}

#[tokio::test]
async fn a_draft_that_is_accepted_at_once_is_not_revised() {
    let author = Scripted::new("author", ["0.9"]);
    let (engine, handle) = start(refine(&author)).await;
    let outcome = handle.outcome().await.unwrap();
    assert_eq!((outcome.status(), outcome.stop()), (Status::Accepted, Some(Stop::Accepted)));
    assert_eq!(author.asked().len(), 1);
    let listed = engine.list(redraft::store::Query::default()).await.unwrap();
    assert!(listed[0].standing.summary.as_deref().unwrap().contains("\"best_score\":0.9"), "{listed:?}");
}

#[tokio::test]
async fn a_tie_is_won_by_the_earlier_draft() {
    let author = Scripted::new("author", ["0.5 one", "0.5 two"]);
    let refined = run(refine(&author).limits(Limits::iterations(2))).await;
    assert_eq!(refined.best.unwrap().iteration, 1);
}

#[tokio::test]
async fn a_gate_comes_before_any_score() {
    let author = Scripted::new("author", ["0.9", "0.5 moon"]);
    let refined = run(refine(&author).verify("moon", Holds("moon")).limits(Limits::iterations(2))).await;
    assert_eq!(refined.best.unwrap().iteration, 2);
    assert!(!refined.iterations[0].accepted, "no score opens a gate that is shut");
}

/// Cannot judge what says `fog`; asks a model that gives nonsense otherwise.
#[derive(Debug)]
struct CannotSay {
    code: &'static str,
}

impl Verifier for CannotSay {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }
    fn cost(&self) -> Cost {
        Cost::Model
    }
    fn describe(&self) -> Value {
        json!("cannot say")
    }
    fn demand(&self) -> String {
        "clear".to_owned()
    }
    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let score = |case: &Case| case.draft[..3].parse().unwrap();
            ctx.step(Step::named("look"), || async {
                if case.draft.contains("fog") {
                    return Err(Failure::terminal(self.code, "it is too foggy to see"));
                }
                Ok(Verdict::scored(score(case)))
            })
            .await
        })
    }
}

#[tokio::test]
async fn a_verifier_that_cannot_judge_ends_it_undecided_with_the_best_judged_draft() {
    let author = Scripted::new("author", ["0.6", "0.9 fog", "0.9"]);
    let refine = Refine::new("essay", author.clone()).verify("clear", CannotSay { code: "no-verdict" });
    let (_engine, handle) = start(refine).await;
    let outcome = handle.outcome().await.unwrap();
    assert_eq!((outcome.status(), outcome.stop()), (Status::Exhausted, Some(Stop::Undecidable)));
    let refined = outcome.into_output().unwrap();
    assert_eq!(refined.best.unwrap().text, "0.6");
    assert_eq!(refined.because.unwrap().code, "no-verdict");
    assert_eq!(refined.iterations.len(), 1, "a draft without a verdict is no iteration");
    assert!(refined.warnings.iter().any(|warning| warning.contains("only models judge")));
}

#[tokio::test]
async fn a_judge_that_answers_nonsense_three_times_ends_it_undecided() {
    let author = Scripted::new("author", ["first", "second"]);
    let fair = r#"{"scores": {"clear": 6}, "findings": [], "strengths": []}"#;
    let critic = Scripted::new("critic", [fair, "nice!", "", "ten out of ten"]);
    let judge = redraft::verify::Judge::new(Arc::new(critic.clone())).rubric(["clear"]);
    let (_engine, handle) = start(Refine::new("essay", author.clone()).verify("quality", judge)).await;
    let outcome = handle.outcome().await.unwrap();
    assert_eq!((outcome.status(), outcome.stop()), (Status::Exhausted, Some(Stop::Undecidable)));
    let refined = outcome.into_output().unwrap();
    assert_eq!((refined.best.unwrap().text.as_str(), refined.iterations.len()), ("first", 1));
    assert_eq!((refined.because.unwrap().code.as_str(), critic.asked().len()), ("no-verdict", 4));
}

#[tokio::test]
async fn a_judge_that_cannot_be_reached_fails_the_run_so_that_it_can_be_resumed() {
    let author = Scripted::new("author", ["0.6 fog"]);
    let refine = Refine::new("essay", author.clone()).verify("clear", CannotSay { code: "model-network" });
    let (_engine, handle) = start(refine).await;
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Failed);
}

#[tokio::test]
async fn an_author_that_cannot_be_reached_fails_the_run_and_a_resume_goes_on_there() {
    let gone = || Turn::error(Error::NotFound { model: "m".to_owned(), message: "gone".to_owned() });
    let author = Scripted::new("author", [Turn::text("0.6"), gone(), Turn::text("0.9")]);
    let (engine, handle) = start(refine(&author)).await;
    assert_eq!(handle.outcome().await.unwrap().status(), Status::Failed);
    let refined = engine.resume(handle.run()).await.unwrap().typed::<redraft::refine::Refined>();
    let refined = refined.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, author.asked().len()), (Stop::Accepted, 3));
}

#[tokio::test]
async fn the_time_that_is_allowed_is_looked_at_before_each_draft() {
    let clock = Arc::new(ManualClock::default());
    let turning = Arc::clone(&clock);
    let author = Scripted::by("author", move |_, at| {
        turning.advance(Duration::from_secs(40));
        Turn::text(format!("0.{at}"))
    });
    let mut limits = Limits::iterations(9);
    limits.time = Some(Duration::from_secs(60));
    let refine = refine(&author).limits(limits).build().unwrap();
    let engine =
        Engine::on(MemoryStore::new()).clock(clock.clone()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap();
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::TimeSpent, 2));
}

#[tokio::test]
async fn whoever_cancels_still_gets_the_best_draft_so_far() {
    let author =
        Scripted::new("author", [Turn::text("0.6"), Turn::text("late").after(Duration::from_secs(3600))]);
    let (engine, handle) = start(refine(&author)).await;
    while author.asked().len() < 2 {
        tokio::task::yield_now().await;
    }
    engine.cancel(handle.run(), "enough", "ada").await.unwrap();
    let outcome = handle.outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Cancelled);
    assert_eq!(outcome.output().unwrap().best.as_ref().unwrap().text, "0.6");
}

#[tokio::test]
async fn the_criteria_are_frozen_and_the_limits_are_not() {
    let store = MemoryStore::new();
    let author = Scripted::new("author", ["0.5", "0.6", "0.7", "0.9"]);
    let with = |least, iterations| {
        refine(&author).accept(Accept::Score(least)).limits(Limits::iterations(iterations)).build().unwrap()
    };
    let engine = Engine::on(store.clone()).workflow(with(0.8, 2)).open().await.unwrap();
    let run = engine.start(&with(0.8, 2), json!({ "task": "?" })).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().stop(), Some(Stop::IterationsSpent));
    engine.shut_down().await;

    let lowered = Engine::on(store.clone()).workflow(with(0.1, 2)).open().await.unwrap();
    let resumed = lowered.resume_with(run.run(), &json!({ "task": "?" })).await.unwrap();
    assert_eq!(resumed.outcome().await.unwrap_err().code(), "diverged", "the bar cannot drift");
    lowered.shut_down().await;

    let longer = Engine::on(store).workflow(with(0.8, 4)).open().await.unwrap();
    let resumed = longer.handle(run.run()).await.unwrap().typed::<redraft::refine::Refined>();
    let refined = resumed.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.iterations.len(), author.asked().len()), (Stop::Accepted, 4, 4));
}

#[test]
fn a_refinement_that_makes_no_sense_is_refused() {
    use redraft::Fault;
    let author = Scripted::new("author", ["?"]);
    let limits = |iterations| Limits::iterations(iterations);
    let cases: Vec<(Refine, &str)> = vec![
        (Refine::new("essay", author.clone()), "no-criteria"),
        (refine(&author).verify("worth", Holds("x")), "duplicate-name"),
        (refine(&author).verify("a/b", Holds("x")), "bad-name"),
        (refine(&author).limits(limits(0)), "bad-number"),
        (refine(&author).candidates(0), "bad-number"),
        (refine(&author).accept(Accept::Score(8.0)), "bad-number"),
        (refine(&author).accept(Accept::Score(f64::NAN)), "bad-number"),
        (refine(&author).on_stall([redraft::refine::Tactic::SwitchModel]), "bad-tactic"),
    ];
    for (refine, code) in cases {
        assert_eq!(refine.build().unwrap_err().code(), code);
    }
    assert_eq!(refine(&author).task("{{ topic").unwrap_err().code(), "template-syntax");
}

#[tokio::test]
async fn an_input_that_lacks_what_the_task_needs_fails_before_anything_is_asked() {
    let author = Scripted::new("author", ["?"]);
    let (_engine, handle) = start(refine(&author).task("On {{ topic }}").unwrap()).await;
    let failure = handle.outcome().await.unwrap().into_output().unwrap_err();
    assert_eq!((failure.code.as_str(), author.asked().len()), ("template-render", 0));
}

/// A model that is not in the list of prices.
#[derive(Debug)]
struct Unpriced;

impl Model for Unpriced {
    fn name(&self) -> &str {
        "nobody:knows"
    }
    fn answer<'a>(&'a self, _: &'a Request, _: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async { Err(Error::Timeout { model: "nobody:knows".to_owned(), after: Duration::ZERO }) })
    }
}

#[tokio::test]
async fn a_judge_whose_price_is_unknown_fails_the_run_so_that_it_can_be_resumed() {
    let author = Scripted::new("author", ["0.6"]);
    let mut limits = Limits::iterations(2);
    limits.cost = Some("$1".parse().unwrap());
    let judge = Judge::new(Arc::new(Unpriced)).rubric(["clear"]);
    let (_engine, handle) = start(Refine::new("essay", author).verify("judge", judge).limits(limits)).await;
    let failure = handle.outcome().await.unwrap().into_output().unwrap_err();
    assert_eq!(failure.code, "price-unknown");
}
