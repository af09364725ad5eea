//! Finding the calls in a plan, in the shapes in which models write them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::verify::Finding;
use crate::verify::json::read;
use crate::verify::json::schema::{type_of, with_article};

/// Where the list of calls stands in an object.
const LISTS: [&str; 2] = ["calls", "steps"];

/// What names the thing that is called. `name` comes last: next to another it is a label.
const NAMES: [&str; 4] = ["tool", "call", "operation", "name"];

/// Where arguments stand.
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];

/// A call that a plan wants made.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    pub(super) name: &'a str,
    pub(super) name_pointer: String,
    pub(super) arguments: Cow<'a, Map<String, Value>>,
    /// Where the arguments stand, or the call if it has none.
    pub(super) arguments_pointer: String,
}

/// A call with its place, or what is wrong with it.
pub(super) type Found<'a> = (String, Result<Planned<'a>, Box<Finding>>);

/// Finds the calls of a plan.
pub(super) fn calls(plan: &Value) -> Result<Vec<Found<'_>>, Box<Finding>> {
    let (base, list) = match plan {
        Value::Array(list) => (String::new(), list.as_slice()),
        Value::Object(object) => {
            let list = LISTS.iter().find_map(|key| Some((key, object.get(*key)?.as_array()?)));
            match list {
                Some((key, list)) => (format!("/{key}"), list.as_slice()),
                None => return Ok(vec![(String::new(), call(plan, String::new()))]),
            }
        }
        other => {
            let message = format!("a plan is a list of calls; this is {}", with_article(type_of(other)));
            let finding = Finding::new("plan", message).about("plan").pointer("");
            return Err(Box::new(finding.suggest("write a JSON list of calls")));
        }
    };
    if list.is_empty() {
        let finding = Finding::new("no-calls", "the plan has no calls").about("plan").pointer(base);
        return Err(Box::new(finding.suggest("add at least one call")));
    }
    let placed = list.iter().enumerate().map(|(at, item)| {
        let pointer = format!("{base}/{at}");
        (pointer.clone(), call(item, pointer))
    });
    Ok(placed.collect())
}

fn call(item: &Value, pointer: String) -> Result<Planned<'_>, Box<Finding>> {
    let Some(object) = item.as_object() else {
        let message = format!("a call is an object; this is {}", with_article(type_of(item)));
        let finding = Finding::new("plan", message).about(pointer.as_str()).pointer(pointer);
        return Err(Box::new(finding.suggest("write it as {\"tool\": name, \"arguments\": {…}}")));
    };
    let Some((key, name)) = NAMES.iter().find_map(|key| Some((key, object.get(*key)?.as_str()?))) else {
        let finding = Finding::new("unnamed-call", "the call does not say what is called")
            .about(pointer.as_str())
            .pointer(pointer)
            .suggest("name it under `tool`");
        return Err(Box::new(finding));
    };
    let name_pointer = format!("{pointer}/{key}");
    let given = ARGUMENTS.iter().find_map(|key| Some((key, object.get(*key)?)));
    let (arguments, arguments_pointer) = match given {
        Some((key, value)) => {
            let place = format!("{pointer}/{key}");
            (object_of(value, &place)?, place)
        }
        None => (Cow::Owned(Map::new()), pointer),
    };
    Ok(Planned { name, name_pointer, arguments, arguments_pointer })
}

/// Reads arguments: an object, nothing, or a text that holds an object, as some services give it.
fn object_of<'a>(value: &'a Value, pointer: &str) -> Result<Cow<'a, Map<String, Value>>, Box<Finding>> {
    match value {
        Value::Object(object) => Ok(Cow::Borrowed(object)),
        Value::Null => Ok(Cow::Owned(Map::new())),
        Value::String(text) => match read::read(text, false) {
            Ok(read::Document { value: Value::Object(object), .. }) => Ok(Cow::Owned(object)),
            _ => Err(Box::new(not_an_object(value, pointer))),
        },
        other => Err(Box::new(not_an_object(other, pointer))),
    }
}

fn not_an_object(value: &Value, pointer: &str) -> Finding {
    let message = format!("arguments are an object; this is {}", with_article(type_of(value)));
    Finding::new("arguments", message)
        .about(pointer)
        .pointer(pointer)
        .suggest("give every argument by name: {\"name\": value}")
}
