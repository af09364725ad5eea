//! Comparing a value with a JSON Schema, and saying what is wrong in words that help.

use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;

use super::read::escaped;
use crate::suggest::nearest;
use crate::verify::shorten::shortened;
use crate::verify::{Error, Finding};

/// More faults than this are not listed.
const MOST_VIOLATIONS: usize = 100;

/// A schema, ready to be compared with.
#[derive(Debug)]
pub(in crate::verify) struct Schema {
    root: Value,
    validator: Validator,
}

/// One way in which a value does not fit.
#[derive(Debug)]
pub(in crate::verify) struct Violation {
    /// The keyword of the schema that says so.
    pub(in crate::verify) keyword: String,
    /// Where in the value.
    pub(in crate::verify) pointer: String,
    /// The property that is missing or too much.
    pub(in crate::verify) property: Option<String>,
    pub(in crate::verify) message: String,
    evidence: Option<String>,
    pub(in crate::verify) suggestion: Option<String>,
}

/// Fetches nothing, and remembers what was asked for.
struct Offline(Arc<Mutex<Option<String>>>);

impl Retrieve for Offline {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(uri.to_string());
        Err("nothing is fetched".into())
    }
}

impl Schema {
    /// Compiles a schema in the draft that it names, or the newest.
    pub(in crate::verify) fn compile(of: &str, schema: &Value) -> Result<Self, Error> {
        Self::compile_in(of, schema, None)
    }

    /// Compiles a schema in a given draft.
    pub(in crate::verify) fn compile_in(
        of: &str,
        schema: &Value,
        draft: Option<Draft>,
    ) -> Result<Self, Error> {
        let refused = |reason: String| Error::BadSchema { of: of.to_owned(), reason };
        if let Some(text) = schema.as_str() {
            return Err(refused(format!("it is the text `{}` and not a schema", shortened(text))));
        }
        let asked = Arc::new(Mutex::new(None));
        let mut options =
            jsonschema::options().with_retriever(Offline(Arc::clone(&asked))).should_validate_formats(true);
        if let Some(draft) = draft {
            options = options.with_draft(draft);
        }
        let built = options.build(schema);
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (built, asked) {
            (Ok(validator), _) => Ok(Self { root: schema.clone(), validator }),
            (Err(_), Some(reference)) => Err(Error::RemoteReference { reference }),
            (Err(error), None) => Err(refused(match error.instance_path().as_str() {
                "" => shortened(&error.to_string()),
                place => format!("at {place}: {}", shortened(&error.to_string())),
            })),
        }
    }

    /// Tells everything that is wrong with a value.
    pub(in crate::verify) fn violations(&self, value: &Value) -> Vec<Violation> {
        self.validator
            .iter_errors(value)
            .flat_map(|error| violations_of(&error, &self.root))
            .take(MOST_VIOLATIONS)
            .collect()
    }
}

impl Violation {
    /// Names the broken rule: the keyword, in kebab-case.
    pub(in crate::verify) fn rule(&self) -> String {
        let mut rule = String::new();
        for c in self.keyword.trim_start_matches('$').chars() {
            if c.is_uppercase() {
                rule.push('-');
            }
            rule.extend(c.to_lowercase());
        }
        rule
    }

    /// Makes a finding of it; `base` is where the value stands in the draft.
    pub(in crate::verify) fn into_finding(self, rule: String, base: &str) -> Finding {
        let pointer = format!("{base}{}", self.pointer);
        let subject = match &self.property {
            Some(property) => format!("{pointer}/{}", escaped(property)),
            None => pointer.clone(),
        };
        let mut finding = Finding::new(rule, self.message).about(subject).pointer(pointer);
        finding.evidence = self.evidence;
        finding.suggestion = self.suggestion;
        finding
    }
}

