//! What the pure parts of the loop decide.

use super::*;

/// A draft of a score, with nothing else to it.
pub(super) fn iteration(n: u32, score: f64) -> Iteration {
    Iteration {
        n,
        score,
        accepted: false,
        text: format!("draft {n}"),
        findings: Vec::new(),
        verdicts: Vec::new(),
        gates_passed: 0,
        gates: 0,
        how: How::Rewrite,
        by: "m".to_owned(),
        from: n.checked_sub(1).filter(|n| *n > 0),
        chain: 1,
        repeats: None,
        frozen: 0,
        tactic: None,
        candidates: 1,
        strengths: Vec::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn a_stall_shows_in_the_content_of_the_drafts() {
    let plateau = Plateau::default();
    let scores = |scores: &[f64]| -> Vec<Iteration> {
        (1..).zip(scores).map(|(n, score)| iteration(n, *score)).collect()
    };
    let cases = [
        (scores(&[0.2, 0.4, 0.6, 0.8]), None, "it gets better"),
        (scores(&[0.2, 0.2, 0.2]), None, "two rounds are not a plateau"),
        (scores(&[0.5, 0.505, 0.505, 0.507]), Some(Signal::Plateau), "too little is nothing"),
        (scores(&[0.9, 0.5, 0.3]), Some(Signal::Regression), "worse twice in a row"),
        (scores(&[0.5, 0.4, 0.6, 0.5]), None, "up and down, but up"),
    ];
    for (history, signal, why) in cases {
        assert_eq!(stall::signal(&history, 0, plateau), signal, "{why}");
    }
    let mut swing = scores(&[0.5, 0.4, 0.5, 0.4]);
    swing[2].repeats = Some(1);
    assert_eq!(stall::signal(&swing[..3], 0, plateau), Some(Signal::Oscillation));
    swing[3].repeats = Some(1);
    assert_eq!(stall::signal(&swing, 0, plateau), Some(Signal::Repeat));
}

#[test]
fn the_earlier_draft_wins_a_tie_and_gates_come_before_scores() {
    let (first, second) = (iteration(1, 0.5), iteration(2, 0.5));
    assert!(!second.beats(&first) && !first.beats(&second));
    let gated = Iteration { gates_passed: 1, ..iteration(3, 0.1) };
    assert!(gated.beats(&first) && !first.beats(&gated));
}
