//! Plans against tools and against OpenAPI documents: what is found, and where.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Call, Config, Tool};
use crate::failure::Fault;
use crate::verify::{Case, Place, Rule, Verdict};

fn tools() -> Config {
    let search = json!({
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": { "type": "string" },
            "limit": { "type": "integer", "maximum": 50 },
            "order": { "enum": ["newest", "oldest"] },
        },
    });
    let anything = json!({ "type": "object", "additionalProperties": true });
    let strict = json!({ "properties": { "id": { "type": "integer" } }, "additionalProperties": false });
    Config::new()
        .tool(Tool::new("search", search))
        .tool(Tool::new("log", anything))
        .tool(Tool::new("open", strict))
        .tool(Tool { name: "stop".to_owned(), description: None, parameters: None })
}

fn shop(version: &str) -> Value {
    json!({
        "openapi": version,
        "info": { "title": "Shop", "version": "1" },
        "paths": {
            "/orders/{id}": {
                "parameters": [{ "$ref": "#/components/parameters/Id" }],
                "get": {
                    "operationId": "getOrder",
                    "parameters": [
                        { "name": "expand", "in": "query", "schema": { "type": "boolean" } },
                        { "name": "X-Trace", "in": "header", "required": true, "schema": { "type": "string" } },
                        { "name": "Authorization", "in": "header", "required": true, "schema": { "type": "string" } },
                    ],
                },
                "delete": {},
            },
            "/orders": {
                "post": {
                    "operationId": "createOrder",
                    "requestBody": { "$ref": "#/components/requestBodies/Order" },
                },
                "put": {
                    "operationId": "replaceOrders",
                    "requestBody": {
                        "required": true,
                        "content": { "application/json": { "schema": { "type": "array", "items": { "$ref": "#/components/schemas/Order" } } } },
                    },
                },
            },
            "/odd": { "get": { "parameters": [
                { "name": "odd", "in": "query", "schema": { "$ref": "#/paths/~1orders~1%7Bid%7D/get/parameters/0/schema" } },
            ] } },
        },
        "components": {
            "parameters": { "Id": { "name": "id", "in": "path", "schema": { "$ref": "#/components/schemas/Id" } } },
            "requestBodies": {
                "Order": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Order" } } } },
            },
            "schemas": {
                "Id": { "type": "integer", "minimum": 1 },
                "Order": {
                    "type": "object",
                    "required": ["id", "items"],
                    "properties": {
                        "id": { "type": "integer", "readOnly": true },
                        "items": { "type": "array", "items": { "$ref": "#/components/schemas/Item" } },
                        "note": { "type": "string" },
                        "parent": { "$ref": "#/components/schemas/Order" },
                    },
                },
                "Item": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string" } } },
            },
        },
    })
}

/// Shows findings as "rule place suggestion".
fn shown(verdict: &Verdict) -> Vec<String> {
    let lines = verdict.findings.iter().map(|finding| {
        let place = finding.place.as_ref().map(Place::to_string).unwrap_or_default();
        format!("{} | {place} | {}", finding.rule, finding.suggestion.as_deref().unwrap_or("-"))
    });
    lines.collect()
}

fn check_all(config: &Config, cases: &[(Value, &[&str])]) {
    let call = Call::compile(config.clone()).unwrap();
    for (plan, wanted) in cases {
        let verdict = call.check(&Case::new("", plan.to_string()));
        assert_eq!(shown(&verdict), *wanted, "{plan}");
        assert_eq!(verdict.passes(), wanted.is_empty(), "{plan}");
        assert_eq!(verdict.score < 1.0, !wanted.is_empty(), "{plan}");
        assert!(verdict.findings.iter().all(|finding| finding.subject.is_some()), "{plan}");
    }
}

