//! What steps spend stands in the journal, and a budget knows it again after a restart.

use std::time::Duration;

use redraft::llm::{
    Allowance, Budget, Metered, Model, PriceTable, Request, Scripted, Spend, Turn, Usage, ask,
};
use redraft::store::MemoryStore;
use redraft::{Conclusion, Ctx, Engine, Failure, Flow, Stop, flow};

fn calls(limit: u64) -> Allowance {
    Allowance { calls: Some(limit), ..Allowance::default() }
}

fn paid(model: &Scripted, budget: &Budget) -> Metered<Scripted> {
    Metered::new(model.clone(), budget.clone(), PriceTable::builtin())
}

async fn say(ctx: &Ctx, name: &'static str, model: &Metered<Scripted>) -> Result<String, Failure> {
    let asked = Request::new("?");
    ctx.step(name, || async { Ok::<_, Failure>(model.answer(&asked, &mut ()).await?.text) }).await
}

#[tokio::test]
async fn what_a_step_spent_stands_beside_it_and_folders_add_it_up() {
    let replies = [
        Turn::text("one").usage(Usage::new(10, 1)),
        Turn::text("not json").usage(Usage::new(20, 2)),
        Turn::text("7").usage(Usage::new(30, 3)),
    ];
    let model = Scripted::new("m", replies);
    let work = flow("work", move |ctx: Ctx, ()| {
        let model = model.clone();
        async move {
            let model = paid(&model, &ctx.budget(Allowance::default()));
            say(&ctx, "draft", &model).await?;
            ask::<u8>(&ctx.group("judge"), "score", &model, Request::new("?"), 3).await
        }
    });
    let engine = Engine::on(MemoryStore::new()).workflow(work.clone()).open().await.unwrap();
    let run = engine.start(&work, ()).await.unwrap();
    assert_eq!(run.outcome().await.unwrap().into_output().unwrap(), 7);
    let tree = engine.tree(run.run()).await.unwrap();
    let tokens = |path| tree.find(path).unwrap().spend.unwrap().usage.total();
    assert_eq!(
        [tokens("draft"), tokens("judge/score"), tokens("judge/score#2"), tokens("judge")],
        [11, 22, 33, 55]
    );
    assert_eq!(
        tree.spend,
        Spend { calls: 3, usage: Usage::new(60, 6), money: Some(redraft::llm::Money::ZERO) }
    );
    assert!(tree.to_string().contains("judge  50→5 tok  $0.00"), "{tree}");
}

/// Three calls one after the other; the third is only reached when the gate in front of it is answered.
fn three_calls(model: &Scripted, limit: u64) -> Flow<(), u64> {
    let model = model.clone();
    flow("three", move |ctx: Ctx, ()| {
        let model = model.clone();
        async move {
            let budget = ctx.budget(calls(limit));
            let model = paid(&model, &budget);
            say(&ctx, "first", &model).await?;
            say(&ctx, "second", &model).await?;
            ctx.gate("go-on", redraft::Question::new("Go on?")).await?;
            say(&ctx, "third", &model).await?;
            Ok(budget.spent().calls)
        }
    })
}

#[tokio::test]
async fn a_budget_knows_after_a_restart_what_was_spent_before() {
    for (limit, ends) in [(3, Ok(3)), (2, Err("budget-spent"))] {
        let store = MemoryStore::new();
        let model = Scripted::new("m", ["1", "2", "3"]);
        let work = three_calls(&model, limit);
        let first = Engine::on(store.clone()).workflow(work.clone()).open().await.unwrap();
        let run = first.start(&work, ()).await.unwrap();
        run.settled().await.unwrap();
        first.shut_down().await;

        let second = Engine::on(store).workflow(work.clone()).open().await.unwrap();
        let run = second.handle(run.run()).await.unwrap().typed::<u64>();
        second.answer(run.run(), "go-on", redraft::Answer::new("approve")).await.unwrap();
        let outcome = run.outcome().await.unwrap().into_output();
        assert_eq!(outcome.map_err(|failure| failure.code), ends.map_err(str::to_owned));
        assert_eq!(model.asked().len() as u64, limit);
    }
}

