//! Runs that ended and are taken up again with more allowed, and refinements inside other work.

use std::sync::Arc;

use redraft::llm::{Allowance, Budget, Scripted, Turn, Usage};
use redraft::refine::{Accept, Limits, Oversight, Refine, Refined};
use redraft::store::MemoryStore;
use redraft::verify::Judge;
use redraft::{Answer, Ctx, Engine, Failure, Stop, flow};
use serde_json::json;

use crate::support::{refine, run, start};

fn costly(name: &str, score: impl Fn(usize) -> f64 + Send + Sync + 'static) -> Scripted {
    Scripted::by(name, move |_, at| Turn::text(format!("{:.3}", score(at))).usage(Usage::new(10, 10)))
}

fn with(author: &Scripted, iterations: u32, calls: u64) -> Refine {
    let mut limits = Limits::iterations(iterations);
    limits.calls = Some(calls);
    refine(author).limits(limits)
}

async fn first(store: &MemoryStore, refine: Refine) -> (redraft::RunId, Refined) {
    let refine = refine.build().unwrap();
    let engine = Engine::on(store.clone()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap();
    let id = run.run();
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    engine.shut_down().await;
    (id, refined)
}

async fn again(store: &MemoryStore, run: redraft::RunId, refine: Refine) -> Result<Refined, String> {
    let engine = Engine::on(store.clone()).workflow(refine.build().unwrap()).open().await.unwrap();
    let handle = engine.resume_with(run, &json!({ "task": "?" })).await.map_err(|error| error.to_string())?;
    let outcome = handle.typed::<Refined>().outcome().await.map_err(|error| error.to_string());
    engine.shut_down().await;
    outcome?.into_output().map_err(|failure| failure.to_string())
}

#[tokio::test]
async fn a_candidate_that_was_refused_on_the_way_does_not_keep_a_run_from_going_on() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 100.0);
    // Of the six candidates of two iterations, one is refused; the loop goes on with the others.
    let limited = |iterations, calls| with(&author, iterations, calls).candidates(3);
    let (id, refined) = first(&store, limited(2, 5)).await;
    assert_eq!((refined.stop, refined.iterations[1].candidates), (Stop::IterationsSpent, 2));
    let refined = again(&store, id, limited(3, 99)).await.unwrap();
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::IterationsSpent, 3));
    assert_eq!(author.asked().len(), 8, "nothing that was done is done again");
}

#[tokio::test]
async fn an_input_that_does_not_fit_can_be_put_right() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 10.0);
    let (id, _) = first(&store, with(&author, 2, 99)).await;
    let engine =
        Engine::on(store.clone()).workflow(with(&author, 3, 99).build().unwrap()).open().await.unwrap();
    let wrong = engine.resume_with(id, &json!({ "task": "something else" })).await.unwrap();
    assert_eq!(wrong.outcome().await.unwrap_err().code(), "diverged");
    let right = engine.resume_with(id, &json!({ "task": "?" })).await.unwrap().typed::<Refined>();
    let refined = right.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::IterationsSpent, 3));
}

#[tokio::test]
async fn a_lower_limit_takes_nothing_back() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 10.0);
    let (id, before) = first(&store, with(&author, 9, 3)).await;
    assert_eq!((before.stop, before.iterations.len()), (Stop::BudgetSpent, 3));
    let refined = again(&store, id, with(&author, 9, 1)).await.unwrap();
    assert_eq!((refined.stop, refined.best, author.asked().len()), (before.stop, before.best, 3));
}

#[tokio::test]
async fn two_refinements_in_one_place_have_a_limit_and_a_bill_each() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 100.0);
    let one = with(&author, 2, 2).build().unwrap();
    let both = flow("both", move |ctx: Ctx, (): ()| {
        let one = one.clone();
        async move {
            let input = json!({ "task": "?" });
            let first = one.run_in(&ctx, &input).await?;
            let second = one.run_in(&ctx, &input).await?;
            ctx.gate("look", redraft::Question::new("?")).await?;
            Ok::<_, Failure>([(first.stop, first.spend.calls), (second.stop, second.spend.calls)])
        }
    });
    let engine = Engine::on(store.clone()).workflow(both.clone()).open().await.unwrap();
    let run = engine.start(&both, ()).await.unwrap();
    run.settled().await.unwrap();
    engine.shut_down().await;
    let engine = Engine::on(store).workflow(both).open().await.unwrap();
    engine.answer(run.run(), "look", Answer::new("approve")).await.unwrap();
    let bills = engine.handle(run.run()).await.unwrap().typed::<[(Stop, u64); 2]>();
    let bills = bills.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(bills, [(Stop::IterationsSpent, 2), (Stop::IterationsSpent, 2)]);
}

