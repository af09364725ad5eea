//! What a journal says about the refinements in it: finished or not, at the top or deep inside.

use redraft::llm::Scripted;
use redraft::refine::{Batch, How, Limits, Oversight, Refined};
use redraft::store::MemoryStore;
use redraft::{Answer, Ctx, Engine, Failure, Status, Stop, flow};
use serde_json::json;

use crate::support::{Holds, refine, start};

#[tokio::test]
async fn a_finished_run_reports_what_it_returned() {
    let author = Scripted::new("author", ["0.2 wind", "0.6 wind", "0.9 moon"]);
    let (engine, run) = start(refine(&author).verify("moon", Holds("moon"))).await;
    let refined: Refined = run.outcome().await.unwrap().into_output().unwrap();
    let report = engine.report(run.run()).await.unwrap();
    assert_eq!((report.status, report.stop), (Status::Accepted, Some(Stop::Accepted)));
    assert_eq!((&report.best, &report.iterations), (&refined.best, &refined.iterations));
    assert_eq!((report.spend, report.repaired), (refined.spend, Some(refined.repaired)));
    assert_eq!(report.iterations[1].how, How::Rewrite);
    let criteria = report.criteria.unwrap();
    assert_eq!(criteria.task.as_deref(), Some("Write about tides."));
    assert_eq!(criteria.score(), Some(0.8));
    let names: Vec<&str> = criteria.criteria.iter().map(|criterion| criterion.name.as_str()).collect();
    assert_eq!(names, ["worth", "moon"]);
    assert!(report.refinements.is_empty() && report.output.is_none(), "nothing is said twice");
}

#[tokio::test]
async fn a_run_that_waits_reports_how_far_it_has_come() {
    let author = Scripted::new("author", ["0.5", "0.4", "0.9"]);
    let mut oversight = Oversight::default();
    oversight.each_iteration = true;
    let (engine, run) = start(refine(&author).oversight(oversight)).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        run.settled().await.unwrap();
        let report = engine.report(run.run()).await.unwrap();
        let refinement = &engine.tree(run.run()).await.unwrap().refinements()[0];
        assert_eq!((report.status, report.stop), (Status::Waiting, None));
        assert_eq!(refinement.gates, report.gates);
        assert_eq!(refinement.best, report.best);
        seen.push((report.iterations.len(), report.best.unwrap().score, report.damaged));
        let gate = report.gates[0].gate.clone();
        engine.answer(run.run(), gate.as_str(), Answer::new("continue").by("ada")).await.unwrap();
    }
    // The second draft is worse: the first stays the best.
    assert_eq!(seen, [(1, 0.5, Some(0)), (2, 0.5, Some(1))]);
    run.outcome().await.unwrap();
}

#[tokio::test]
async fn a_run_that_failed_keeps_the_drafts_that_were_judged() {
    let author = Scripted::new("author", ["0.5"]);
    let (engine, run) = start(refine(&author)).await;
    assert!(run.outcome().await.unwrap().into_output().is_err(), "the script is at its end");
    let report = engine.report(run.run()).await.unwrap();
    assert_eq!((report.status, report.stop), (Status::Failed, Some(Stop::Failed)));
    assert_eq!(report.best.unwrap().text, "0.5");
    assert!(report.failure.is_some());
    let refinement = &engine.tree(run.run()).await.unwrap().refinements()[0];
    assert_eq!(refinement.under_way, Some(2));
}

#[tokio::test]
async fn every_refinement_of_a_run_is_found_with_its_own_ending() {
    let author = Scripted::new("author", ["0.9", "0.3", "0.4"]);
    let refine = refine(&author).limits(Limits::iterations(2)).build().unwrap();
    let inner = refine.clone();
    let book = flow("book", move |ctx: Ctx, (): ()| {
        let refine = inner.clone();
        async move {
            let title = refine.run_in(&ctx.group("title"), &json!({ "task": "a title" })).await?;
            let text = refine.run_in(&ctx.group("text"), &json!({ "task": "a text" })).await?;
            Ok::<_, Failure>(json!({ "title": title, "chapters": [text] }))
        }
    });
    let engine = Engine::on(MemoryStore::new()).workflow(book.clone()).open().await.unwrap();
    let run = engine.start(&book, ()).await.unwrap();
    run.outcome().await.unwrap();
    let report = engine.report(run.run()).await.unwrap();
    assert_eq!(report.best, None, "which of them would it be?");
    let found: Vec<_> = report
        .refinements
        .iter()
        .map(|it| (it.path.to_string(), it.stop, it.iterations.len(), it.spend.calls))
        .collect();
    assert_eq!(
        found,
        [
            ("title/essay".to_owned(), Some(Stop::Accepted), 1, 1),
            ("text/essay".to_owned(), Some(Stop::IterationsSpent), 2, 2),
        ]
    );
    let tasks: Vec<_> =
        report.refinements.iter().map(|it| it.criteria.clone().unwrap().task.unwrap()).collect();
    assert_eq!(tasks, ["a title", "a text"]);
    let text = report.of_refinement("text/essay").unwrap();
    assert_eq!((text.stop, text.best.unwrap().text.as_str()), (Some(Stop::IterationsSpent), "0.4"));
    assert_eq!(report.of_refinement("index"), None);
}

#[tokio::test]
async fn a_batch_reports_every_input() {
    let author = Scripted::new("author", ["0.9", "0.95"]);
    let batch = Batch::of(refine(&author).build().unwrap(), 1);
    let engine = Engine::on(MemoryStore::new()).workflow(batch.clone()).open().await.unwrap();
    let inputs = vec![json!({ "task": "one" }), json!({ "task": "two" })];
    let run = engine.start(&batch, inputs).await.unwrap();
    run.outcome().await.unwrap();
    let report = engine.report(run.run()).await.unwrap();
    let scores: Vec<f64> = report.refinements.iter().map(|it| it.best.clone().unwrap().score).collect();
    assert_eq!(scores, [0.9, 0.95]);
    assert!(report.refinements.iter().all(|it| it.stop == Some(Stop::Accepted)));
}

#[tokio::test]
async fn a_run_without_a_refinement_reports_what_it_returned() {
    let plain = flow("plain", |ctx: Ctx, (): ()| async move {
        // A step that is called like one of ours, and is none.
        ctx.iteration(1).step("verdict", || async { Ok::<_, Failure>("guilty".to_owned()) }).await
    });
    let engine = Engine::on(MemoryStore::new()).workflow(plain.clone()).open().await.unwrap();
    let run = engine.start(&plain, ()).await.unwrap();
    run.outcome().await.unwrap();
    let report = engine.report(run.run()).await.unwrap();
    assert_eq!((report.status, report.output), (Status::Completed, Some(json!("guilty"))));
    assert!(report.iterations.is_empty() && report.criteria.is_none());
}
