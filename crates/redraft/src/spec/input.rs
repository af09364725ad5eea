//! What a run is given: values that fit what the spec declares, with the defaults where nothing is given.

use serde_json::{Map, Value};

use super::Error;
use super::document::Resolved;
use crate::suggest::nearest;

/// Puts the input of a run together: values, then `name=value` texts that are read as the declared type says.
///
/// # Errors
/// [`Error::Input`] with everything that does not fit.
pub(super) fn gather(
    spec: &Resolved,
    values: Map<String, Value>,
    set: &[(String, String)],
) -> Result<Map<String, Value>, Error> {
    let known: Vec<String> = spec.input.keys().cloned().collect();
    let mut reasons = Vec::new();
    let mut given = values;
    for (name, text) in set {
        let schema = spec.input.get(name).map_or(&Value::Null, |fragment| &fragment.0);
        given.insert(name.clone(), read(schema, text));
    }
    for name in given.keys().filter(|name| !spec.input.contains_key(*name)) {
        let meant = nearest(name, known.iter().map(String::as_str));
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        reasons.push(format!("there is no input `{name}`{meant}"));
    }
    for (name, fragment) in &spec.input {
        match (given.get(name), fragment.0.get("default")) {
            (None, Some(default)) => drop(given.insert(name.clone(), default.clone())),
            (None, None) => reasons.push(format!("the input `{name}` must be given: --set {name}=…")),
            (Some(value), _) => {
                let fits = jsonschema::validator_for(&fragment.0);
                if let Ok(validator) = fits {
                    let errors = validator.iter_errors(value);
                    reasons.extend(errors.map(|error| format!("the input `{name}` does not fit: {error}")));
                }
            }
        }
    }
    if reasons.is_empty() { Ok(given) } else { Err(Error::Input { reasons, known }) }
}

/// Reads a text as a schema wants it. What cannot be read so stays a text, and will not fit.
fn read(schema: &Value, text: &str) -> Value {
    let wants = |sort: &str| match &schema["type"] {
        Value::String(one) => one == sort,
        Value::Array(many) => many.iter().any(|one| one == sort),
        // Nothing is said: a text is taken as it is.
        _ => sort == "string",
    };
    let parsed = serde_json::from_str::<Value>(text).ok();
    let fits = |value: &Value| match value {
        Value::Bool(_) => wants("boolean"),
        Value::Number(number) => wants("number") || (wants("integer") && !number.is_f64()),
        Value::Array(_) => wants("array"),
        Value::Object(_) => wants("object"),
        Value::Null => wants("null"),
        Value::String(_) => false,
    };
    parsed.filter(fits).unwrap_or_else(|| Value::from(text))
}
