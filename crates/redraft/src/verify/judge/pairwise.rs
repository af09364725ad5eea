//! A draft against the best one so far, side by side.
//!
//! Models prefer what stands first (or second), so each pair is shown in both orders. Only a draft that wins both has
//! won; who wins once in each place is a tie.

use serde::Deserialize;
use serde_json::{Map, json};

use super::Judge;
use super::answer::{choice, object, text};
use crate::failure::Failure;
use crate::llm::{OutputSchema, Request, ask_shaped};
use crate::run::Ctx;
use crate::verify::undecided::{no_verdict, undecided};
use crate::verify::{Case, Incumbent, Verdict, quote};

/// By how much the winner of a comparison is above the loser, at least.
const STEP: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Better {
    A,
    B,
    Tie,
}

#[derive(Clone, Debug, Deserialize)]
struct Comparison {
    better: Better,
}

/// How a draft fared against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duel {
    Won,
    Lost,
    Tie,
    /// The same place won twice.
    OrderBias,
}

/// Reads the two answers; the challenger is `a` in the first and `b` in the second.
fn duel(first: Better, second: Better) -> Duel {
    match (first, second) {
        (Better::A, Better::B) => Duel::Won,
        (Better::B, Better::A) => Duel::Lost,
        (Better::A, Better::A) | (Better::B, Better::B) => Duel::OrderBias,
        (Better::Tie, _) | (_, Better::Tie) => Duel::Tie,
    }
}

/// Brings a rubric's score into line with the comparison: above the incumbent's after a win, below after a loss, the
/// same after a tie. A score that is in line already stays; there is nothing above 1 and nothing below 0.
fn in_line(duel: Duel, score: f64, incumbent: f64) -> f64 {
    let score = match duel {
        Duel::Won => score.max(incumbent + STEP),
        Duel::Lost => score.min(incumbent - STEP),
        Duel::Tie | Duel::OrderBias => incumbent,
    };
    score.clamp(0.0, 1.0)
}

impl Judge {
    /// Compares the draft with the incumbent and corrects the score. An incumbent that this judge has not scored is no
    /// measure, and one of the same words needs no comparison.
    pub(super) async fn compared(
        &self,
        ctx: &Ctx,
        case: &Case,
        incumbent: &Incumbent,
        mut verdict: Verdict,
    ) -> Result<Verdict, Failure> {
        let Some(score) = incumbent.score else { return Ok(verdict) };
        if incumbent.draft == case.draft {
            return Ok(verdict.graded(score));
        }
        let orders = [(&case.draft, &incumbent.draft), (&incumbent.draft, &case.draft)];
        let answers = ctx
            .parallel("compare", orders, 2, |ctx, (first, second)| async move {
                let rendered = self.prompts.render(
                    "pairwise",
                    json!({
                        "task": quote::inert(&case.task),
                        "criteria": self.rubric.iter().map(|criterion| &criterion.text).collect::<Vec<_>>(),
                        "first": quote::inert(first),
                        "second": quote::inert(second),
                    }),
                )?;
                let request = Request::from(rendered);
                ask_shaped(&ctx, "pair", &self.model, request, super::TRIES, schema(), |_: &Comparison| {
                    Vec::new()
                })
                .await
                .map_err(no_verdict)
            })
            .await;
        let (answers, failures) = super::sorted(answers);
        let [first, second] = answers.as_slice() else {
            return Err(undecided("the drafts could not be compared in both orders".to_owned(), &failures));
        };
        let duel = duel(first.better, second.better);
        if duel == Duel::OrderBias {
            verdict = verdict.warning(
                "the judge prefers whichever draft stands in one place: the comparison counts as a tie",
            );
        }
        let in_line = in_line(duel, verdict.score, score);
        Ok(verdict.graded(in_line))
    }
}

fn schema() -> OutputSchema {
    let parts = Map::from_iter([
        ("because".to_owned(), text("what decides it, in one sentence")),
        ("better".to_owned(), choice(&["a", "b", "tie"])),
    ]);
    OutputSchema { name: "comparison".to_owned(), schema: object(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_wins_in_both_places_has_won() {
        let cases = [
            (Better::A, Better::B, Duel::Won),
            (Better::B, Better::A, Duel::Lost),
            (Better::A, Better::A, Duel::OrderBias),
            (Better::B, Better::B, Duel::OrderBias),
            (Better::A, Better::Tie, Duel::Tie),
            (Better::Tie, Better::Tie, Duel::Tie),
        ];
        for (first, second, wanted) in cases {
            assert_eq!(duel(first, second), wanted, "{first:?} {second:?}");
        }
    }

    #[test]
    fn the_score_follows_the_comparison_and_stays_within_bounds() {
        let cases = [
            (Duel::Won, 0.9, 0.7, 0.9),
            (Duel::Won, 0.5, 0.7, 0.71),
            (Duel::Lost, 0.9, 0.7, 0.69),
            (Duel::Lost, 0.5, 0.7, 0.5),
            (Duel::Tie, 0.9, 0.7, 0.7),
            (Duel::OrderBias, 0.1, 0.7, 0.7),
            (Duel::Won, 0.9, 1.0, 1.0),
            (Duel::Lost, 0.9, 0.0, 0.0),
        ];
        for (duel, score, incumbent, wanted) in cases {
            assert!((in_line(duel, score, incumbent) - wanted).abs() < 1e-9, "{duel:?} {score} {incumbent}");
        }
    }
}