#[test]
fn a_plan_is_found_in_every_shape() {
    check_all(
        &tools(),
        &[
            (json!([{ "tool": "search", "arguments": { "query": "a" } }]), &[]),
            (json!({ "calls": [{ "name": "search", "parameters": { "query": "a" } }] }), &[]),
            (
                json!({ "steps": [{ "name": "first", "call": "search", "args": { "query": "a" } }, { "operation": "stop" }] }),
                &[],
            ),
            (json!({ "tool": "search", "arguments": "{\"query\": \"a\"}" }), &[]),
            (json!({ "tool": "stop", "arguments": null }), &[]),
            (json!("search"), &["plan | the whole value | write a JSON list of calls"]),
            (json!([]), &["no-calls | the whole value | add at least one call"]),
            (json!({ "steps": [] }), &["no-calls | /steps | add at least one call"]),
            (json!([7]), &["plan | /0 | write it as {\"tool\": name, \"arguments\": {…}}"]),
            (json!([{ "arguments": {} }]), &["unnamed-call | /0 | name it under `tool`"]),
            (
                json!([{ "tool": "stop", "arguments": [1] }]),
                &["arguments | /0/arguments | give every argument by name: {\"name\": value}"],
            ),
        ],
    );
    let call = Call::compile(tools()).unwrap();
    assert!(call.check(&Case::new("", "Plan:\n```json\n[{\"tool\": \"stop\"}]\n```")).passes());
    assert_eq!(call.check(&Case::new("", "no plan")).findings[0].rule, "syntax");
    let twice = "[{\"tool\": \"open\", \"arguments\": {\"id\": 1, \"id\": 2}}]";
    assert_eq!(
        shown(&call.check(&Case::new("", twice))),
        ["duplicate-key | /0/arguments/id | keep one of them"]
    );
}

#[test]
fn calls_of_tools_are_compared_with_their_parameters() {
    check_all(
        &tools(),
        &[
            (json!([{ "tool": "serach" }]), &["unknown-call | /0/tool | did you mean `search`?"]),
            (
                json!([{ "tool": "fly" }]),
                &["unknown-call | /0/tool | call one of those that there are: search, log, open, stop"],
            ),
            (
                json!([{ "tool": "stop" }, { "tool": "search" }]),
                &["missing-parameter | /1 | give the parameter `query`"],
            ),
            (
                json!([{ "tool": "search", "args": { "qurey": "a" } }]),
                &[
                    "missing-parameter | /0/args | give the parameter `query`",
                    "unknown-parameter | /0/args/qurey | did you mean `query`?",
                ],
            ),
            (
                json!([{ "tool": "search", "args": { "query": "a", "limit": "5" } }]),
                &["mistyped-parameter | /0/args/limit | write 5 without quotation marks"],
            ),
            (
                json!([{ "tool": "search", "args": { "query": "a", "limit": 99 } }]),
                &["maximum | /0/args/limit | -"],
            ),
            (
                json!([{ "tool": "search", "args": { "query": "a", "order": "newst" } }]),
                &["enum | /0/args/order | did you mean `newest`?"],
            ),
            (json!([{ "tool": "log", "args": { "anything": ["goes"] } }]), &[]),
            (
                json!([{ "tool": "open", "args": { "idd": 1 } }]),
                &["unknown-parameter | /0/args/idd | did you mean `id`?"],
            ),
            (
                json!([{ "tool": "stop", "args": { "now": true } }]),
                &["unknown-parameter | /0/args/now | remove the parameter `now`"],
            ),
        ],
    );
}

#[test]
fn what_is_unknown_passes_only_if_it_may_and_a_plan_may_be_too_long() {
    let lenient = tools().allow_unknown().max_calls(2);
    check_all(
        &lenient,
        &[
            (json!([{ "tool": "fly" }, { "tool": "stop", "args": { "now": true } }]), &[]),
            (
                json!([{ "tool": "stop" }, { "tool": "stop" }, { "tool": "stop" }]),
                &["max-calls | /2 | do with 1 fewer"],
            ),
            (json!([{ "tool": "search" }]), &["missing-parameter | /0 | give the parameter `query`"]),
        ],
    );
}

