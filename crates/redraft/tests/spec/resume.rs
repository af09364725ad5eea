//! A run of a spec goes on from its journal alone, and under other limits if they are changed.

use std::sync::Arc;

use redraft::refine::Refined;
use redraft::spec::{Registry, ScriptedOnly, Spec, SpecWorkflow};
use redraft::store::MemoryStore;
use redraft::{Engine, RunId, Stop};

const FILE: &str = "
name: essay
models:
  author: { scripted: [{ error: too busy }, one two three, one two, one] }
draft: { model: author, prompt: Write. }
verify: [{ name: short, text: { words: { max: 1 } } }]
limits: { iterations: 5, calls: 2 }
";

fn workflow() -> SpecWorkflow {
    SpecWorkflow::named("essay", Arc::new(ScriptedOnly), Registry::builtin(), None)
}

async fn engine(store: &MemoryStore) -> Engine {
    Engine::on(store.clone()).workflow(workflow()).open().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_takes_other_limits_and_its_scripts_go_on_where_they_were() {
    let store = MemoryStore::new();
    let spec = Spec::parse("essay.yaml", FILE.as_bytes(), None, &Registry::builtin()).unwrap();
    let mut input = spec.input(&[]).unwrap();
    let first = engine(&store).await;
    let run = first.start(&workflow(), input.clone()).await.unwrap();
    let id: RunId = run.run();
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::BudgetSpent, 1));
    drop(first);

    input.spec.limits.calls = Some(10);
    let second = engine(&store).await;
    let run = second.resume_with(id, &input).await.unwrap().typed::<Refined>();
    let refined = run.outcome().await.unwrap().into_output().unwrap();
    assert_eq!(refined.stop, Stop::Accepted);
    let texts: Vec<&str> = refined.iterations.iter().map(|iteration| iteration.text.as_str()).collect();
    assert_eq!(texts, ["one two three", "one two", "one"]);
}
