//! Turning an OpenAPI 3.0 or 3.1 document into operations.
//!
//! Every schema is cut out of the document together with what it refers to, so that a large document is not compiled
//! once for each of its operations. The dialect of 3.0 is turned into draft 4 of JSON Schema, which it comes from.

use std::collections::BTreeMap;

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::operation::{Body, Operation, Part};
use crate::verify::Error;
use crate::verify::json::schema::Schema;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Headers that OpenAPI says are not parameters.
const NOT_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// How many references may lead from one to the next.
const LONGEST_CHAIN: usize = 32;

/// Reads all operations of a document.
pub(super) fn operations(document: &Value) -> Result<Vec<Operation>, Error> {
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    let old = version.starts_with("3.0");
    if !old && !version.starts_with("3.1") {
        let reason = match (document, version) {
            (Value::String(path), _) => format!("it is the text `{path}` and not a document"),
            (_, "") => "it does not say `openapi: 3.0` or `3.1`".to_owned(),
            (_, version) => format!("it says `openapi: {version}`; 3.0 and 3.1 are known"),
        };
        return Err(Error::BadOpenapi { reason });
    }
    let source = Source { document, old };
    let Some(paths) = document.get("paths").and_then(Value::as_object) else {
        return Err(bad("it has no `paths`"));
    };
    let mut all = Vec::new();
    for (path, item) in paths {
        let item = source.followed(item)?;
        for method in METHODS {
            if let Some(described) = item.get(method) {
                all.push(source.operation(method, path, item, described)?);
            }
        }
    }
    if all.is_empty() { Err(bad("there is no operation in its `paths`")) } else { Ok(all) }
}

fn bad(reason: impl Into<String>) -> Error {
    Error::BadOpenapi { reason: reason.into() }
}

struct Source<'a> {
    document: &'a Value,
    /// Whether it is 3.0.
    old: bool,
}

