//! Nothing is spent beyond the limit, whatever fails, and the best so far comes out.

use proptest::prelude::*;
use redraft::llm::{Error, PriceTable, Scripted, Turn, Usage};
use redraft::refine::{Limits, Mode, Refined, Tactic};
use redraft::store::MemoryStore;
use redraft::{Backoff, Engine, Policy, Status, Stop};
use serde_json::json;
use std::time::Duration;

use crate::support::{refine, run};

fn limits(tokens: u64) -> Limits {
    let mut limits = Limits::iterations(8);
    limits.tokens = Some(tokens);
    limits
}

#[tokio::test]
async fn when_the_budget_is_spent_the_best_so_far_comes_out() {
    let author =
        Scripted::by("author", |_, at| Turn::text(format!("0.{}", at + 3)).usage(Usage::new(10, 10)));
    let mut limits = Limits::iterations(9);
    limits.calls = Some(3);
    let refined = run(refine(&author).limits(limits)).await;
    assert_eq!((refined.stop, refined.spend.calls), (Stop::BudgetSpent, 3));
    assert_eq!(refined.best.unwrap().text, "0.5");
    assert_eq!(refined.because.unwrap().code, "budget-spent");
}

#[tokio::test]
async fn a_budget_too_small_for_anything_spends_nothing() {
    let author = Scripted::new("author", ["0.9"]);
    let refined = run(refine(&author).limits(limits(10))).await;
    assert_eq!((refined.stop, refined.best, refined.spend.calls), (Stop::BudgetSpent, None, 0));
    assert_eq!(author.asked().len(), 0);
}

/// One reply: how good, how dear, and whether it fails instead.
fn reply() -> impl Strategy<Value = Turn> {
    let error = |which: u8| match which {
        0 => Error::Malformed { model: "m".to_owned(), message: "no".to_owned(), usage: None },
        1 => Error::Truncated { model: "m".to_owned(), message: "cut".to_owned() },
        2 => Error::Overloaded {
            model: "m".to_owned(),
            status: 529,
            message: "busy".to_owned(),
            retry_after: None,
        },
        _ => Error::Timeout { model: "m".to_owned(), after: Duration::ZERO },
    };
    prop_oneof![
        4 => (0..99_u32, 0..3000_u64, 0..3000_u64).prop_map(|(score, input, output)| {
            Turn::text(format!("0.{score:02}")).usage(Usage::new(input.min(300), output))
        }),
        1 => (0..4_u8).prop_map(move |which| Turn::error(error(which))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_failures_retries_and_candidates_spends_more_than_the_limit(
        replies in prop::collection::vec(reply(), 1..40),
        tokens in 0..60_000_u64,
        candidates in 1..4_u32,
        lessons in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (refined, status) = runtime.block_on(async {
            let author = Scripted::by("author", move |_, at| replies[at % replies.len()].clone());
            let mut refine = refine(&author)
                .candidates(candidates)
                .mode(Mode::Rewrite)
                .on_stall([Tactic::Widen, Tactic::FreshChain])
                .prices(PriceTable::builtin())
                .limits(limits(tokens));
            if lessons {
                refine = refine.lessons();
            }
            let refine = refine.build().unwrap();
            let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
            let policy = Policy { attempts: 3, backoff, timeout: None };
            let engine =
                Engine::on(MemoryStore::new()).policy(policy).workflow(refine.clone()).open().await.unwrap();
            let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap();
            let outcome = run.outcome().await.unwrap();
            let spent = engine.tree(run.run()).await.unwrap().spend;
            assert!(spent.usage.total() <= tokens, "{} of {tokens} tokens", spent.usage.total());
            let status = outcome.status();
            (outcome.into_output().ok(), status)
        });
        if let Some(Refined { best: Some(best), iterations, .. }) = refined {
            let most = iterations.iter().map(|iteration| iteration.score).fold(0.0, f64::max);
            prop_assert_eq!(best.score, most);
        } else {
            prop_assert!(matches!(status, Status::Failed | Status::Exhausted));
        }
    }
}