#[test]
fn calls_of_an_api_are_compared_with_its_document() {
    let trace = |id: Value| json!({ "id": id, "X-Trace": "t" });
    for version in ["3.0.3", "3.1.0"] {
        check_all(
            &Config::new().openapi(shop(version)),
            &[
                (json!([{ "operation": "getOrder", "arguments": trace(json!(5)) }]), &[]),
                (json!([{ "operation": "GET /orders/{id}", "arguments": trace(json!(5)) }]), &[]),
                (json!([{ "operation": "delete /orders/{id}", "arguments": { "id": 1 } }]), &[]),
                (
                    json!([{ "operation": "GET /odd", "args": { "odd": 1 } }]),
                    &["mistyped-parameter | /0/args/odd | -"],
                ),
                (
                    json!([{ "operation": "getOrders" }]),
                    &["unknown-call | /0/operation | did you mean `getOrder`?"],
                ),
                (
                    json!([{ "operation": "getOrder", "arguments": { "id": "5", "expnd": true } }]),
                    &[
                        "missing-parameter | /0/arguments | give the parameter `X-Trace`",
                        "mistyped-parameter | /0/arguments/id | write 5 without quotation marks",
                        "unknown-parameter | /0/arguments/expnd | did you mean `expand`?",
                    ],
                ),
                (
                    json!([{ "operation": "getOrder", "arguments": trace(json!(0)) }]),
                    &["minimum | /0/arguments/id | -"],
                ),
                // A body, as a whole and flat; `id` is read-only and not asked for.
                (
                    json!([{ "operation": "createOrder", "arguments": { "body": { "items": [{ "sku": "a" }] } } }]),
                    &[],
                ),
                (
                    json!([{ "operation": "createOrder", "arguments": { "items": [{ "sku": "a" }], "note": "n" } }]),
                    &[],
                ),
                (
                    json!([{ "operation": "createOrder", "arguments": { "body": { "items": [{}], "note": 5 } } }]),
                    &[
                        "missing-parameter | /0/arguments/body/items/0 | add the property `sku`",
                        "mistyped-parameter | /0/arguments/body/note | put 5 in quotation marks",
                    ],
                ),
                (
                    json!([{ "operation": "createOrder" }]),
                    &["missing-parameter | /0 | give the parameter `items`"],
                ),
                (
                    json!([{ "operation": "createOrder", "arguments": { "items": [], "nte": "n" } }]),
                    &["unknown-parameter | /0/arguments/nte | did you mean `note`?"],
                ),
                (
                    json!([{ "operation": "createOrder", "arguments": { "body": { "items": [], "nte": "n" } } }]),
                    &["unknown-parameter | /0/arguments/body/nte | did you mean `note`?"],
                ),
                (
                    json!([{ "operation": "createOrder", "arguments": { "items": [], "parent": { "items": 1 } } }]),
                    &["mistyped-parameter | /0/arguments/parent/items | put it in a list"],
                ),
                (json!([{ "operation": "replaceOrders", "arguments": { "body": [{ "items": [] }] } }]), &[]),
                (
                    json!([{ "operation": "replaceOrders", "arguments": {} }]),
                    &["missing-parameter | /0/arguments | give the parameter `body`"],
                ),
            ],
        );
    }
}

#[test]
fn the_dialect_of_3_0_is_understood() {
    let body = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer", "minimum": 3, "exclusiveMinimum": true },
            "b": { "type": "string", "nullable": true, "enum": ["x"] },
            "c": { "nullable": true, "allOf": [{ "$ref": "#/components/schemas/C" }] },
            "example": { "type": "string", "example": { "$ref": "nowhere" } },
        },
    });
    let document = json!({
        "openapi": "3.0.0",
        "paths": { "/a": { "post": { "requestBody": { "content": { "application/json; charset=utf-8": { "schema": body } } } } } },
        "components": { "schemas": { "C": { "type": "integer" } } },
    });
    let one = |arguments: Value| json!([{ "call": "POST /a", "args": arguments }]);
    check_all(
        &Config::new().openapi(document),
        &[
            (one(json!({ "a": 4, "b": null, "c": null, "example": "e" })), &[]),
            (one(json!({})), &[]),
            (one(json!({ "a": 3 })), &["exclusive-minimum | /0/args/a | -"]),
            (one(json!({ "b": "y" })), &["enum | /0/args/b | take one of \"x\", null"]),
            (one(json!({ "c": "1" })), &["any-of | /0/args/c | write 1 without quotation marks"]),
            (
                one(json!({ "example": 1 })),
                &["mistyped-parameter | /0/args/example | put 1 in quotation marks"],
            ),
        ],
    );
}

