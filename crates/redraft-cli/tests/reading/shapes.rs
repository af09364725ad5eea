//! What `--json` prints has the shape that `docs/reference/json` says.

use serde_json::Value;

use crate::support::{GOOD, HOSTILE, Store};

fn check(name: &str, value: &Value, command: &[&str]) {
    let file = format!("{}/../../docs/reference/json/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{command:?}: {wrong:#?}");
}

#[test]
fn everything_that_is_printed_as_json_has_its_written_shape() {
    let store = Store::new();
    store.refined(&GOOD);
    store.waiting(&GOOD);
    let hostile = store.refined(&HOSTILE).to_string();
    let cases: [(&str, &[&str]); 16] = [
        ("list", &["list"]),
        ("show", &["show", "last"]),
        ("show", &["show", &hostile]),
        ("show-draft", &["show", "last", "--best"]),
        ("show-draft", &["show", "last", "--draft", "1"]),
        ("show-transcript", &["show", "last", "--transcript"]),
        ("diff", &["diff", "last", "1..2"]),
        ("run", &["export", "last"]),
        ("run", &["export", &hostile]),
        ("explain", &["explain"]),
        ("explain", &["explain", "budget-spent"]),
        ("explain", &["explain", "last"]),
        ("models", &["models"]),
        ("models", &["models", "openai"]),
        ("doctor", &["doctor"]),
        ("doctor", &["doctor", "--online"]),
    ];
    for (shape, command) in cases {
        check(shape, &store.json(command), command);
    }
    let waiting =
        store.json(&["list", "--status", "waiting"])["runs"][0]["run_id"].as_str().unwrap().to_owned();
    check("show", &store.json(&["show", &waiting]), &["show", "of a run that waits"]);
    store.several();
    check("show", &store.json(&["show", "last"]), &["show", "of a run with several refinements"]);
    for line in store.text(&["show", "last", "--journal"]).lines() {
        check("event", &serde_json::from_str(line).unwrap(), &["show", "--journal"]);
    }
}

#[test]
fn a_run_prints_the_shape_that_its_export_has() {
    let store = Store::new();
    std::fs::write(
        store.folder().join("tides.yaml"),
        "name: tides\nmodels: { canned: { scripted: [\"The wind.\", \"The moon.\"] } }\n\
         draft: { model: canned, prompt: Why are there tides? }\n\
         verify: [{ name: short, text: { words: { max: 2 } } }]\n",
    )
    .unwrap();
    let ran = store.json(&["run", "tides.yaml"]);
    check("run", &ran, &["run"]);
    let exported = store.json(&["export", "last"]);
    for (key, value) in ran.as_object().unwrap() {
        assert_eq!(exported.get(key), Some(value), "{key}");
    }
}

#[test]
fn a_shape_refuses_what_is_not_so() {
    let store = Store::new();
    store.refined(&GOOD);
    let mut listed = store.json(&["list"]);
    listed["runs"][0]["status"] = Value::from("done");
    let refused = std::panic::catch_unwind(|| check("list", &listed, &["list"]));
    assert!(refused.is_err());
}
