//! Does a file have the shape that the schema of the format demands? If not: where, and what was meant.
//!
//! The schema is the one that is published, so what an editor accepts and what is accepted here cannot differ.

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind as Kind};
use serde_json::Value;

use super::diagnostic::{Diagnostic, Mistake};
use super::judging::BESIDE;
use super::source::{Tree, below};
use crate::suggest::nearest;

/// A place that does not fit, with its pointer.
pub(super) struct Misfit {
    pub(super) pointer: String,
    pub(super) diagnostic: Diagnostic,
}

/// Finds everything in a file that does not fit.
pub(super) fn misfits(schema: &Value, tree: &Tree) -> Vec<Misfit> {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => {
            // A kind that somebody registered has a schema that is none.
            let message = format!("a registered kind has a schema that cannot be used: {error}");
            let diagnostic = Diagnostic::coded("bad-schema", message).at(&tree.source, 0..0);
            return vec![Misfit { pointer: String::new(), diagnostic }];
        }
    };
    let fit = Fit { schema, tree };
    let mut found: Vec<Misfit> =
        validator.iter_errors(&tree.value).flat_map(|error| fit.explain(&error)).collect();
    // A key that is only misspelt is not missing, too.
    let misspelt: Vec<String> = found
        .iter()
        .filter_map(|misfit| {
            let table = misfit.pointer.rsplit_once('/')?.0;
            misfit.diagnostic.did_you_mean.as_ref().map(|meant| below(table, meant))
        })
        .collect();
    let missing = Mistake::MissingKey.code();
    found.retain(|misfit| misfit.diagnostic.code != missing || !misspelt.contains(&misfit.pointer));
    found
}

struct Fit<'a> {
    schema: &'a Value,
    tree: &'a Tree,
}

impl Fit<'_> {
    fn explain(&self, error: &ValidationError<'_>) -> Vec<Misfit> {
        let pointer = error.instance_path().as_str().to_owned();
        match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let known = self.keys_at(error.evaluation_path().as_str());
                unexpected.iter().map(|key| self.unknown_key(&pointer, key, &known)).collect()
            }
            // A table without any keys, with some.
            Kind::FalseSchema => {
                let keys = self.tree.value.pointer(&pointer).and_then(Value::as_object);
                keys.into_iter().flatten().map(|(key, _)| self.unknown_key(&pointer, key, &[])).collect()
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.alternatives(&pointer, context),
            Kind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let found = Diagnostic::new(Mistake::MissingKey, format!("{} needs `{key}`", name(&pointer)))
                    .at(&self.tree.source, self.tree.key_at(&pointer));
                vec![Misfit { pointer: below(&pointer, key), diagnostic: found }]
            }
            Kind::Type { kind } => {
                let mut misfit = self.wrong_type(&pointer, &types(kind));
                if let Some(example) = self.example_at(error.evaluation_path().as_str()) {
                    misfit.diagnostic = misfit.diagnostic.hint(format!("write it like `{example}`"));
                }
                vec![misfit]
            }
            Kind::Constant { expected_value } => vec![self.word(&pointer, &[text_of(expected_value)])],
            Kind::Enum { options } => {
                let words: Vec<String> = options.as_array().into_iter().flatten().map(text_of).collect();
                vec![self.word(&pointer, &words)]
            }
            kind => vec![self.value(&pointer, &bound(kind).unwrap_or_else(|| error.to_string()))],
        }
    }

    fn unknown_key(&self, pointer: &str, key: &str, known: &[String]) -> Misfit {
        let at = below(pointer, key);
        // Sorted, so that the words do not depend on how a map keeps its entries.
        let mut known = known.to_vec();
        known.sort();
        let meant = nearest(key, known.iter().map(String::as_str));
        let beside = |word: &String| BESIDE.contains(&word.as_str());
        let is_verifier = pointer.strip_prefix("/verify/").is_some_and(|rest| !rest.contains('/'));
        let diagnostic = if is_verifier && !meant.as_ref().is_some_and(beside) {
            Diagnostic::new(Mistake::Kind, format!("there is no kind of verifier `{key}`"))
                .expected(known.iter().filter(|word| !beside(word)).cloned())
        } else {
            Diagnostic::new(Mistake::UnknownKey, format!("{} has no key `{key}`", name(pointer)))
                .expected(known.iter().cloned())
        };
        let diagnostic = diagnostic.at(&self.tree.source, self.tree.key_at(&at)).meant(meant);
        Misfit { pointer: at, diagnostic }
    }

    /// Returns the keys that are known where `additionalProperties` stands, of which this is the path.
    fn keys_at(&self, path: &str) -> Vec<String> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let properties = self.follow(parent).and_then(|schema| schema["properties"].as_object());
        properties.into_iter().flatten().map(|(key, _)| key.clone()).collect()
    }

    /// Returns how a value can be written, where the schema shows it.
    fn example_at(&self, path: &str) -> Option<String> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(text_of(self.follow(parent)?.get("examples")?.get(0)?))
    }

    /// Walks along a path that goes through references.
    fn follow(&self, path: &str) -> Option<&Value> {
        let mut schema = self.schema;
        for step in path.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            schema = if step == "$ref" {
                let target = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
                self.schema.pointer(target)?
            } else {
                match schema {
                    Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                    schema => schema.get(&step)?,
                }
            };
        }
        Some(schema)
    }

    /// Takes the alternative that was most likely meant: one that has the right sort of value, and the fewest mistakes.
    fn alternatives(&self, pointer: &str, context: &[Vec<ValidationError<'static>>]) -> Vec<Misfit> {
        let here = |error: &ValidationError<'_>| error.instance_path().as_str() == pointer;
        let other_sort = |error: &&ValidationError<'_>| {
            here(error)
                && matches!(error.kind(), Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. })
        };
        let meant = context
            .iter()
            .filter(|errors| !errors.iter().any(|error| other_sort(&error)))
            .min_by_key(|errors| errors.len());
        if let Some(errors) = meant {
            return errors.iter().flat_map(|error| self.explain(error)).collect();
        }
        let mut words = Vec::new();
        let mut sorts = Vec::new();
        for error in context.iter().flatten().filter(other_sort) {
            match error.kind() {
                Kind::Constant { expected_value } => words.push(text_of(expected_value)),
                Kind::Enum { options } => words.extend(options.as_array().into_iter().flatten().map(text_of)),
                Kind::Type { kind } => sorts.extend(types(kind)),
                _ => {}
            }
        }
        sorts.retain(|sort| sort != "nothing");
        let is_text = self.tree.value.pointer(pointer).is_some_and(Value::is_string);
        if is_text && !words.is_empty() {
            return vec![self.word(pointer, &words)];
        }
        sorts.splice(0..0, words.iter().map(|word| format!("`{word}`")));
        sorts.dedup();
        vec![self.wrong_type(pointer, &sorts)]
    }

    fn wrong_type(&self, pointer: &str, wanted: &[String]) -> Misfit {
        let given = self.tree.value.pointer(pointer).map_or("missing", sort);
        let message = format!("{} is {given}; it must be {}", name(pointer), wanted.join(" or "));
        let mut diagnostic = Diagnostic::new(Mistake::WrongType, message)
            .at(&self.tree.source, self.place(pointer))
            .expected(wanted.iter().cloned());
        let value = self.tree.value.pointer(pointer);
        if wanted.iter().any(|sort| sort == "a text")
            && value.is_some_and(|value| value.is_number() || value.is_boolean())
        {
            diagnostic = diagnostic.hint("put it between quotation marks");
        }
        Misfit { pointer: pointer.to_owned(), diagnostic }
    }

    fn word(&self, pointer: &str, known: &[String]) -> Misfit {
        let given = self.tree.value.pointer(pointer).map_or_else(String::new, text_of);
        let diagnostic =
            Diagnostic::new(Mistake::UnknownWord, format!("{} cannot be `{given}`", name(pointer)))
                .at(&self.tree.source, self.place(pointer))
                .meant(nearest(&given, known.iter().map(String::as_str)))
                .expected(known.iter().cloned());
        Misfit { pointer: pointer.to_owned(), diagnostic }
    }

    fn value(&self, pointer: &str, reason: &str) -> Misfit {
        let given = match self.tree.value.pointer(pointer) {
            Some(value @ (Value::Number(_) | Value::String(_))) => format!(" is {value}; it"),
            _ => String::new(),
        };
        let diagnostic = Diagnostic::new(Mistake::BadValue, format!("{}{given} {reason}", name(pointer)))
            .at(&self.tree.source, self.place(pointer));
        Misfit { pointer: pointer.to_owned(), diagnostic }
    }

    /// Where a value stands; what is nothing, or goes over many lines, is shown by its key.
    fn place(&self, pointer: &str) -> std::ops::Range<usize> {
        let value = self.tree.value_at(pointer);
        let text = self.tree.source.text.get(value.clone()).unwrap_or_default();
        if text.is_empty() || text.contains('\n') { self.tree.key_at(pointer) } else { value }
    }
}

