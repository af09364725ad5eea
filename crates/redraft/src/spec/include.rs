//! What may stand in a file of its own. It is read once, when the spec is loaded, and carried inside from then on.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::source::{Source, Tree, below};

/// A setting that may stand in a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Include {
    /// Where it stands among the settings: `schema`, or `documents/*`.
    pub(super) setting: &'static str,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Data,
    Text,
    List,
    Document,
    Path,
}

impl Include {
    /// Data: a text is the path of a JSON or YAML file that holds it.
    #[must_use]
    pub const fn data(setting: &'static str) -> Self {
        Self { setting, form: Form::Data }
    }

    /// A text: one line that looks like a path (`./tables.sql`) is the path of a file that holds it.
    #[must_use]
    pub const fn text(setting: &'static str) -> Self {
        Self { setting, form: Form::Text }
    }

    /// A list: a text is the path of a YAML list, or of a file with an entry per line.
    #[must_use]
    pub const fn list(setting: &'static str) -> Self {
        Self { setting, form: Form::List }
    }

    /// A table whose `file` is the path of what becomes its `text`. Its `name` is the file's unless it has one.
    #[must_use]
    pub const fn document(setting: &'static str) -> Self {
        Self { setting, form: Form::Document }
    }

    /// A path that stays one, seen from the spec: a folder, a database.
    #[must_use]
    pub const fn path(setting: &'static str) -> Self {
        Self { setting, form: Form::Path }
    }
}

/// A file that cannot be taken in: why, and what to do about it.
pub(super) struct Missing {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Takes in what stands in other files, in place of the value.
///
/// # Errors
/// Says which file cannot be read, or what is wrong with it.
pub(super) fn take_in(
    value: &mut Value,
    form: Form,
    folder: Option<&Path>,
) -> Result<Option<Source>, Missing> {
    match (form, &*value) {
        (Form::Data, Value::String(path)) => {
            let source = read(path, folder)?;
            *value = data(&source)?;
            Ok(Some(source))
        }
        (Form::Text, Value::String(path)) if looks_like_a_path(path) => {
            let source = read(path, folder)?;
            *value = Value::from(source.text.clone());
            Ok(Some(source))
        }
        (Form::List, Value::String(path)) => {
            let source = read(path, folder)?;
            *value = list(&source)?;
            Ok(Some(source))
        }
        (Form::Document, Value::Object(table)) => {
            let Some(path) = table.get("file").and_then(Value::as_str) else { return Ok(None) };
            let source = read(path, folder)?;
            let name = table.get("name").cloned().unwrap_or_else(|| file_name(path));
            *value = json!({ "name": name, "text": source.text });
            Ok(Some(source))
        }
        (Form::Path, Value::String(path)) => {
            let full = seen_from(path, folder);
            if !full.exists() {
                return Err(not_there(path, folder));
            }
            *value = Value::from(full.to_string_lossy());
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Takes in the text of `{ file: … }`.
pub(super) fn words(value: &mut Value, folder: Option<&Path>) -> Result<Option<Source>, Missing> {
    let Some(path) = value.get("file").and_then(Value::as_str) else { return Ok(None) };
    let source = read(path, folder)?;
    *value = Value::from(source.text.clone());
    Ok(Some(source))
}

/// Returns the pointers under `pointer` that a setting like `documents/*/file` stands for.
pub(super) fn places(value: &Value, pointer: &str, setting: &str) -> Vec<String> {
    let mut found = vec![pointer.to_owned()];
    for step in setting.split('/') {
        let next = |at: String| match (step, value.pointer(&at)) {
            ("*", Some(Value::Array(items))) => (0..items.len()).map(|n| format!("{at}/{n}")).collect(),
            ("*", Some(Value::Object(entries))) => entries.keys().map(|key| below(&at, key)).collect(),
            (step, Some(Value::Object(entries))) if entries.contains_key(step) => vec![below(&at, step)],
            _ => Vec::new(),
        };
        found = found.into_iter().flat_map(next).collect();
    }
    found
}

fn looks_like_a_path(text: &str) -> bool {
    let line = text.trim();
    !line.contains('\n')
        && (line.starts_with("./")
            || line.starts_with("../")
            || line.starts_with('/')
            || (!line.contains(char::is_whitespace) && Path::new(line).extension().is_some()))
}

pub(super) fn seen_from(path: &str, folder: Option<&Path>) -> PathBuf {
    let full = folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    std::path::absolute(&full).unwrap_or(full)
}

fn read(path: &str, folder: Option<&Path>) -> Result<Source, Missing> {
    let full = folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    let unreadable =
        |reason: String| Missing { message: format!("`{path}` cannot be read: {reason}"), hint: None };
    match std::fs::read(&full) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
            Ok(Source { name: path.to_owned(), text })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(not_there(path, folder)),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn not_there(path: &str, folder: Option<&Path>) -> Missing {
    let full = folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    let siblings = full.parent().and_then(|parent| std::fs::read_dir(parent).ok());
    let names: Vec<String> = siblings
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let wanted = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let near = crate::suggest::nearest(&wanted, names.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("there is `{near}` beside it; paths are seen from the spec"),
        None => "paths are seen from the folder of the spec".to_owned(),
    };
    Missing { message: format!("there is no file `{path}`"), hint: Some(hint) }
}

fn data(source: &Source) -> Result<Value, Missing> {
    // JSON is YAML, too, and a mistake in either gets a place.
    Tree::read(&source.name, source.text.as_bytes()).map(|tree| tree.value).map_err(|found| Missing {
        message: found.first().map_or_else(String::new, ToString::to_string),
        hint: Some("give JSON or YAML".to_owned()),
    })
}

fn list(source: &Source) -> Result<Value, Missing> {
    let is_yaml = [".yaml", ".yml", ".json"].iter().any(|end| source.name.ends_with(end));
    if is_yaml {
        return data(source);
    }
    let entry = |line: &str| line.trim().trim_start_matches(['-', '*']).trim().to_owned();
    let entries = source.text.lines().map(entry).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(entries.map(Value::from).collect())
}

fn file_name(path: &str) -> Value {
    Path::new(path).file_name().map_or_else(|| Value::from(path), |name| Value::from(name.to_string_lossy()))
}

/// Lets the schema of a kind's settings also take a path where a list may stand in a file.
pub(super) fn widen(definitions: &mut Map<String, Value>, schema: &Value, include: Include) {
    if include.form != Form::List {
        return;
    }
    let mut pointer = String::new();
    let mut at = schema.clone();
    for step in include.setting.split('/') {
        if let Some(name) =
            at.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next())
        {
            pointer = below("", name);
            at = definitions.get(name).cloned().unwrap_or_default();
        }
        let steps: &[&str] = match (step, at.get("items").is_some()) {
            ("*", true) => &["items"],
            ("*", false) => &["additionalProperties"],
            (step, _) => &["properties", step],
        };
        for step in steps {
            pointer = below(&pointer, step);
            at = at.get(step).cloned().unwrap_or_default();
        }
    }
    let mut whole = Value::Object(std::mem::take(definitions));
    if let Some(place) = whole.pointer_mut(&pointer)
        && place.get("anyOf").is_none()
    {
        let list = place.take();
        *place = json!({ "anyOf": [list, { "type": "string", "description": "A file with an entry per line, or a YAML list." }] });
    }
    if let Value::Object(map) = whole {
        *definitions = map;
    }
}
