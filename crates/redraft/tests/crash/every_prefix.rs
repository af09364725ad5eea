//! For every prefix of the journal of a workflow with everything in it: resume, same end, nothing done twice.
//!
//! A crash can leave any prefix of a journal behind and nothing else. So we run a workflow once to its end, cut its
//! journal after every single event, hand each piece to a fresh store, and let a fresh engine finish it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redraft::store::{Batch, MemoryStore, NewRun, Standing, Store};
use redraft::workflow::{State, Workflow, with_call};
use redraft::{
    Answer, Backoff, Call, Ctx, Definition, DriverId, Engine, Failure, Policy, Question, RunId, Status, flow,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// How often each step was carried out, by path.
type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

fn happened(effects: &Effects, call: &Call) {
    *effects.lock().unwrap().entry(call.path.to_string()).or_default() += 1;
}

fn patience() -> Policy {
    let backoff = Backoff { first: Duration::ZERO, factor: 1.0, most: Duration::ZERO, jitter: 0.0 };
    Policy { attempts: 4, backoff, timeout: None }
}

fn engine_on(store: &MemoryStore, definition: impl Definition) -> redraft::EngineBuilder {
    Engine::on(store.clone()).workflow(definition).policy(patience())
}

/// Drives a run to its end, saying yes to every question.
async fn finish(engine: &Engine, run: RunId) -> Value {
    loop {
        let handle = engine.handle(run).await.unwrap();
        match handle.settled().await.unwrap().ending {
            redraft::Ending::Waiting { gates } => {
                for gate in gates {
                    // Another look may have answered it already.
                    let _ = engine.answer(run, gate.as_str(), Answer::new("approve").by("ada")).await;
                }
            }
            redraft::Ending::Done { output, .. } => return output,
            other => panic!("{other:?}"),
        }
    }
}

/// Splits a journal into the texts of its events.
async fn events_of(store: &MemoryStore, run: RunId) -> Vec<String> {
    let batches = store.read(run, 0).await.unwrap();
    let events =
        batches.iter().flat_map(|batch| serde_json::from_str::<Vec<Box<RawValue>>>(&batch.text).unwrap());
    events.map(|event| event.get().to_owned()).collect()
}

/// Makes a store that holds nothing but the first events of a run.
async fn store_with(run: RunId, workflow: &str, events: &[String]) -> MemoryStore {
    let store = MemoryStore::new();
    let batch = Batch {
        first: 1,
        count: u32::try_from(events.len()).unwrap(),
        text: format!("[{}]", events.join(",")),
    };
    let new = NewRun {
        run,
        workflow: workflow.to_owned(),
        version: 1,
        key: None,
        created_at: redraft::Timestamp::EPOCH,
        standing: Standing::unfinished(Status::Running),
        // A driver that has never attached is as dead as one that was killed.
        driver: DriverId::new(),
        batch,
    };
    store.create(new).await.unwrap();
    store
}

fn paths_of(events: &[String], kind: &str) -> BTreeSet<String> {
    let events = events.iter().map(|event| serde_json::from_str::<Value>(event).unwrap());
    events
        .filter(|event| event["type"] == kind)
        .map(|event| event["path"].as_str().unwrap().to_owned())
        .collect()
}

async fn survives_a_crash_at_every_event<D: Definition>(make: impl Fn(&Effects) -> D, input: D::Input)
where
    D::Input: Clone,
{
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let whole = make(&effects);
    let engine = engine_on(&store, make(&effects)).open().await.unwrap();
    let run = engine.start(&whole, input).await.unwrap().run();
    let wanted = finish(&engine, run).await;
    let events = events_of(&store, run).await;
    let all = paths_of(&events, "step_succeeded");
    assert!(events.len() > 40, "the journal has only {} events", events.len());
    drop(engine);

    for cut in 1..events.len() {
        let prefix = &events[..cut];
        let effects = Effects::default();
        let store = store_with(run, whole.name(), prefix).await;
        let engine = engine_on(&store, make(&effects)).open().await.unwrap();
        assert_eq!(engine.refused(), [], "after {cut} events");
        assert_eq!(
            finish(&engine, run).await,
            wanted,
            "another end after a crash behind {}",
            prefix[cut - 1]
        );
        let committed = paths_of(prefix, "step_succeeded");
        let effects = effects.lock().unwrap().clone();
        for path in &committed {
            assert!(!effects.contains_key(path), "`{path}` was done again after a crash behind event {cut}");
        }
        let done: BTreeSet<String> = effects.keys().cloned().collect();
        let rest: BTreeSet<String> = all.difference(&committed).cloned().collect();
        assert_eq!(done, rest, "what was not committed is done, all of it and nothing else (cut at {cut})");
        let before: Vec<String> = events_of(&store, run).await;
        assert_eq!(before[..cut], *prefix, "the journal was rewritten");
        // And again, from the journal that two lives have written.
        drop(engine);
        let engine = engine_on(&store, make(&Effects::default())).open().await.unwrap();
        assert_eq!(finish(&engine, run).await, wanted);
    }
}

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

#[tokio::test]
async fn a_typed_workflow_survives_a_crash_at_every_event() {
    survives_a_crash_at_every_event(book, empty_book()).await;
}

#[tokio::test]
async fn append_adds_exactly_one_entry_per_step_across_crashes() {
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = book(&effects);
    let engine = engine_on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, empty_book()).await.unwrap().run();
    let output: Book = serde_json::from_value(finish(&engine, run).await).unwrap();
    let unique: BTreeSet<&String> = output.log.iter().collect();
    assert_eq!(unique.len(), output.log.len(), "an entry was added twice: {:?}", output.log);
    // Cleanup runs after the output is settled, but it is part of the state like any other step.
    assert_eq!(output.log.len(), effects.lock().unwrap().len());
    assert_eq!(output.formats.len(), 2);
    assert!(output.approved);
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
            let again = ctx.step("dice", || async { Ok::<_, Failure>(dice) }).await?;
            assert_eq!(again, dice, "the dice fell otherwise on replay");
            Ok(serde_json::json!({ "totals": totals, "choice": answer.choice }))
        }
    })
}

#[tokio::test]
async fn an_imperative_workflow_survives_a_crash_at_every_event() {
    // `dice` is a step whose effect is not counted; it has no side effect to repeat.
    let counted = |effects: &Effects| imperative(effects);
    let (store, effects) = (MemoryStore::new(), Effects::default());
    let workflow = counted(&effects);
    let engine = engine_on(&store, workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, 3).await.unwrap().run();
    let wanted = finish(&engine, run).await;
    let events = events_of(&store, run).await;
    assert!(events.len() > 60);
    for cut in 1..events.len() {
        let effects = Effects::default();
        let store = store_with(run, "imperative", &events[..cut]).await;
        let engine = engine_on(&store, counted(&effects)).open().await.unwrap();
        assert_eq!(finish(&engine, run).await, wanted, "after {cut} events");
        let committed = paths_of(&events[..cut], "step_succeeded");
        for (path, times) in effects.lock().unwrap().iter() {
            assert!(!committed.contains(path), "`{path}` was done again after a crash behind event {cut}");
            assert_eq!(*times, 1, "`{path}` was done {times} times in one life");
        }
    }
}
