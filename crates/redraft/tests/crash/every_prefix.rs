//! For every prefix of the journal of a workflow with everything in it: resume, same end, nothing done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use redraft::workflow::{State, Workflow, with_call};
use redraft::{Call, Ctx, Ending, Failure, Question, flow};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::{Effects, Life, WhenFailed, crash_everywhere, happened};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, State)]
struct Book {
    title: String,
    chapters: u32,
    quality: f64,
    approved: bool,
    #[state(append)]
    log: Vec<String>,
    #[state(merge)]
    formats: BTreeMap<String, String>,
}

fn empty_book() -> Book {
    let title = "Tides".to_owned();
    Book { title, chapters: 0, quality: 0.0, approved: false, log: Vec::new(), formats: BTreeMap::new() }
}

/// Nested loops, an exit, a branch, a fork, a gate, a flaky step, a compensation that is not needed, a cleanup.
fn book(effects: &Effects) -> Workflow<Book> {
    let step = |make: fn(&Book) -> BookUpdate| {
        let effects = Arc::clone(effects);
        with_call(move |book: Arc<Book>, call: Call| {
            let effects = Arc::clone(&effects);
            async move {
                // Something always happens between the beginning and the end of real work.
                tokio::task::yield_now().await;
                happened(&effects, &call);
                Ok::<_, Failure>(make(&book).append_log(call.path.to_string()))
            }
        })
    };
    let flaky = {
        let effects = Arc::clone(effects);
        with_call(move |book: Arc<Book>, call: Call| {
            let effects = Arc::clone(&effects);
            async move {
                if call.attempt == 1 {
                    return Err(Failure::passing("flaky", "the first attempt always fails"));
                }
                happened(&effects, &call);
                Ok(Book::update().quality(book.quality + 0.4).append_log(call.path.to_string()))
            }
        })
    };
    Workflow::<Book>::named("book")
        .start_with("outline", step(|_| Book::update()))
        .compensate("burn", step(|_| Book::update()))
        .repeat_until(
            "chapters",
            4,
            |book| book.chapters >= 2,
            move |body| {
                body.then("write", step(|book| Book::update().chapters(book.chapters + 1).quality(0.0)))
                    .repeat_until(
                        "refinement",
                        3,
                        |_| false,
                        |inner| {
                            inner
                                .then("critique", flaky)
                                .exit_when("good-enough", |book| book.quality >= 0.8)
                                .then("refine", step(|_| Book::update()))
                        },
                    )
                    .branch("route", |ways| {
                        ways.when(
                            "last",
                            |book| book.chapters >= 2,
                            |body| body.then("wrap-up", step(|_| Book::update())),
                        )
                        .otherwise("more", |body| body.then("go-on", step(|_| Book::update())))
                    })
            },
        )
        .fork("formats", |paths| {
            paths
                .path("html", |body| {
                    body.then(
                        "render",
                        step(|_| {
                            Book::update().merge_formats(BTreeMap::from([("html".into(), "<p>".into())]))
                        }),
                    )
                    .then("check", step(|_| Book::update()))
                })
                .path("markdown", |body| {
                    body.then(
                        "render",
                        step(|_| Book::update().merge_formats(BTreeMap::from([("md".into(), "#".into())]))),
                    )
                })
        })
        .join("formatted")
        .gate(
            "approve",
            |book| Question::new(format!("Publish {}?", book.title)),
            |answer| Book::update().approved(answer.choice == "approve"),
        )
        .then("publish", step(|_| Book::update()))
        .finally(|body| body.then("tidy", step(|_| Book::update())))
        .build()
        .unwrap()
}

/// What is left of a book when its run is over.
fn state_of(life: &Life) -> Book {
    match &life.ending {
        Ending::Done { output, .. } => serde_json::from_value(output.clone()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_typed_workflow_survives_a_crash_at_every_event() {
    let (first, lives) = crash_everywhere(book, empty_book(), WhenFailed::LeaveIt).await;
    assert!(lives.len() > 40, "the journal has only {} events", first.events.len());
    let whole = state_of(&first);
    assert_eq!((whole.formats.len(), whole.approved), (2, true));
    for life in &lives {
        life.does_the_rest_of(&first);
        // What a step appends is in the state once, whether it was carried out in this life or replayed from another.
        let log = state_of(life).log;
        let entries: BTreeSet<String> = log.iter().cloned().collect();
        assert_eq!(entries.len(), log.len(), "an entry was added twice: {log:?}");
        assert_eq!(entries, first.done(), "after a crash behind event {}", life.found);
    }
}

/// The same in the imperative style, with what only it has: parallel items, values, sleeps, notes.
fn imperative(effects: &Effects) -> redraft::Flow<u32, Value> {
    let effects = Arc::clone(effects);
    flow("imperative", move |ctx: Ctx, chapters: u32| {
        let effects = Arc::clone(&effects);
        async move {
            let step = |ctx: Ctx, name: &'static str| {
                let effects = Arc::clone(&effects);
                async move {
                    ctx.step_with(name, |call| {
                        let effects = Arc::clone(&effects);
                        async move {
                            tokio::task::yield_now().await;
                            if name == "flaky" && call.attempt < 3 {
                                return Err(Failure::passing("flaky", "not yet"));
                            }
                            happened(&effects, &call);
                            Ok(name.len())
                        }
                    })
                    .await
                }
            };
            // The number itself is chance; that it stays the same is checked by its use.
            let dice = ctx.random().await;
            ctx.note("begun").await;
            let results = ctx
                .parallel("chapters", 1..=chapters, 2, |ctx, n| {
                    let step = &step;
                    async move {
                        let (total, _) = ctx
                            .repeat_until(
                                "rounds",
                                3,
                                0,
                                |total| *total > 12,
                                |ctx, total| async move {
                                    let a = step(ctx.clone(), "write").await?;
                                    let b =
                                        step(ctx.clone(), if n == 2 { "flaky" } else { "polish" }).await?;
                                    ctx.sleep(Duration::ZERO).await?;
                                    Ok(total + a + b)
                                },
                            )
                            .await?;
                        Ok(total)
                    }
                })
                .await;
            let totals: Vec<usize> = results.into_iter().collect::<Result<_, _>>()?;
            let answer = ctx.gate("approve", Question::new("?")).await?;
            let again = ctx
                .step_with("dice", |call| {
                    happened(&effects, &call);
                    async move { Ok::<_, Failure>(dice) }
                })
                .await?;
            assert_eq!(again, dice, "the dice fell otherwise on replay");
            Ok(serde_json::json!({ "totals": totals, "choice": answer.choice }))
        }
    })
}

#[tokio::test]
async fn an_imperative_workflow_survives_a_crash_at_every_event() {
    let (first, lives) = crash_everywhere(imperative, 3, WhenFailed::LeaveIt).await;
    assert!(lives.len() > 60, "the journal has only {} events", first.events.len());
    for life in &lives {
        life.does_the_rest_of(&first);
    }
}
