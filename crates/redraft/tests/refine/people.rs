//! People in the loop.

use redraft::llm::Scripted;
use redraft::refine::{How, Limits, Oversight, Refined, Tactic};
use redraft::{Answer, Engine, RunHandle, Stop};
use serde_json::json;

use crate::support::{refine, start, words};

async fn answer(engine: &Engine, run: &RunHandle<Refined>, answers: Vec<Answer>) -> Refined {
    for answer in answers {
        run.settled().await.unwrap();
        let gates = engine.summary(run.run()).await.unwrap().gates;
        engine.answer(run.run(), gates[0].gate.as_str(), answer.by("ada")).await.unwrap();
    }
    run.outcome().await.unwrap().into_output().unwrap()
}

fn oversight(set: impl Fn(&mut Oversight)) -> Oversight {
    let mut oversight = Oversight::default();
    set(&mut oversight);
    oversight
}

#[tokio::test]
async fn a_persons_edit_becomes_a_draft_and_is_judged_like_any_other() {
    let author = Scripted::new("author", ["0.5", "0.6"]);
    let refine =
        refine(&author).oversight(oversight(|ask| ask.each_iteration = true)).limits(Limits::iterations(3));
    let (engine, run) = start(refine).await;
    let edit = Answer::new("edit").value(json!("0.9 by hand"));
    let refined = answer(&engine, &run, vec![Answer::new("continue").note("be bolder"), edit]).await;
    assert_eq!(refined.stop, Stop::Accepted);
    let last = refined.iterations.last().unwrap();
    assert_eq!((last.how, last.by.as_str(), last.from, last.score), (How::Human, "human", Some(2), 0.9));
    assert!(words(&author.asked()[1]).contains("Above all, see to this: be bolder"));
}

#[tokio::test]
async fn at_the_cap_a_person_may_approve_reject_or_allow_one_more() {
    let at_cap = || oversight(|ask| ask.at_cap = true);
    for (answers, stop, made) in [
        (vec![Answer::new("approve")], Stop::Accepted, 1),
        (vec![Answer::new("reject")], Stop::Rejected, 1),
        (
            vec![Answer::new("edit"), Answer::new("edit").value(json!("0.4")), Answer::new("reject")],
            Stop::Rejected,
            1,
        ),
        (vec![Answer::new("continue"), Answer::new("approve")], Stop::Accepted, 2),
    ] {
        let author = Scripted::new("author", ["0.5", "0.6"]);
        let (engine, run) = start(refine(&author).oversight(at_cap()).limits(Limits::iterations(1))).await;
        let refined = answer(&engine, &run, answers).await;
        assert_eq!((refined.stop, author.asked().len()), (stop, made));
    }
}

#[tokio::test]
async fn a_stall_can_be_put_to_a_person_before_anything_else() {
    for stall in [oversight(|ask| ask.on_stall = true), Oversight::default()] {
        let author = Scripted::new("author", ["0.5", "0.5", "0.9"]);
        let tactics = if stall.on_stall { vec![] } else { vec![Tactic::AskHuman] };
        let (engine, run) = start(refine(&author).oversight(stall).on_stall(tactics)).await;
        run.settled().await.unwrap();
        let gates = engine.summary(run.run()).await.unwrap().gates;
        assert!(
            gates[0].question.contains("two drafts take turns")
                || gates[0].question.contains("was there before")
        );
        let refined = answer(&engine, &run, vec![Answer::new("continue").note("think of the moon")]).await;
        assert_eq!(refined.stop, Stop::Accepted);
    }
}
