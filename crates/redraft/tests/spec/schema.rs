//! The published schema is the one that is used, and every example fits it.

use redraft::spec::{Registry, Spec, schema};
use serde_json::Value;

use super::{files, same_as};

#[test]
fn the_schema_in_the_documentation_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/spec.schema.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&sorted(schema())).unwrap());
    let how = "REDRAFT_WRITE=1 cargo test -p redraft --test spec";
    assert!(
        same_as(&path, &text).is_ok(),
        "docs/reference/spec.schema.json is out of date; write it anew: {how}"
    );
}

/// Sorts the keys of all objects, so that the file does not depend on how a map keeps its entries.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<(String, Value)> =
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

#[test]
fn every_good_file_fits_the_schema_and_broken_shapes_do_not() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for path in files("good", "yaml") {
        let value = yaml(&path);
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", path.display());
    }
    for name in ["unknown-key", "unknown-kind", "no-kind-and-two-kinds", "wrong-types", "unknown-words"] {
        let path = files("broken", "yaml").into_iter().find(|path| path.ends_with(format!("{name}.yaml")));
        assert!(!validator.is_valid(&yaml(&path.unwrap())), "{name}");
    }
}

#[test]
fn what_a_run_carries_fits_the_schema_too() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for path in files("good", "yaml") {
        let spec = Spec::read(&path, &Registry::builtin()).unwrap();
        let value = serde_json::to_value(spec.resolved()).unwrap();
        assert!(validator.is_valid(&value), "{}: {value:#}", path.display());
    }
}

fn yaml(path: &std::path::Path) -> Value {
    redraft::spec::yaml(&path.display().to_string(), &std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_example_of_the_reference_is_a_spec_and_every_key_is_explained() {
    let page = include_str!("../../../../docs/reference/spec.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    Spec::parse("spec.md", example.as_bytes(), None, &Registry::builtin()).unwrap();
    let schema = schema();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(
            page.contains(&format!("\n| `{key}` |")),
            "`{key}` is not explained in docs/reference/spec.md"
        );
    }
}
