//! Makes a JSON Schema safe to decode by: what has no bound gets one.
//!
//! A small model may write a string or a list without end. Everything that fits the narrower schema fits the one that
//! was asked for, so the caller never notices but by an answer that ends.

use serde_json::{Map, Value, json};

/// The longest string, in characters, where the schema sets no limit.
const LONGEST_STRING: u64 = 2000;

/// The longest list where the schema sets no limit.
const LONGEST_LIST: u64 = 32;

/// The largest integer that every reader of JSON takes for what it is.
const LARGEST_INTEGER: i64 = 9_007_199_254_740_991;

/// Formats of strings that decoding can keep to; others are hints that it has to leave out.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// Keywords whose value is a schema, a list of schemas, or schemas by name.
const ONE: &[&str] =
    &["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"];
const LIST: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];

/// Returns the schema with bounds, and with the spaces that models are used to.
pub(crate) fn bounded(schema: &Value) -> Value {
    let joined = joins(schema);
    let mut schema = schema.clone();
    bound(&mut schema, true, joined);
    match schema {
        Value::Object(mut schema) => {
            let form = json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ", "coerce_one_of": true });
            schema.insert("x-guidance".to_owned(), form);
            Value::Object(schema)
        }
        other => other,
    }
}

/// Says whether two schemas speak about the same object anywhere: then neither may forbid what it does not name.
fn joins(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            let refers = object.contains_key("$ref") && object.contains_key("properties");
            object.contains_key("allOf") || refers || object.values().any(joins)
        }
        Value::Array(list) => list.iter().any(joins),
        _ => false,
    }
}

/// `alone` says that no other schema speaks about the same value, so that its properties are all there are; `joined`,
/// that definitions are not to be taken for alone.
fn bound(schema: &mut Value, alone: bool, joined: bool) {
    let Value::Object(schema) = schema else { return };
    let branches = LIST.iter().any(|keyword| schema.contains_key(*keyword)) || schema.contains_key("$ref");
    let has_properties = schema.contains_key("properties");
    for (keyword, value) in schema.iter_mut() {
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) {
            bound(value, true, joined);
        } else if LIST.contains(&keyword)
            && let Value::Array(schemas) = value
        {
            let alone = alone && keyword != "allOf" && !has_properties;
            schemas.iter_mut().for_each(|schema| bound(schema, alone, joined));
        } else if NAMED.contains(&keyword)
            && let Value::Object(schemas) = value
        {
            // A definition may be one of several that are joined where it is used.
            let alone = matches!(keyword, "properties" | "patternProperties") || !joined;
            schemas.values_mut().for_each(|schema| bound(schema, alone, joined));
        }
    }
    let fixed = schema.contains_key("enum") || schema.contains_key("const");
    if is(schema, "string") && !fixed {
        bound_string(schema);
    }
    if is(schema, "array") && !fixed {
        limit(schema, "minItems", "maxItems", LONGEST_LIST);
    }
    if is(schema, "integer") && !fixed {
        for (bounds, value) in [
            (["minimum", "exclusiveMinimum"], -LARGEST_INTEGER),
            (["maximum", "exclusiveMaximum"], LARGEST_INTEGER),
        ] {
            if !bounds.iter().any(|bound| schema.contains_key(*bound)) {
                schema.insert(bounds[0].to_owned(), value.into());
            }
        }
    }
    if !is(schema, "string") {
        schema.remove("format");
    }
    if schema.get("type").is_some_and(|kind| kind == "integer") && !fixed && !branches {
        split_at_zero(schema);
    }
    if alone && !branches && closes(schema) {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

fn bound_string(schema: &mut Map<String, Value>) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
    if !schema.contains_key("pattern") && !schema.contains_key("format") {
        limit(schema, "minLength", "maxLength", LONGEST_STRING);
    }
}

/// Splits a range of integers that holds zero. As one range it would allow `-0`, which readers of JSON take for a float.
fn split_at_zero(schema: &mut Map<String, Value>) {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    if bound("minimum").is_none_or(|least| least >= 0) || bound("maximum").is_some_and(|most| most < 0) {
        return;
    }
    let (mut below, mut above) = (schema.clone(), schema.clone());
    below.insert("maximum".to_owned(), (-1).into());
    below.remove("exclusiveMaximum");
    above.insert("minimum".to_owned(), 0.into());
    *schema = Map::new();
    schema.insert("anyOf".to_owned(), json!([above, below]));
}

fn limit(schema: &mut Map<String, Value>, least: &str, most: &str, value: u64) {
    if !schema.contains_key(most) {
        let least = schema.get(least).and_then(Value::as_u64).unwrap_or(0);
        schema.insert(most.to_owned(), value.max(least).into());
    }
}

fn is(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Says whether an object can do with the properties it names.
fn closes(schema: &Map<String, Value>) -> bool {
    let Some(Value::Object(properties)) = schema.get("properties") else { return false };
    let open = ["additionalProperties", "unevaluatedProperties", "patternProperties", "minProperties"];
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    is(schema, "object")
        && !open.iter().any(|keyword| schema.contains_key(*keyword))
        && required.iter().all(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_bound_gets_one_and_what_has_one_keeps_it() {
        let string = json!({ "type": "string", "maxLength": 2000 });
        let cases = [
            (json!({ "type": "string" }), string.clone()),
            (json!({ "type": "string", "maxLength": 5 }), json!({ "type": "string", "maxLength": 5 })),
            (json!({ "type": "string", "format": "uint8" }), string.clone()),
            (json!({ "type": "string", "pattern": "a+" }), json!({ "type": "string", "pattern": "a+" })),
            (json!({ "enum": ["string"] }), json!({ "enum": ["string"] })),
            (
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 40 }),
                json!({ "type": "array", "items": string, "minItems": 40, "maxItems": 40 }),
            ),
            (
                json!({ "type": "integer", "minimum": 1, "format": "uint8" }),
                json!({ "type": "integer", "minimum": 1, "maximum": LARGEST_INTEGER }),
            ),
            (
                json!({ "type": "integer", "minimum": -5, "maximum": 5 }),
                json!({ "anyOf": [
                    { "type": "integer", "minimum": 0, "maximum": 5 },
                    { "type": "integer", "minimum": -5, "maximum": -1 },
                ] }),
            ),
            (
                json!({ "type": "object", "properties": { "type": { "const": "string" } } }),
                json!({ "type": "object", "properties": { "type": { "const": "string" } }, "additionalProperties": false }),
            ),
            (
                json!({ "allOf": [{ "type": "object", "properties": {} }] }),
                json!({ "allOf": [{ "type": "object", "properties": {} }] }),
            ),
            (json!(true), json!(true)),
        ];
        for (asked, wanted) in cases {
            let mut schema = asked.clone();
            bound(&mut schema, true, joins(&asked));
            assert_eq!(schema, wanted, "{asked}");
        }
    }
}