#[test]
fn what_cannot_be_used_is_refused() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut document = shop("3.1.0");
        change(&mut document);
        Config::new().openapi(document)
    };
    let cases = [
        (Config::new(), "empty-rule"),
        (tools().max_calls(0), "bad-bounds"),
        (tools().tool(Tool::new("search", json!({}))), "bad-schema"),
        (Config::new().tool(Tool::new("a", json!({ "type": "objekt" }))), "bad-schema"),
        (Config::new().tool(Tool::new("a", json!({ "$ref": "https://example.org/a" }))), "remote-reference"),
        (Config::new().openapi("./shop.yaml"), "bad-openapi"),
        (Config::new().openapi(json!({ "swagger": "2.0" })), "bad-openapi"),
        (Config::new().openapi(json!({ "openapi": "3.1.0" })), "bad-openapi"),
        (Config::new().openapi(json!({ "openapi": "3.1.0", "paths": {} })), "bad-openapi"),
        (
            with(&|document| document["components"]["schemas"]["Item"] = json!({ "$ref": "#/gone" })),
            "bad-openapi",
        ),
        (
            with(&|document| document["components"]["schemas"]["Id"] = json!({ "$ref": "other.yaml#/Id" })),
            "remote-reference",
        ),
        (
            with(&|document| {
                document["components"]["parameters"]["Id"] = json!({ "$ref": "#/components/parameters/Id" })
            }),
            "bad-openapi",
        ),
        (with(&|document| document["components"]["schemas"]["Id"]["type"] = json!("whole")), "bad-schema"),
    ];
    for (config, code) in cases {
        let error = Call::compile(config).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn a_config_reads_as_the_spec_writes_it_and_tells_the_author_what_there_is() {
    let json = json!({
        "tools": [{ "name": "search", "parameters": { "required": ["query"], "properties": { "query": { "type": "string" }, "limit": { "type": "integer" } } } }],
        "allow_unknown": false,
        "max_calls": 3,
    });
    let config: Config = serde_json::from_value(json.clone()).unwrap();
    let call = Call::compile(config).unwrap();
    assert_eq!(Rule::describe(&call), json!({ "call": json }));
    let demand = Rule::demand(&call);
    assert!(demand.contains("at most 3 of them"), "{demand}");
    assert!(demand.contains("search(limit?: integer, query: string)"), "{demand}");
    let config: Config = serde_json::from_str(r#"{"openapi": "./shop.yaml"}"#).unwrap();
    assert_eq!(config.path(), Some("./shop.yaml"));
    let demand = Rule::demand(&Call::compile(Config::new().openapi(shop("3.1.0"))).unwrap());
    assert!(demand.contains("getOrder(X-Trace: string, expand?: boolean, id: integer)"), "{demand}");
    assert!(serde_json::from_str::<Config>(r#"{"tool": []}"#).is_err());
}

proptest! {
    // Every case compiles a document.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_plan_gets_a_verdict(
        key in prop::sample::select(vec!["tool", "name", "calls", "steps", "arguments", "args", "x"]),
        inner in prop::sample::select(vec!["search", "getOrder", "", "[]", "{\"query\":1}"]),
        text in any::<String>(),
    ) {
        let call = Call::compile(tools().openapi(shop("3.1.0"))).unwrap();
        for plan in [
            json!({ key: inner, "arguments": { &text: inner } }),
            json!({ key: [{ "tool": inner, "args": text }] }),
            json!([[key], { "operation": inner, "parameters": { "body": text } }]),
        ] {
            let verdict = call.check(&Case::new("", plan.to_string()));
            prop_assert!(verdict.passes() || !verdict.findings.is_empty());
        }
    }
}
