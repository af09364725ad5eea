//! What is read as JSON, what is found in it and where.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Config, Json};
use crate::failure::Fault;
use crate::verify::{Case, Place, Rule, Verdict};

fn check(config: Config, draft: &str) -> Verdict {
    Json::compile(config).unwrap().check(&Case::new("", draft))
}

/// Shows findings as "rule place suggestion".
fn shown(verdict: &Verdict) -> Vec<String> {
    let lines = verdict.findings.iter().map(|finding| {
        let place = finding.place.as_ref().map(Place::to_string).unwrap_or_default();
        format!("{} | {place} | {}", finding.rule, finding.suggestion.as_deref().unwrap_or("-"))
    });
    lines.collect()
}

#[test]
fn json_is_read_where_models_put_it() {
    let cases = [
        ("{\"a\": 1}", true, true),
        ("\u{feff} [1]\r\n", true, true),
        ("7", true, true),
        ("```json\n{\"a\": 1}\n```", true, false),
        ("Here you are:\n\n```\n[1]\n```\nAnything else?", true, false),
        ("```python\nx = [1]\n```\n```JSON\n[1]\n```", true, false),
        ("~~~json\n[1]", true, false),
        ("{\"a\": \"```\"}", true, true),
        ("Sure: [1]", false, false),
        ("", false, false),
        ("```json\n```", false, false),
    ];
    for (draft, with, without) in cases {
        assert_eq!(check(Config::new(), draft).passes(), with, "{draft}");
        assert_eq!(check(Config::new().extract(false), draft).passes(), without, "{draft}");
    }
}

#[test]
fn what_is_no_json_is_shown_where_it_breaks() {
    let cases = [
        ("{\"a\": 1,\n \"ü\": [1, 2,]}", "syntax | line 2:13 | remove the comma before the closing bracket"),
        ("{'a': 1}", "syntax | line 1:2 | put keys and texts in double quotation marks"),
        ("{a: 1}", "syntax | line 1:2 | put keys and texts in double quotation marks"),
        (
            "{\"a\": None}",
            "syntax | line 1:7 | write numbers, `true`, `false` or `null`: JSON knows no other words",
        ),
        ("{\"a\": 1 // one\n}", "syntax | line 1:9 | remove the comment: JSON has none"),
        ("{\"a\": 1 \"b\": 2}", "syntax | line 1:9 | put a comma or a colon before it"),
        ("{\"a\": [1", "syntax | line 1:8 | close every bracket and quotation mark that is open"),
        ("{} thanks", "syntax | line 1:4 | give nothing after the JSON value"),
        ("Well: {}", "syntax | line 1:1 | answer with the JSON value alone, without words around it"),
        (
            "Look:\n```json\n{\n  \"é\": x\n}\n```",
            "syntax | line 4:8 | put keys and texts in double quotation marks",
        ),
    ];
    for (draft, wanted) in cases {
        let verdict = check(Config::new(), draft);
        assert_eq!(shown(&verdict), [wanted], "{draft}: {verdict:?}");
        assert!(verdict.score.abs() < f64::EPSILON);
    }
}