/// What something is called by in a message: its key, or the whole.
pub(super) fn name(pointer: &str) -> String {
    let mut steps = pointer.rsplit('/');
    let last = steps.next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    match last.parse::<usize>() {
        _ if last.is_empty() => "the spec".to_owned(),
        Ok(at) => {
            let list = steps.next().unwrap_or_default();
            format!("entry {} of `{list}`", at + 1)
        }
        Err(_) => format!("`{last}`"),
    }
}

fn bound(kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::Minimum { limit } => format!("must be at least {}", short(limit)),
        Kind::Maximum { limit } => format!("must be at most {}", short(limit)),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {}", short(limit)),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {}", short(limit)),
        Kind::MinLength { .. } => "must not be empty".to_owned(),
        Kind::MinItems { limit: 1 } => "must have at least one entry".to_owned(),
        Kind::MinItems { limit } => format!("must have at least {limit} entries"),
        Kind::MinProperties { limit: 1 } | Kind::MaxProperties { limit: 1 } => "must have one key".to_owned(),
        Kind::MinProperties { limit } => format!("must have at least {limit} keys"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} keys"),
        _ => return None,
    })
}

/// Writes `1.0` as `1`.
fn short(number: &Value) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

fn types(kind: &TypeKind) -> Vec<String> {
    let words = |name: String| {
        match name.as_str() {
            "null" => "nothing",
            "boolean" => "true or false",
            "number" => "a number",
            "integer" => "a whole number",
            "string" => "a text",
            "array" => "a list",
            _ => "a table",
        }
        .to_owned()
    };
    let names: Vec<String> = match kind {
        TypeKind::Single(single) => vec![single.to_string()],
        TypeKind::Multiple(many) => many.iter().map(|single| single.to_string()).collect(),
    };
    names.into_iter().filter(|name| name != "null").map(words).collect()
}
