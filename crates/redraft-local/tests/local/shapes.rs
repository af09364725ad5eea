//! Answers that are held to a shape.

use redraft::Fault;
use redraft::llm::{Finish, Model, OutputSchema, Request};
use serde_json::{Value, json};

use crate::{model, request};

fn review() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string" },
            "kind": { "enum": ["poem", "essay", "story"] },
            "score": { "type": "integer", "minimum": 1, "maximum": 10 },
            "author": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "born": { "type": "integer" } },
                "required": ["name"],
            },
            "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        },
        "required": ["title", "kind", "score", "author", "tags"],
    })
}

fn shaped(prompt: &str, schema: &Value, seed: u64, most: u32) -> Request {
    let mut request =
        request(prompt).shaped(OutputSchema { name: "answer".to_owned(), schema: schema.clone() });
    request.temperature = Some(1.0);
    request.seed = Some(seed);
    request.max_output_tokens = most;
    request
}

#[tokio::test]
async fn twenty_of_twenty_answers_fit_their_schema() {
    let Some(model) = model() else { return };
    assert!(model.takes_schemas());
    let mut cut = 0;
    for seed in 0..20 {
        // From hardly enough to ample: most of these end because there is no room left.
        let most = 42 + u32::try_from(seed).unwrap() * 2;
        let request = shaped("Review a text about the sea, as JSON.", &review(), seed, most);
        let completion = model.answer(&request, &mut ()).await.unwrap();
        let value: Value = serde_json::from_str(&completion.text)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {}", completion.text));
        assert!(jsonschema::is_valid(&review(), &value), "seed {seed}: {value}");
        assert!(completion.usage.output_tokens <= u64::from(most));
        cut += u32::from(completion.finish == Finish::Length);
    }
    assert!(cut > 0, "no answer came near its limit, so closing was not tried");
}

#[tokio::test]
async fn schemas_of_every_kind_are_kept_to() {
    let Some(model) = model() else { return };
    let cases = [
        json!({ "type": "boolean" }),
        json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        json!({ "type": "string", "pattern": "^[a-z]+@[a-z]+\\.org$" }),
        json!({ "type": "string", "minLength": 10, "maxLength": 20 }),
        json!({ "type": "object" }),
        json!({ "type": "array", "items": { "type": "array", "items": { "type": "number" } } }),
        json!({ "type": ["string", "null"], "format": "unheard-of" }),
        json!({
            "$defs": { "tree": { "type": "object", "properties": {
                "leaf": { "type": "string" },
                "branches": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
            }, "required": ["leaf", "branches"] } },
            "$ref": "#/$defs/tree",
        }),
        json!({ "oneOf": [
            { "type": "object", "properties": { "type": { "const": "a" }, "n": { "type": "integer" } }, "required": ["type", "n"] },
            { "type": "object", "properties": { "type": { "const": "b" } }, "required": ["type"] },
        ] }),
    ];
    for schema in cases {
        let request = shaped("Answer with JSON.", &schema, 3, 24);
        let completion =
            model.answer(&request, &mut ()).await.unwrap_or_else(|error| panic!("{schema}: {error}"));
        let value: Value = serde_json::from_str(&completion.text)
            .unwrap_or_else(|error| panic!("{schema}: {error}: {}", completion.text));
        assert!(jsonschema::is_valid(&schema, &value), "{schema}: {value}");
    }
}

#[tokio::test]
async fn what_is_heard_of_a_shaped_answer_is_all_of_it() {
    let Some(model) = model() else { return };
    let mut heard = String::new();
    let request = shaped("Review a text about the sea.", &review(), 1, 60);
    let completion = model.answer(&request, &mut |piece: &str| heard.push_str(piece)).await.unwrap();
    assert_eq!(heard, completion.text);
}

#[tokio::test]
async fn a_shape_that_cannot_be_is_a_bad_request() {
    let Some(model) = model() else { return };
    let impossible = [
        (json!({ "type": "string", "pattern": "(" }), 50),
        (json!({ "type": "integer", "minimum": 5, "maximum": 4 }), 50),
        // Three tokens are not enough for five properties.
        (review(), 3),
    ];
    for (schema, most) in impossible {
        let error = model.answer(&shaped("Answer.", &schema, 1, most), &mut ()).await.unwrap_err();
        assert_eq!(error.code(), "model-bad-request", "{schema}: {error}");
    }
}

#[tokio::test]
async fn an_answer_can_be_held_to_a_regular_expression() {
    let Some(model) = model() else { return };
    let request = request("When did the first person walk on the moon?");
    for seed in 0..3 {
        let request = Request { seed: Some(seed), temperature: Some(1.0), ..request.clone() };
        let completion = model.answer_matching(&request, "(19|20)[0-9]{2}-[01][0-9]", &mut ()).await.unwrap();
        let text = completion.text.as_bytes();
        assert_eq!(text.len(), 7, "{}", completion.text);
        assert!(
            matches!(text, [b'1', b'9', ..] | [b'2', b'0', ..]) && text[4] == b'-',
            "{}",
            completion.text
        );
    }
    let error = model.answer_matching(&request, "[", &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-bad-request");
}