#[test]
fn every_violation_has_its_pointer_its_rule_and_advice() {
    let schema = json!({
        "type": "object",
        "required": ["name", "total"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "minLength": 2 },
            "total": { "type": "number" },
            "count": { "type": "integer", "minimum": 1 },
            "state": { "enum": ["open", "closed"] },
            "when": { "type": "string", "format": "date" },
            "tags": { "type": "array", "uniqueItems": true, "items": { "type": "string" } },
            "a/b": { "type": "null" },
            "pay": { "oneOf": [
                { "type": "object", "required": ["card"], "properties": { "card": { "type": "string" } } },
                { "type": "string" },
            ] },
        },
    });
    let cases: Vec<(Value, Vec<&str>)> = vec![
        (json!({"name": "Al", "total": 1.5}), vec![]),
        (
            json!({}),
            vec![
                "required | the whole value | add the property `name`",
                "required | the whole value | add the property `total`",
            ],
        ),
        (
            json!({"nmae": "Al", "name": "Al", "total": 1}),
            vec!["additional-properties | /nmae | remove the property `nmae`"],
        ),
        (
            json!({"name": "Al", "total": 1, "stat": "open"}),
            vec!["additional-properties | /stat | did you mean `state`?"],
        ),
        (json!({"name": "A", "total": 1}), vec!["min-length | /name | -"]),
        (json!({"name": "Al", "total": "1"}), vec!["type | /total | write 1 without quotation marks"]),
        (json!({"name": 5, "total": 1}), vec!["type | /name | put 5 in quotation marks"]),
        (json!({"name": "Al", "total": 1, "count": 1.5}), vec!["type | /count | write a whole number"]),
        (json!({"name": "Al", "total": 1, "count": 0}), vec!["minimum | /count | -"]),
        (json!({"name": "Al", "total": 1, "state": "opened"}), vec!["enum | /state | did you mean `open`?"]),
        (
            json!({"name": "Al", "total": 1, "state": 4}),
            vec!["enum | /state | take one of \"open\", \"closed\""],
        ),
        (
            json!({"name": "Al", "total": 1, "when": "today"}),
            vec!["format | /when | write it like `2026-01-31`"],
        ),
        (
            json!({"name": "Al", "total": 1, "tags": ["a", 2]}),
            vec!["type | /tags/1 | put 2 in quotation marks"],
        ),
        (
            json!({"name": "Al", "total": 1, "tags": ["a", "a"]}),
            vec!["unique-items | /tags | remove the copy"],
        ),
        (json!({"name": "Al", "total": 1, "a/b": 1}), vec!["type | /a~1b | -"]),
        (json!({"name": "Al", "total": 1, "pay": {}}), vec!["one-of | /pay | add the property `card`"]),
        (json!([1]), vec!["type | the whole value | -"]),
    ];
    for (value, wanted) in cases {
        let verdict = check(Config::new().schema(schema.clone()), &value.to_string());
        assert_eq!(shown(&verdict), wanted, "{value}");
        let score = 1.0 / (1.0 + f64::from(u32::try_from(wanted.len()).unwrap()));
        assert!((verdict.score - score).abs() < 1e-9, "{value}");
    }
}

