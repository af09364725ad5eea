//! Drafts that no longer get better, and what is done about it.

use redraft::Stop;
use redraft::llm::Scripted;
use redraft::refine::{Accept, How, Limits, Tactic};

use crate::support::{Holds, refine, run, words};

#[tokio::test]
async fn the_same_draft_again_is_not_judged_again_and_not_waited_for() {
    let author = Scripted::new("author", ["0.5", "0.5", "0.9"]);
    let refined = run(refine(&author).on_stall([Tactic::Stop])).await;
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Stalled, 2));
    assert_eq!(refined.iterations[1].repeats, Some(1));
}

#[tokio::test]
async fn each_stall_is_answered_by_the_next_tactic() {
    let author = Scripted::by("author", |_, _| "0.5 moon".into());
    let other = Scripted::by("other", |_, _| "0.6 moon".into());
    let refined = run(refine(&author)
        .verify("moon", Holds("moon"))
        .or_else(other.clone())
        .accept(Accept::Score(0.95))
        .on_stall([Tactic::Focus, Tactic::FreshChain, Tactic::Widen, Tactic::SwitchModel, Tactic::Stop])
        .limits(Limits::iterations(20)))
    .await;
    assert_eq!(refined.stop, Stop::Stalled);
    let tactics: Vec<_> = refined.iterations.iter().map(|iteration| iteration.tactic).collect();
    assert_eq!(
        tactics[..6],
        [
            None,
            None,
            Some(Tactic::Focus),
            Some(Tactic::FreshChain),
            Some(Tactic::Widen),
            Some(Tactic::SwitchModel)
        ]
    );
    let asked = author.asked();
    assert!(words(&asked[2]).contains("Above all, see to this: worth as much as possible"));
    assert_eq!((refined.iterations[3].how, refined.iterations[3].chain), (How::Draft, 2));
    assert_eq!(refined.iterations[4].candidates, 3);
    assert_eq!(refined.iterations[5].by, "scripted:other");
    assert_eq!(refined.best.unwrap().text, "0.6 moon");
}

#[tokio::test]
async fn a_plateau_is_a_stall_even_if_every_draft_is_new() {
    let author = Scripted::by("author", |_, at| format!("0.5 draft number {at}").into());
    let refined = run(refine(&author).on_stall([Tactic::Stop]).limits(Limits::iterations(9))).await;
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Stalled, 3), "the same finding twice");
}

#[tokio::test]
async fn a_swing_between_two_drafts_is_noticed_by_content() {
    let author = Scripted::by("author", |_, at| if at % 2 == 0 { "0.5 one" } else { "0.6  TWO" }.into());
    let refined = run(refine(&author).on_stall([Tactic::Stop]).limits(Limits::iterations(9))).await;
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Stalled, 3));
    assert_eq!(refined.best.unwrap().text, "0.6  TWO");
}

#[tokio::test]
async fn a_fresh_chain_is_revised_from_its_own_best_and_the_best_of_all_comes_out() {
    let replies = ["0.7 a", "0.7 a", "0.1 b", "0.2 c", "0.3 d"];
    let author = Scripted::new("author", replies);
    let refined = run(refine(&author).on_stall([Tactic::FreshChain]).limits(Limits::iterations(5))).await;
    let line: Vec<_> = refined.iterations.iter().map(|iteration| (iteration.chain, iteration.from)).collect();
    assert_eq!(line, [(1, None), (1, Some(1)), (2, None), (2, Some(3)), (2, Some(4))]);
    assert_eq!(refined.best.unwrap().text, "0.7 a");
}

#[tokio::test]
async fn lessons_are_drawn_from_what_was_not_better_and_at_most_three_are_kept() {
    let author = Scripted::by("author", |request, at| {
        if words(request).contains("What is the lesson?") {
            return format!("lesson {at}").into();
        }
        format!("0.5 {at}").into()
    });
    let refined =
        run(refine(&author).lessons().on_stall([Tactic::Focus; 9]).limits(Limits::iterations(7))).await;
    assert_eq!(refined.stop, Stop::IterationsSpent);
    let asked: Vec<String> = author.asked().iter().map(words).collect();
    let last = asked.iter().rev().find(|words| words.contains("Write the improved text")).unwrap();
    assert_eq!(last.matches("- lesson ").count(), 3, "{last}");
}