#[tokio::test]
async fn a_shared_budget_does_not_lead_out_of_the_one_around_it() {
    let author = costly("author", |at| 0.1 + at as f64 / 100.0);
    let shared = Budget::new(Allowance { calls: Some(4), ..Allowance::default() });
    let inner = with(&author, 9, 99).within(shared.clone()).build().unwrap();
    let outer = flow("outer", move |ctx: Ctx, (): ()| {
        let inner = inner.clone();
        async move {
            let budget = ctx.budget(Allowance { calls: Some(2), ..Allowance::default() });
            let paying = ctx.paying(budget.clone(), redraft::llm::PriceTable::builtin());
            let refined = inner.run_in(&paying, &json!({ "task": "?" })).await?;
            Ok::<_, Failure>((refined.stop, budget.spent().calls))
        }
    });
    let engine = Engine::on(MemoryStore::new()).workflow(outer.clone()).open().await.unwrap();
    let run = engine.start(&outer, ()).await.unwrap();
    let spent = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((spent, shared.spent().calls), ((Stop::BudgetSpent, 2), 2));
}

#[tokio::test]
async fn a_shared_budget_knows_what_a_resumed_run_spent_before() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 100.0);
    let shared = |calls| Budget::new(Allowance { calls: Some(calls), ..Allowance::default() });
    let (id, refined) = first(&store, with(&author, 9, 99).within(shared(3))).await;
    assert_eq!((refined.stop, author.asked().len()), (Stop::BudgetSpent, 3));
    // Another process, in which nobody has spent anything yet.
    let refined = again(&store, id, with(&author, 9, 99).within(shared(3))).await.unwrap();
    assert_eq!((refined.stop, author.asked().len()), (Stop::BudgetSpent, 3));
    // The same one, in which it is known already.
    let budget = shared(5);
    let refined = again(&store, id, with(&author, 9, 99).within(budget.clone())).await.unwrap();
    assert_eq!((refined.stop, author.asked().len(), budget.spent().calls), (Stop::BudgetSpent, 5, 5));
    let refined = again(&store, id, with(&author, 9, 99).within(budget.clone())).await.unwrap();
    assert_eq!((refined.stop, author.asked().len(), budget.spent().calls), (Stop::BudgetSpent, 5, 5));
}

#[tokio::test]
async fn a_person_who_decided_at_the_cap_has_decided() {
    let store = MemoryStore::new();
    let author = costly("author", |at| 0.1 + at as f64 / 10.0);
    let asking = |iterations| {
        let mut oversight = Oversight::default();
        oversight.at_cap = true;
        with(&author, iterations, 99).oversight(oversight)
    };
    let refine = asking(1).build().unwrap();
    let engine = Engine::on(store.clone()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap();
    run.settled().await.unwrap();
    engine.answer(run.run(), "1/decide", Answer::new("reject")).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().stop(), Some(Stop::Rejected));
    engine.shut_down().await;
    let refined = again(&store, run.run(), asking(1)).await.unwrap();
    assert_eq!((refined.stop, author.asked().len()), (Stop::Rejected, 1));
}

#[tokio::test]
async fn the_last_draft_costs_no_lesson() {
    let author = costly("author", |at| 0.5 - at as f64 / 100.0);
    let refined =
        run(refine(&author).lessons().accept(Accept::Score(1.0)).limits(Limits::iterations(2))).await;
    assert_eq!((refined.stop, author.asked().len()), (Stop::IterationsSpent, 3), "nobody would read it");
}

#[tokio::test]
async fn a_run_that_ended_undecided_can_be_asked_for_its_verdict_again() {
    let author = Scripted::new("author", ["The moon."]);
    let answer = json!({ "findings": [], "scores": { "clear": 9 }, "strengths": [] }).to_string();
    let critic =
        Scripted::by("critic", move |_, at| if at < 6 { "nonsense".into() } else { answer.as_str().into() });
    let judge = Judge::new(Arc::new(critic.clone())).rubric(["clear"]);
    let (engine, run) = start(Refine::new("essay", author.clone()).verify("judge", judge)).await;
    let undecided = run.outcome().await.unwrap();
    assert_eq!(undecided.stop(), Some(Stop::Undecidable));
    let mut stop = undecided.stop();
    for _ in 0..9 {
        if stop == Some(Stop::Undecidable) {
            stop = engine.resume(run.run()).await.unwrap().outcome().await.unwrap().stop();
        }
    }
    assert_eq!((stop, author.asked().len()), (Some(Stop::Accepted), 1), "the draft is not written again");
}

#[tokio::test]
async fn another_input_for_a_run_that_is_being_driven_is_refused_and_not_dropped() {
    let author = Scripted::new("author", ["0.5"]);
    let mut oversight = Oversight::default();
    oversight.at_cap = true;
    let (engine, run) = start(refine(&author).limits(Limits::iterations(1)).oversight(oversight)).await;
    run.settled().await.unwrap();
    let refused = engine.resume_with(run.run(), &json!({ "task": "Something else." })).await.unwrap_err();
    assert_eq!(refused.code(), "run-held");
}