#[test]
fn a_finding_keeps_its_id_while_the_value_changes() {
    let schema = json!({ "required": ["b"], "properties": { "a": { "type": "string" } } });
    let ids = |draft: &str| -> Vec<String> {
        let verdict = check(Config::new().schema(schema.clone()), draft).filed("shape");
        let mut ids: Vec<String> = verdict.findings.iter().map(|finding| finding.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(r#"{"a": 1}"#), ids(r#"{"a": [2, 3]}"#));
    assert_eq!(ids(r#"{"a": 1}"#).len(), 2);
}

#[test]
fn a_key_that_stands_twice_is_found() {
    let verdict =
        check(Config::new(), r#"{"a": {"b": 1, "c/d": 2, "b": 3, "c/d": 4}, "e": [{"b": 1}, {"b": 1}]}"#);
    assert_eq!(
        shown(&verdict),
        ["duplicate-key | /a/b | keep one of them", "duplicate-key | /a/c~1d | keep one of them"]
    );
    assert!(verdict.findings[1].message.contains("`c/d`"));
}

#[test]
fn depth_is_refused_and_never_exhausts_the_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [99, 100, 101, 128, 1_000_000] {
            let draft = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let verdict = check(Config::new().schema(json!({ "items": { "$ref": "#" } })), &draft);
            let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
            assert_eq!(rules, if depth > 100 { vec!["depth"] } else { vec![] }, "{depth}");
        }
    }
    assert!(
        check(Config::new(), &format!("\"{}\\\"[\"", "[".repeat(500))).passes(),
        "brackets in texts do not count"
    );
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_and_nothing_is_fetched() {
    let cases = [
        (json!({ "type": "strnig" }), "bad-schema"),
        (json!({ "required": "name" }), "bad-schema"),
        (json!({ "pattern": "(" }), "bad-schema"),
        (json!("./order.schema.json"), "bad-schema"),
        (json!(7), "bad-schema"),
        (json!({ "$ref": "#/$defs/missing" }), "bad-schema"),
        (json!({ "$ref": "https://example.org/order.json" }), "remote-reference"),
        (json!({ "properties": { "a": { "$ref": "order.json#/b" } } }), "remote-reference"),
        (json!({ "$ref": "file:///etc/hostname" }), "remote-reference"),
    ];
    for (schema, code) in cases {
        let error = Json::compile(Config::new().schema(schema.clone())).unwrap_err();
        assert_eq!(error.code(), code, "{schema}: {error}");
    }
}

#[test]
fn every_draft_of_json_schema_is_known() {
    let cases = [
        ("http://json-schema.org/draft-04/schema#", json!({ "minimum": 3, "exclusiveMinimum": true })),
        ("http://json-schema.org/draft-06/schema#", json!({ "exclusiveMinimum": 3 })),
        ("http://json-schema.org/draft-07/schema#", json!({ "if": true, "then": { "exclusiveMinimum": 3 } })),
        (
            "https://json-schema.org/draft/2019-09/schema",
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "exclusiveMinimum": 3 } } }),
        ),
        (
            "https://json-schema.org/draft/2020-12/schema",
            json!({ "$dynamicRef": "#a", "$defs": { "a": { "$dynamicAnchor": "a", "exclusiveMinimum": 3 } } }),
        ),
    ];
    for (draft, mut schema) in cases {
        schema["$schema"] = json!(draft);
        assert!(!check(Config::new().schema(schema.clone()), "3").passes(), "{draft}");
        assert!(check(Config::new().schema(schema), "4").passes(), "{draft}");
    }
}

#[test]
fn a_schema_that_only_refers_to_itself_comes_to_an_end() {
    for schema in [json!({ "$ref": "#" }), json!({ "anyOf": [{ "$ref": "#" }] })] {
        assert!(check(Config::new().schema(schema.clone()), "{}").passes(), "{schema}");
    }
}

#[test]
fn a_config_reads_as_the_spec_writes_it() {
    let config: Config = serde_json::from_str(r#"{"schema": "./order.schema.json"}"#).unwrap();
    assert_eq!((config.path(), config.extract), (Some("./order.schema.json"), true));
    let config: Config = serde_json::from_str(r#"{"schema": {"type": "object"}, "extract": false}"#).unwrap();
    assert_eq!(config.path(), None);
    let json = Json::compile(config).unwrap();
    assert_eq!(
        Rule::describe(&json),
        json!({ "json": { "schema": { "type": "object" }, "extract": false } })
    );
    assert!(Rule::demand(&json).ends_with(r#"JSON Schema: {"type":"object"}"#));
    assert!(serde_json::from_str::<Config>(r#"{"shema": {}}"#).is_err());
}

proptest! {
    #[test]
    fn any_draft_gets_a_verdict(draft in prop_oneof![any::<String>(), "[\\[\\]{}\",:0-9a-z`~\n\\\\ é]{0,60}"]) {
        let verdict = check(Config::new().schema(json!({ "type": "object", "required": ["a"] })), &draft);
        prop_assert!(verdict.passes() || !verdict.findings.is_empty());
    }

    #[test]
    fn what_serde_reads_is_read_the_same(numbers in prop::collection::vec(any::<f64>().prop_filter("finite", |n| n.is_finite()), 0..4), text in any::<String>(), whole in any::<i64>()) {
        let value = json!({ "n": numbers, "t": text, &text: whole, "deep": [[{ "b": null, "c": true }]] });
        let read = super::read::read(&value.to_string(), false).unwrap();
        prop_assert_eq!(read.value, value);
        prop_assert!(read.duplicates.is_empty());
    }
}
