//! What a run is given fits what the spec declares.

use redraft::Fault;
use redraft::spec::{Registry, Spec};
use serde_json::{Value, json};

fn gathered(set: &[(&str, &str)]) -> Result<Value, String> {
    let file = "
name: essay
input:
  topic: { type: string }
  words: { type: integer, minimum: 1, default: 100 }
  ratio: { type: number, default: 0.5 }
  loud: { type: boolean, default: false }
  tags: { type: array, items: { type: string }, default: [] }
models: { author: { scripted: [one] } }
draft: { model: author, prompt: '{{ topic }} {{ words }} {{ ratio }} {{ loud }} {{ tags }}' }
verify: [{ name: short, text: { words: { max: 9 } } }]
";
    let spec = Spec::parse("essay.yaml", file.as_bytes(), None, &Registry::builtin()).unwrap();
    let set: Vec<(String, String)> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match spec.input(&set) {
        Ok(input) => Ok(Value::Object(input.input)),
        Err(error) => {
            assert_eq!(error.code(), "spec-input");
            Err(error.to_string())
        }
    }
}

#[test]
fn a_text_is_read_as_the_declared_type_says() {
    let input =
        gathered(&[("topic", "42"), ("words", "7"), ("ratio", "1"), ("loud", "true"), ("tags", r#"["a"]"#)]);
    let wanted = json!({ "topic": "42", "words": 7, "ratio": 1, "loud": true, "tags": ["a"] });
    assert_eq!(input.unwrap(), wanted);
}

#[test]
fn what_is_not_given_is_the_default() {
    let wanted = json!({ "topic": "x", "words": 100, "ratio": 0.5, "loud": false, "tags": [] });
    assert_eq!(gathered(&[("topic", "x")]).unwrap(), wanted);
}

#[test]
fn all_that_does_not_fit_is_said_at_once() {
    let said = gathered(&[("words", "0"), ("loud", "maybe"), ("tpic", "x")]).unwrap_err();
    for part in [
        "there is no input `tpic`; did you mean `topic`?",
        "the input `topic` must be given: --set topic=…",
        "the input `words` does not fit: 0 is less than the minimum of 1",
        "the input `loud` does not fit",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
