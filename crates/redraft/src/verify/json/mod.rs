//! Is a draft JSON, and has it the shape that was asked for?
//!
//! `read` turns a draft into a value and says where it cannot; `schema` compares a value with a JSON Schema. Nothing is
//! ever fetched: a schema that refers to something outside of itself is refused when the verifier is made.

pub(super) mod read;
pub(super) mod schema;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::schema::Schema;
use super::{Case, Error, Finding, Rule, Verdict};

/// What is demanded of a draft that is to be JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JsonConfig")]
#[non_exhaustive]
pub struct Config {
    /// The JSON Schema that it must fit, of any draft; in a spec file also a path to one. Without it any JSON will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether JSON in a Markdown fence is taken out of it. True if not given.
    #[serde(default = "yes")]
    pub extract: bool,
}

fn yes() -> bool {
    true
}

impl Default for Config {
    fn default() -> Self {
        Self { schema: None, extract: true }
    }
}

impl Config {
    /// Demands any JSON.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Demands that it fits a JSON Schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<Value>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Says whether JSON in a Markdown fence is taken out of it.
    #[must_use]
    pub fn extract(mut self, extract: bool) -> Self {
        self.extract = extract;
        self
    }

    /// Returns the path that stands in the place of the schema, for whoever reads files.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.schema.as_ref().and_then(Value::as_str)
    }
}

/// A verifier of JSON.
///
/// ```
/// use redraft::verify::{Case, Json, Rule, json};
/// use serde_json::json;
///
/// # fn main() -> Result<(), redraft::verify::Error> {
/// let order = json!({ "type": "object", "required": ["total"], "properties": { "total": { "type": "number" } } });
/// let shape = Json::compile(json::Config::new().schema(order))?;
/// let verdict = shape.check(&Case::new("Write an order.", r#"{ "total": "12" }"#));
/// assert_eq!(verdict.findings[0].to_string(), "/total: this is a string; it must be a number");
/// assert_eq!(verdict.findings[0].suggestion.as_deref(), Some("write 12 without quotation marks"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Json {
    config: Config,
    schema: Option<Schema>,
}

impl Json {
    /// Makes the verifier.
    ///
    /// # Errors
    /// [`Error::BadSchema`] if the schema cannot be used, [`Error::RemoteReference`] if it refers to another document.
    pub fn compile(config: Config) -> Result<Self, Error> {
        let schema = config.schema.as_ref().map(|schema| Schema::compile("the draft", schema)).transpose()?;
        Ok(Self { config, schema })
    }

    /// Returns what it was made of.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}

impl TryFrom<Config> for Json {
    type Error = Error;

    fn try_from(config: Config) -> Result<Self, Error> {
        Self::compile(config)
    }
}

impl Rule for Json {
    fn demand(&self) -> String {
        match &self.config.schema {
            Some(schema) => format!("one JSON value and nothing else, which fits this JSON Schema: {schema}"),
            None => "one JSON value and nothing else".to_owned(),
        }
    }

    fn check(&self, case: &Case) -> Verdict {
        let document = match read::read(&case.draft, self.config.extract) {
            Ok(document) => document,
            Err(finding) => return Verdict::of([*finding]),
        };
        let mut findings: Vec<Finding> =
            document.duplicates.iter().map(|pointer| duplicate(pointer)).collect();
        if let Some(schema) = &self.schema {
            findings.extend(schema.violations(&document.value).into_iter().map(|violation| {
                let rule = violation.rule();
                violation.into_finding(rule, "")
            }));
        }
        graded(findings)
    }

    fn describe(&self) -> Value {
        json!({ "json": self.config })
    }
}

/// Makes a verdict whose score falls with every finding.
pub(super) fn graded(findings: Vec<Finding>) -> Verdict {
    let count = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    Verdict::of(findings).graded(1.0 / (1.0 + f64::from(count)))
}

/// Makes the finding of a key that an object has twice.
pub(super) fn duplicate(pointer: &str) -> Finding {
    let key = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    Finding::new("duplicate-key", format!("the key `{key}` stands twice in the same object"))
        .about(pointer)
        .pointer(pointer)
        .suggest("keep one of them")
}
