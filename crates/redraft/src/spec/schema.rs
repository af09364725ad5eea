//! The JSON Schema of the format: made of the types and of what a registry knows, so that it cannot be out of date.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::document::{GateSetting, Resolved};
use super::include::widen;
use super::registry::Registry;

/// Returns the JSON Schema of spec files, with everything that comes with the library.
#[must_use]
pub fn schema() -> Value {
    schema_of(&Registry::builtin())
}

/// Returns the JSON Schema of spec files that may name whatever `registry` knows.
#[must_use]
pub fn schema_of(registry: &Registry) -> Value {
    let mut schema = shape(registry);
    // That there is one kind is said for editors here; whoever reads a file says it better.
    if let Some(check) = schema.pointer_mut("/$defs/Check") {
        let one: Vec<Value> = registry.kinds().map(|kind| json!({ "required": [kind] })).collect();
        check["oneOf"] = Value::from(one);
    }
    schema["title"] = json!("redraft spec");
    schema
}

/// The schema that files are compared with.
pub(super) fn shape(registry: &Registry) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let gate = generator.subschema_for::<GateSetting>().to_value();
    let mut kinds = Map::new();
    for (name, kind) in &registry.kinds {
        kinds.insert(name.clone(), (kind.schema)(&mut generator).to_value());
    }
    let mut protocols = Map::new();
    for (name, protocol) in &registry.protocols {
        protocols.insert(name.clone(), (protocol.schema)(&mut generator).to_value());
    }
    let mut schema = generator.into_root_schema_for::<Resolved>().to_value();
    let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) else { return schema };
    for (name, kind) in &registry.kinds {
        for include in &kind.includes {
            widen(definitions, &kinds[name], *include);
        }
    }
    let mut properties = Map::from_iter([
        (
            "name".to_owned(),
            json!({ "type": "string", "minLength": 1, "description": "What it is called by." }),
        ),
        (
            "weight".to_owned(),
            json!({
                "type": "number",
                "minimum": 0,
                "description": "How much its score counts. Otherwise opinions count 1, and gates count only if there is nothing else.",
            }),
        ),
        ("gate".to_owned(), gate),
    ]);
    properties.extend(kinds);
    definitions.insert(
        "Check".to_owned(),
        json!({
            "description": "Something that a draft is judged by: a name and one kind of verifier.",
            "type": "object",
            "properties": properties,
            "required": ["name"],
            "additionalProperties": false,
        }),
    );
    let names: Vec<&str> = registry.protocols().collect();
    definitions.insert(
        "ProtocolSetting".to_owned(),
        json!({ "anyOf": [
            { "type": "string", "enum": names },
            {
                "type": "object",
                "properties": protocols,
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false,
            },
        ]}),
    );
    schema
}