#[tokio::test]
async fn what_an_abandoned_call_may_have_cost_is_not_forgotten() {
    let store = MemoryStore::new();
    let model = Scripted::by("m", |_, at| {
        let turn = Turn::text("done").usage(Usage::new(1, 1));
        turn.after(if at == 0 { Duration::from_millis(1) } else { Duration::from_secs(3600) })
    });
    let race = flow("race", move |ctx: Ctx, ()| {
        let model = model.clone();
        async move {
            let budget = ctx.budget(Allowance::default());
            let model = paid(&model, &budget);
            ctx.parallel_until(
                "both",
                [1, 2],
                2,
                |ctx, _| {
                    let model = &model;
                    async move { say(&ctx, "say", model).await }
                },
                Result::is_ok,
            )
            .await;
            let live = budget.spent().usage.total();
            ctx.gate("look", redraft::Question::new("?")).await?;
            Ok((live, budget.spent().usage.total()))
        }
    });
    let first = Engine::on(store.clone()).workflow(race.clone()).open().await.unwrap();
    let run = first.start(&race, ()).await.unwrap();
    run.settled().await.unwrap();
    let tree = first.tree(run.run()).await.unwrap();
    let lost = tree.find("both/2/say").unwrap().spend.unwrap();
    assert!(lost.calls == 1 && lost.usage.total() > 4000, "the most it could have cost: {lost}");
    first.shut_down().await;

    let second = Engine::on(store).workflow(race.clone()).open().await.unwrap();
    let run = second.handle(run.run()).await.unwrap().typed::<(u64, u64)>();
    second.answer(run.run(), "look", redraft::Answer::new("approve")).await.unwrap();
    let (at_once, after) = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!([at_once, after], [lost.usage.total() + 2; 2]);
}

#[tokio::test]
async fn an_exhausted_run_goes_on_with_a_larger_limit_and_pays_for_nothing_twice() {
    let model = Scripted::by("m", |_, at| Turn::text(format!("draft {at}")));
    let asked = model.clone();
    let refine = flow("refine", move |ctx: Ctx, limit: u64| {
        let model = model.clone();
        async move {
            let model = paid(&model, &ctx.budget(calls(limit)));
            let mut drafts = Vec::new();
            for _ in 0..4 {
                match say(&ctx, "draft", &model).await {
                    Ok(draft) => drafts.push(draft),
                    Err(failure) if failure.code == "budget-spent" => {
                        ctx.conclude(Conclusion::Exhausted(Stop::BudgetSpent));
                        return Ok(drafts);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            ctx.conclude(Conclusion::Accepted);
            Ok(drafts)
        }
    });
    let engine = Engine::on(MemoryStore::new()).workflow(refine.clone()).open().await.unwrap();
    let run = engine.start(&refine, 2).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.stop(), outcome.output().unwrap().len()), (Some(Stop::BudgetSpent), 2));

    let refused = engine.resume(run.run()).await.unwrap_err();
    assert_eq!(refused.code(), "run-ended", "without a larger limit there is nothing to go on with");
    for (limit, stop, made) in [(3, Stop::BudgetSpent, 3), (9, Stop::Accepted, 4)] {
        let run = engine.resume_with(run.run(), &limit).await.unwrap().typed::<Vec<String>>();
        let outcome = run.outcome().await.unwrap();
        assert_eq!((outcome.stop(), outcome.output().unwrap().len()), (Some(stop), made));
        assert_eq!(asked.asked().len(), made);
    }
    let ended = engine.resume_with(run.run(), &99_u64).await.unwrap_err();
    assert_eq!(ended.code(), "run-ended");
}
