//! Nothing is spent beyond the limit, whatever fails, and the best so far comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use redraft::llm::{
    Answering, Completion, Error, Listener, Model, PriceTable, Request, Scripted, Turn, Usage,
};
use redraft::refine::{Limits, Mode, Refine, Refined, Tactic};
use redraft::store::MemoryStore;
use redraft::verify::{Judge, Panel, Verifier};
use redraft::{Backoff, Engine, Policy, Status, Stop};
use serde_json::json;
use tokio::sync::Notify;

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

/// Writes, judges and teaches; counts what it took, and hangs at some calls until the process is gone.
#[derive(Clone, Debug)]
struct Hanging {
    replies: Arc<Vec<(u8, u64)>>,
    hangs_at: Arc<Vec<usize>>,
    asked: Arc<AtomicUsize>,
    took: Arc<AtomicU64>,
    hung: Arc<Notify>,
}

impl Model for Hanging {
    fn name(&self) -> &str {
        "scripted:hanging"
    }

    fn answer<'a>(&'a self, request: &'a Request, _: &'a mut dyn Listener) -> Answering<'a> {
        Box::pin(async move {
            let at = self.asked.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            if self.hangs_at.contains(&at) {
                self.hung.notify_one();
                std::future::pending::<()>().await;
            }
            let (what, output) = self.replies[at % self.replies.len()];
            let usage = Usage::new(100, output);
            self.took.fetch_add(usage.total(), Ordering::SeqCst);
            let model = || self.name().to_owned();
            let text = match what {
                0 => {
                    return Err(Error::Malformed {
                        model: model(),
                        message: "no".to_owned(),
                        usage: Some(usage),
                    });
                }
                1 => String::new(),
                _ if request.schema.is_some() => {
                    json!({ "findings": [], "scores": { "clear": what }, "strengths": [] }).to_string()
                }
                _ => format!("0.{what} {at}"),
            };
            let mut said = Completion::new(self.name(), text);
            said.usage = usage;
            Ok(said)
        })
    }

    fn takes_schemas(&self) -> bool {
        true
    }
}

fn judged_by(model: &Hanging) -> Refine {
    let judge = |samples: u32| -> Arc<dyn Verifier> {
        Arc::new(Judge::new(Arc::new(model.clone())).rubric(["clear"]).samples(samples))
    };
    let panel = Panel::mean([("one", judge(1)), ("two", judge(2))]);
    Refine::new("essay", model.clone())
        .verify("panel", panel)
        .lessons()
        .on_stall([Tactic::Widen, Tactic::FreshChain])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_crash_lets_judges_candidates_and_lessons_spend_more_than_the_limit(
        replies in prop::collection::vec((0..10_u8, 0..3000_u64), 1..40),
        hangs_at in prop::collection::vec(0..30_usize, 0..3),
        tokens in 0..90_000_u64,
        candidates in 1..4_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let model = Hanging {
                replies: Arc::new(replies),
                hangs_at: Arc::new(hangs_at),
                asked: Arc::default(),
                took: Arc::default(),
                hung: Arc::default(),
            };
            let refine = judged_by(&model).candidates(candidates).limits(limits(tokens)).build().unwrap();
            let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
            let policy = Policy { attempts: 3, backoff, timeout: None };
            let store = MemoryStore::new();
            let open = || Engine::on(store.clone()).policy(policy.clone()).workflow(refine.clone()).open();
            let mut engine = open().await.unwrap();
            let run = engine.start(&refine, json!({ "task": "?" })).await.unwrap().run();
            let mut crashes = 0;
            let outcome = loop {
                let handle = engine.handle(run).await.unwrap();
                tokio::select! {
                    outcome = handle.outcome() => break outcome.unwrap(),
                    () = model.hung.notified() => {
                        engine.shut_down().await;
                        engine = open().await.unwrap();
                        crashes += 1;
                    }
                }
            };
            let journaled = engine.tree(run).await.unwrap().spend.usage.total();
            assert!(journaled <= tokens, "{journaled} of {tokens} tokens in the journal");
            // What was under way in a crash, beside the call that hung, may have been paid for and lost.
            let lost = crashes * u64::from(candidates.max(3)) * 3 * 3100;
            let took = model.took.load(Ordering::SeqCst);
            assert!(took <= journaled + lost, "{took} taken, {journaled} in the journal, {crashes} crashes");
            assert!(matches!(outcome.status(), Status::Failed | Status::Exhausted | Status::Accepted));
        });
    }
}

#[tokio::test]
async fn a_panel_is_paid_for_like_everybody_else() {
    let model = Hanging {
        replies: Arc::new(vec![(9, 10)]),
        hangs_at: Arc::default(),
        asked: Arc::default(),
        took: Arc::default(),
        hung: Arc::default(),
    };
    let refined = run(judged_by(&model)).await;
    assert_eq!((refined.stop, refined.spend.calls), (Stop::Accepted, 4), "one draft, three looks at it");
    assert_eq!(refined.spend.usage.total(), model.took.load(Ordering::SeqCst));
}
