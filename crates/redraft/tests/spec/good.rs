//! Good specs run, and a run carries all it needs.

use std::sync::Arc;

use redraft::refine::Refined;
use redraft::sandbox::Environment;
use redraft::spec::{Makers, Reach, Registry, ScriptedOnly, Spec, SpecInput, SpecWorkflow};
use redraft::store::MemoryStore;
use redraft::{Engine, Failure, Stop, llm};

use serde_json::json;

use super::files;

/// Makes every model a script that never says anything.
struct Silent;

impl Makers for Silent {
    fn model(&self, name: &str, _: &Reach) -> Result<Arc<dyn llm::Model>, Failure> {
        Ok(Arc::new(llm::Scripted::new(name, [""; 0])))
    }

    fn environment(&self) -> Environment {
        Environment::new(std::env::vars_os())
    }
}

fn spec(name: &str) -> Spec {
    let path = files("good", "yaml").into_iter().find(|path| path.ends_with(format!("{name}.yaml"))).unwrap();
    Spec::read(path, &Registry::builtin()).map_err(|error| error.render(false)).unwrap()
}

async fn run(input: SpecInput) -> Refined {
    let name = input.spec.name.clone();
    let workflow = SpecWorkflow::named(name, Arc::new(Silent), Registry::builtin(), None);
    let engine = Engine::on(MemoryStore::new()).workflow(workflow.clone()).open().await.unwrap();
    let run = engine.start(&workflow, input).await.unwrap();
    run.outcome().await.unwrap().into_output().unwrap()
}

#[tokio::test]
async fn the_blog_opening_is_accepted_at_the_second_draft() {
    let refined = run(spec("blog-opening").input(&[]).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.best.unwrap().iteration, 2);
    let failed: Vec<&str> =
        refined.iterations[0].findings.iter().map(|finding| finding.verifier.as_str()).collect();
    assert!(failed.contains(&"three-sentences"), "{failed:?}");
}

#[tokio::test]
async fn an_order_fits_its_schema_in_the_end() {
    let refined = run(spec("order").input(&[]).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.iterations.len(), 3);
}

#[tokio::test]
async fn a_spec_with_every_key_runs() {
    let refined = run(spec("everything").input(&[]).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.best.unwrap().text, "one, two");
}

#[tokio::test]
async fn what_a_run_carries_needs_no_files() {
    let input = spec("order").input(&[]).unwrap();
    let carried = serde_json::to_string(&input).unwrap();
    assert!(!carried.contains("files/order"), "{carried}");
    let refined = run(serde_json::from_str(&carried).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
}

#[test]
fn a_reference_to_a_secret_is_carried_and_never_its_value() {
    let carried = serde_json::to_string(spec("everything").resolved()).unwrap();
    assert!(carried.contains("${MY_KEY}"));
}

#[test]
fn a_model_that_cannot_be_made_has_its_place() {
    let error = spec("everything").try_models(&ScriptedOnly).unwrap_err();
    let places: Vec<u32> = error.diagnostics().iter().map(|found| found.line).collect();
    assert_eq!(places, [10, 11]);
}

#[tokio::test]
async fn an_expression_that_fails_on_a_real_draft_accepts_nothing_and_says_so() {
    let file = "
name: essay
models: { author: { scripted: [one two, one] } }
draft: { model: author, prompt: Write. }
verify: [{ name: short, text: { words: { max: 1 } } }]
accept: findings[0].severity == 'blocking' || score < 0.5
limits: { iterations: 2 }
";
    let spec = Spec::parse("essay.yaml", file.as_bytes(), None, &Registry::builtin()).unwrap();
    let refined = run(spec.input(&[]).unwrap()).await;
    assert_eq!(refined.stop, Stop::IterationsSpent);
    let said = refined.warnings.join("\n");
    assert!(said.contains("the draft of iteration 2 was not accepted"), "{said}");
}

#[tokio::test]
async fn a_query_is_run_against_the_tables_that_came_along() {
    let refined = run(spec("query").input(&[]).unwrap()).await;
    assert_eq!(refined.stop, Stop::Accepted);
    assert_eq!(refined.best.unwrap().text, "SELECT name FROM users");
}

#[tokio::test]
async fn a_program_judges() {
    let refined = run(spec("built").input(&[]).unwrap()).await;
    assert_eq!(refined.best.unwrap().text, "a good draft");
    assert_eq!(refined.iterations.len(), 2);
}

#[tokio::test]
async fn protocols_that_judge_by_themselves_go_without_verifiers() {
    for (name, best) in [("talk", "second draft"), ("consistent", "4")] {
        let refined = run(spec(name).input(&[]).unwrap()).await;
        assert_eq!(refined.stop, Stop::Accepted, "{name}");
        let text = refined.best.unwrap().text;
        assert!(text.contains(best), "{name}: {text}");
    }
}

#[test]
fn what_stands_in_files_is_taken_in_and_folders_stay_paths() {
    let spec = spec("all-kinds");
    let settings = |name: &str| {
        let check = spec.resolved().verify.iter().find(|check| check.name == name).unwrap();
        check.kind.values().next().unwrap().clone()
    };
    assert_eq!(settings("e")["rubric"], json!(["It is clear.", "It is short."]));
    assert_eq!(
        settings("g")["documents"][0],
        json!({ "name": "facts.md", "text": "The moon pulls the sea.\n" })
    );
    assert!(settings("j")["tests"].as_str().unwrap().contains("it_adds"));
    let folder = std::path::PathBuf::from(settings("i")["folder"].as_str().unwrap());
    assert!(folder.is_absolute() && folder.is_dir());
}