fn violations_of(error: &ValidationError<'_>, root: &Value) -> Vec<Violation> {
    let value = error.instance();
    let one = |message: String, suggestion: Option<String>| Violation {
        keyword: error.kind().keyword().to_owned(),
        pointer: error.instance_path().as_str().to_owned(),
        property: None,
        message,
        evidence: Some(shortened(&value.to_string())),
        suggestion,
    };
    vec![match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = known_properties(root, error.schema_path().as_str());
            return unexpected.iter().map(|name| unknown_property(one, name, &known, value)).collect();
        }
        Kind::Required { property } => {
            let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
            let message = format!("the property `{name}` is missing");
            let mut violation = one(message, Some(format!("add the property `{name}`")));
            violation.property = Some(name);
            violation
        }
        Kind::Type { kind } => {
            let wanted = types_of(kind);
            let message = format!("this is {}; it must be {}", with_article(type_of(value)), either(&wanted));
            one(message, retyped(value, &wanted))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let list = options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            let words = options.iter().filter_map(Value::as_str);
            let near = value.as_str().and_then(|typed| nearest(typed, words));
            let suggestion = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("take one of {list}"),
            };
            one(format!("this must be one of {}", shortened(&list)), Some(suggestion))
        }
        Kind::Constant { expected_value } => {
            one(format!("this must be {}", shortened(&expected_value.to_string())), None)
        }
        Kind::Minimum { limit } => one(format!("this must be at least {limit}"), None),
        Kind::Maximum { limit } => one(format!("this must be at most {limit}"), None),
        Kind::ExclusiveMinimum { limit } => one(format!("this must be more than {limit}"), None),
        Kind::ExclusiveMaximum { limit } => one(format!("this must be less than {limit}"), None),
        Kind::MinLength { limit } => one(format!("this must have at least {limit} characters"), None),
        Kind::MaxLength { limit } => one(format!("this must have at most {limit} characters"), None),
        Kind::MinItems { limit } => one(format!("this must have at least {limit} items"), None),
        Kind::MaxItems { limit } => one(format!("this must have at most {limit} items"), None),
        Kind::Pattern { pattern } => one(format!("this must match the pattern `{pattern}`"), None),
        Kind::Format { format } => one(format!("this must have the format `{format}`"), example_of(format)),
        Kind::UniqueItems => {
            one("this list has an item twice".to_owned(), Some("remove the copy".to_owned()))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let (message, suggestion) = nearest_form(context, root);
            one(message, suggestion)
        }
        Kind::OneOfMultipleValid { .. } => {
            one("this fits several of the allowed forms; it must fit just one".to_owned(), None)
        }
        Kind::FalseSchema => one("nothing may stand here".to_owned(), Some("remove this value".to_owned())),
        _ => one(shortened(&error.masked_with("this").to_string()), None),
    }]
}

/// Says which of several forms comes nearest: the one with the fewest faults, and not of another type altogether.
fn nearest_form(context: &[Vec<ValidationError<'static>>], root: &Value) -> (String, Option<String>) {
    let strange = |form: &[ValidationError<'static>]| {
        form.iter().any(|fault| matches!(fault.kind(), Kind::Type { .. } | Kind::Constant { .. }))
    };
    let best = context.iter().enumerate().min_by_key(|(_, form)| (strange(form), form.len()));
    let mut message = format!("this fits none of the {} allowed forms", context.len());
    let Some((nth, form)) = best else { return (message, None) };
    let Some(fault) = form.iter().flat_map(|fault| violations_of(fault, root)).next() else {
        return (message, None);
    };
    let place = if fault.pointer.is_empty() { String::new() } else { format!("at {}: ", fault.pointer) };
    message.push_str(&format!("; the nearest is form {}: {place}{}", nth + 1, fault.message));
    (message, fault.suggestion)
}

fn unknown_property(
    one: impl Fn(String, Option<String>) -> Violation,
    name: &str,
    known: &[&str],
    value: &Value,
) -> Violation {
    let suggestion = match nearest(name, known.iter().copied().filter(|known| value.get(known).is_none())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("remove the property `{name}`"),
    };
    let mut violation = one(format!("the property `{name}` is not allowed"), Some(suggestion));
    violation.pointer.push_str(&format!("/{}", escaped(name)));
    violation.evidence = value.get(name).map(|value| shortened(&value.to_string()));
    violation
}

/// Returns the properties that stand next to a keyword of the schema.
fn known_properties<'a>(root: &'a Value, keyword: &str) -> Vec<&'a str> {
    let parent = keyword.rsplit_once('/').and_then(|(parent, _)| root.pointer(parent));
    let properties = parent.and_then(|parent| parent.get("properties")).and_then(Value::as_object);
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

fn types_of(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    }
}

pub(in crate::verify) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(in crate::verify) fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        kind if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

fn either(kinds: &[String]) -> String {
    kinds.iter().map(|kind| with_article(kind)).collect::<Vec<_>>().join(" or ")
}

fn retyped(value: &Value, wanted: &[String]) -> Option<String> {
    let wants = |kind: &str| wanted.iter().any(|wanted| wanted == kind);
    match value {
        Value::String(text) => {
            let inside: Value = serde_json::from_str(text).ok()?;
            let whole = inside.is_i64() || inside.is_u64();
            let fits = wants(type_of(&inside)) || wants("integer") && whole;
            fits.then(|| format!("write {} without quotation marks", shortened(text)))
        }
        Value::Number(_) | Value::Bool(_) if wants("string") => {
            Some(format!("put {value} in quotation marks"))
        }
        Value::Number(_) if wants("integer") => Some("write a whole number".to_owned()),
        value if wants("array") && !value.is_null() => Some("put it in a list".to_owned()),
        _ => None,
    }
}

fn example_of(format: &str) -> Option<String> {
    let example = match format {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "email" => "name@example.org",
        "uri" => "https://example.org/page",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "ipv4" => "192.0.2.1",
        _ => return None,
    };
    Some(format!("write it like `{example}`"))
}