impl<'a> Source<'a> {
    fn operation(
        &self,
        method: &str,
        path: &str,
        item: &Value,
        described: &Value,
    ) -> Result<Operation, Error> {
        let place = format!("{} {path}", method.to_uppercase());
        let id = described.get("operationId").and_then(Value::as_str).map(str::to_owned);
        let shown = id.clone().unwrap_or_else(|| place.clone());
        let mut properties = Map::new();
        let mut required = Vec::new();
        // An operation's own parameters come second: they replace those of its path.
        for list in [item, described].map(|level| level.get("parameters").and_then(Value::as_array)) {
            for parameter in list.into_iter().flatten() {
                self.parameter(&shown, parameter, &mut properties, &mut required)?;
            }
        }
        let mut shape = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            shape["required"] = json!(required);
        }
        let arguments = self.part(&shown, &shape)?;
        let body = described.get("requestBody").map(|body| self.body(&shown, body)).transpose()?.flatten();
        Ok(Operation { names: id.into_iter().chain([place]).collect(), arguments, body })
    }

    fn parameter(
        &self,
        operation: &str,
        parameter: &'a Value,
        properties: &mut Map<String, Value>,
        required: &mut Vec<String>,
    ) -> Result<(), Error> {
        let parameter = self.followed(parameter)?;
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let (Some(name), Some(place)) = (text("name"), text("in")) else {
            return Err(bad(format!("a parameter of `{operation}` has no `name` or no `in`")));
        };
        let ignored = place == "header" && NOT_PARAMETERS.contains(&name.to_lowercase().as_str());
        if ignored || !["path", "query", "header", "cookie"].contains(&place) {
            return Ok(());
        }
        let content = || parameter.get("content")?.as_object()?.values().next()?.get("schema");
        let schema = parameter.get("schema").or_else(content).cloned().unwrap_or_else(|| json!({}));
        properties.insert(name.to_owned(), schema);
        required.retain(|known| known != name);
        if place == "path" || parameter.get("required") == Some(&Value::Bool(true)) {
            required.push(name.to_owned());
        }
        Ok(())
    }

    /// Reads a body; nothing if it is not JSON.
    fn body(&self, operation: &str, body: &'a Value) -> Result<Option<Body>, Error> {
        let body = self.followed(body)?;
        let is_json = |media: &str| {
            let media = media.split(';').next().unwrap_or_default().trim().to_lowercase();
            media == "application/json" || media.ends_with("+json")
        };
        let content = body.get("content").and_then(Value::as_object);
        let media = content.and_then(|content| content.iter().find(|(media, _)| is_json(media)));
        let Some((_, media)) = media else { return Ok(None) };
        let anything = json!({});
        let schema = media.get("schema").unwrap_or(&anything);
        let shape = self.followed(schema)?;
        let composed = ["allOf", "anyOf", "oneOf"].iter().any(|key| shape.get(key).is_some());
        let object = shape.get("properties").is_some()
            || composed
            || shape.get("type").is_some_and(|kind| kind == "object")
            || shape.as_object().is_some_and(Map::is_empty);
        let required = body.get("required") == Some(&Value::Bool(true));
        Ok(Some(Body { part: self.part(operation, schema)?, required, object }))
    }

    fn part(&self, operation: &str, schema: &Value) -> Result<Part, Error> {
        let whole = self.cut_out(schema)?;
        let draft = if self.old { Draft::Draft4 } else { Draft::Draft202012 };
        let compiled = Schema::compile_in(&format!("the operation `{operation}`"), &whole, Some(draft))?;
        let shape = self.followed(schema)?;
        // Types of parameters are shown to the author, so that they are looked up behind references too.
        let mut shown = self.in_draft(shape);
        if let Some(properties) = shown.get_mut("properties").and_then(Value::as_object_mut) {
            for value in properties.values_mut() {
                *value = self.followed(value)?.clone();
            }
        }
        Ok(Part::new(compiled, &shown))
    }

    /// Returns what a reference leads to, or the value itself if it is none.
    fn followed<'v>(&self, mut value: &'v Value) -> Result<&'v Value, Error>
    where
        'a: 'v,
    {
        for _ in 0..LONGEST_CHAIN {
            match value.get("$ref").and_then(Value::as_str) {
                Some(reference) => value = self.target(&pointer_of(reference)?)?,
                None => return Ok(value),
            }
        }
        Err(bad("a `$ref` leads back to itself"))
    }

    fn target(&self, pointer: &str) -> Result<&'a Value, Error> {
        self.document.pointer(pointer).ok_or_else(|| bad(format!("`#{pointer}` is not there")))
    }

    /// Cuts a schema out of the document, with everything that it refers to under `$defs`.
    fn cut_out(&self, schema: &Value) -> Result<Value, Error> {
        // A pointer may hold signs that a reference may not, so that what is cut out is numbered.
        let mut numbers = BTreeMap::new();
        let mut cut = self.rewritten(schema, &mut numbers)?;
        let mut definitions = BTreeMap::new();
        while let Some((pointer, number)) = numbers
            .iter()
            .find(|(_, number)| !definitions.contains_key(*number))
            .map(|(p, n)| (p.clone(), *n))
        {
            let target = self.rewritten(self.target(&pointer)?, &mut numbers)?;
            definitions.insert(number, target);
        }
        if let Value::Object(cut) = &mut cut
            && !definitions.is_empty()
        {
            let own = cut.entry("$defs").or_insert_with(|| json!({}));
            for (number, definition) in definitions {
                own[name_of(number)] = definition;
            }
        }
        Ok(cut)
    }

    /// Turns a schema into JSON Schema, and notes what it refers to.
    fn rewritten(&self, schema: &Value, numbers: &mut BTreeMap<String, usize>) -> Result<Value, Error> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Array(items) => {
                return items
                    .iter()
                    .map(|item| self.rewritten(item, numbers))
                    .collect::<Result<_, _>>()
                    .map(Value::Array);
            }
            other => return Ok(other.clone()),
        };
        let mut all = Map::new();
        for (key, value) in fields {
            let new = match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let next = numbers.len();
                    let number = *numbers.entry(pointer_of(reference)?).or_insert(next);
                    json!(format!("#/$defs/{}", name_of(number)))
                }
                ("example" | "examples" | "externalDocs" | "discriminator" | "xml", _) => continue,
                ("enum" | "const" | "default", value) => value.clone(),
                (
                    "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    let inner = schemas
                        .iter()
                        .map(|(name, inner)| Ok((name.clone(), self.rewritten(inner, numbers)?)));
                    Value::Object(inner.collect::<Result<_, Error>>()?)
                }
                (_, value) => self.rewritten(value, numbers)?,
            };
            all.insert(key.clone(), new);
        }
        Ok(self.in_draft(&Value::Object(all)))
    }

    /// Turns one level of a schema into JSON Schema as it stands for requests.
    fn in_draft(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let Value::Object(fields) = &mut schema else { return schema };
        // What is read-only comes from the server: it is not asked for in a request.
        let properties = fields.get("properties").and_then(Value::as_object);
        let read_only = |name: &Value| {
            let property = properties.zip(name.as_str()).and_then(|(properties, name)| properties.get(name));
            property.is_some_and(|property| property.get("readOnly") == Some(&Value::Bool(true)))
        };
        let required = fields.get("required").and_then(Value::as_array);
        let required: Option<Vec<Value>> =
            required.map(|names| names.iter().filter(|name| !read_only(name)).cloned().collect());
        match required {
            // Draft 4 knows no empty list here.
            Some(names) if names.is_empty() => drop(fields.remove("required")),
            Some(names) => drop(fields.insert("required".to_owned(), Value::Array(names))),
            None => {}
        }
        if !self.old || fields.remove("nullable") != Some(Value::Bool(true)) {
            return schema;
        }
        if let Some(Value::Array(options)) = fields.get_mut("enum")
            && !options.contains(&Value::Null)
        {
            options.push(Value::Null);
        }
        match fields.get("type").cloned() {
            Some(kind @ Value::String(_)) => {
                fields.insert("type".to_owned(), json!([kind, "null"]));
                schema
            }
            _ => json!({ "anyOf": [schema, { "type": "null" }] }),
        }
    }
}

fn name_of(number: usize) -> String {
    format!("part{number}")
}

/// Reads a reference as a JSON pointer into the document.
fn pointer_of(reference: &str) -> Result<String, Error> {
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(Error::RemoteReference { reference: reference.to_owned() });
    };
    if !fragment.starts_with('/') {
        return Err(bad(format!("`{reference}` is not a path into the document")));
    }
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| bad(format!("`{reference}` is not text")))
}
