//! Is a plan of calls one that can be made: do the tools or operations exist, and do the arguments fit?
//!
//! `plan` finds the calls in a draft, `openapi` turns a document into operations, `operation` compares arguments with one
//! of them. Nothing is called.

mod openapi;
mod operation;
mod plan;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::operation::Operation;
use self::plan::Planned;
use super::json::{duplicate, graded, read};
use super::{Case, Error, Finding, Rule, Verdict};
use crate::suggest::nearest;

/// More operations than this are not listed for whoever writes the plan.
const MOST_LISTED: usize = 60;

/// What may be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CallConfig")]
#[non_exhaustive]
pub struct Config {
    /// Tools, each with the JSON Schema of its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// An OpenAPI 3.0 or 3.1 document; in a spec file also a path to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openapi: Option<Value>,
    /// Whether calls and parameters that are described nowhere are let through.
    #[serde(default)]
    pub allow_unknown: bool,
    /// The most calls that a plan may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<usize>,
}

/// Something that can be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for whoever writes the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its parameters, as one object. Without it the tool takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

impl Tool {
    /// Describes a tool by the JSON Schema of its parameters.
    pub fn new(name: impl Into<String>, parameters: impl Into<Value>) -> Self {
        Self { name: name.into(), description: None, parameters: Some(parameters.into()) }
    }
}

impl Config {
    /// Allows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows calls of a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Allows calls of the operations of an OpenAPI document.
    #[must_use]
    pub fn openapi(mut self, document: impl Into<Value>) -> Self {
        self.openapi = Some(document.into());
        self
    }

    /// Lets calls and parameters through that are described nowhere.
    #[must_use]
    pub fn allow_unknown(mut self) -> Self {
        self.allow_unknown = true;
        self
    }

    /// Allows at most so many calls.
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = Some(calls);
        self
    }

    /// Returns the path that stands in the place of the OpenAPI document, for whoever reads files.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.openapi.as_ref().and_then(Value::as_str)
    }
}

/// A verifier of plans of calls.
///
/// A plan is JSON: a list of calls, an object with the list under `calls` or `steps`, or a single call. A call names what
/// it calls under `tool`, `call`, `operation` or `name`, and gives its arguments as an object under `arguments`,
/// `parameters` or `args`. An operation of an OpenAPI document is called by its `operationId` or as `GET /path/{id}`; a
/// JSON body goes under `body`, or its properties next to the other arguments.
///
/// ```
/// use redraft::verify::call::{Config, Tool};
/// use redraft::verify::{Call, Case, Rule};
/// use serde_json::json;
///
/// # fn main() -> Result<(), redraft::verify::Error> {
/// let city = json!({ "properties": { "city": { "type": "string" } }, "required": ["city"] });
/// let plan = Call::compile(Config::new().tool(Tool::new("weather", city)))?;
/// let verdict = plan.check(&Case::new("Plan a trip.", r#"[{ "tool": "wether", "arguments": {} }]"#));
/// assert_eq!(verdict.findings[0].suggestion.as_deref(), Some("did you mean `weather`?"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Call {
    config: Config,
    operations: Vec<Operation>,
    /// Every name of every operation, and where it stands in the list.
    names: HashMap<String, usize>,
}

impl Call {
    /// Makes the verifier.
    ///
    /// # Errors
    /// [`Error::EmptyRule`] if there is nothing to call, [`Error::BadOpenapi`], [`Error::BadSchema`] and
    /// [`Error::RemoteReference`] for descriptions that cannot be used, [`Error::BadBounds`] if no call is allowed.
    pub fn compile(config: Config) -> Result<Self, Error> {
        if config.max_calls == Some(0) {
            let reason = "no plan has at most 0 calls".to_owned();
            return Err(Error::BadBounds { rule: "max_calls".to_owned(), reason });
        }
        let mut operations = Vec::new();
        for tool in &config.tools {
            operations.push(Operation::of_tool(tool)?);
        }
        if let Some(document) = &config.openapi {
            operations.extend(openapi::operations(document)?);
        }
        if operations.is_empty() {
            return Err(Error::EmptyRule { rule: "call".to_owned() });
        }
        let mut names = HashMap::new();
        for (at, operation) in operations.iter().enumerate() {
            for name in &operation.names {
                if names.insert(name.clone(), at).is_some_and(|other| other != at) {
                    let reason = "two have this name".to_owned();
                    return Err(Error::BadSchema { of: format!("`{name}`"), reason });
                }
            }
        }
        Ok(Self { config, operations, names })
    }

    /// Returns what it was made of.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    fn find(&self, name: &str) -> Option<&Operation> {
        let at = self.names.get(name).or_else(|| {
            let (method, path) = name.split_once(char::is_whitespace)?;
            self.names.get(&format!("{} {}", method.to_uppercase(), path.trim()))
        });
        at.and_then(|at| self.operations.get(*at))
    }

    fn check_call(&self, call: &Planned<'_>) -> Vec<Finding> {
        match self.find(call.name) {
            Some(operation) => operation.check(call, self.config.allow_unknown),
            None if self.config.allow_unknown => Vec::new(),
            None => {
                let suggestion = match nearest(call.name, self.names.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let known: Vec<&str> =
                            self.operations.iter().take(10).filter_map(Operation::name).collect();
                        let more = if self.operations.len() > known.len() { " and more" } else { "" };
                        format!("call one of those that there are: {}{more}", known.join(", "))
                    }
                };
                let finding =
                    Finding::new("unknown-call", format!("there is nothing called `{}`", call.name))
                        .about(call.name)
                        .pointer(call.name_pointer.as_str())
                        .evidence(call.name)
                        .suggest(suggestion);
                vec![finding]
            }
        }
    }
}

impl TryFrom<Config> for Call {
    type Error = Error;

    fn try_from(config: Config) -> Result<Self, Error> {
        Self::compile(config)
    }
}

impl Rule for Call {
    fn demand(&self) -> String {
        let listed = self.operations.iter().take(MOST_LISTED).map(Operation::signature);
        let mut listed = listed.collect::<Vec<_>>().join(", ");
        let left = self.operations.len().saturating_sub(MOST_LISTED);
        if left > 0 {
            listed.push_str(&format!(" and {left} more"));
        }
        let count = self.config.max_calls.map(|most| format!("at most {most} of them, ")).unwrap_or_default();
        format!(
            "a plan of calls as a JSON list, {count}each as {{\"tool\": name, \"arguments\": {{…}}}}; there are: {listed}"
        )
    }

    fn check(&self, case: &Case) -> Verdict {
        let document = match read::read(&case.draft, true) {
            Ok(document) => document,
            Err(finding) => return Verdict::of([*finding]),
        };
        let mut findings: Vec<Finding> =
            document.duplicates.iter().map(|pointer| duplicate(pointer)).collect();
        let calls = match plan::calls(&document.value) {
            Ok(calls) => calls,
            Err(finding) => return Verdict::of([*finding]),
        };
        if let Some(most) = self.config.max_calls.filter(|most| calls.len() > *most) {
            let surplus = calls.len() - most;
            let message = format!("the plan has {} calls; it may have {most}", calls.len());
            let mut finding =
                Finding::new("max-calls", message).about("count").suggest(format!("do with {surplus} fewer"));
            if let Some((pointer, _)) = calls.get(most) {
                finding = finding.pointer(pointer.as_str());
            }
            findings.push(finding);
        }
        for (_, call) in calls {
            match call {
                Ok(call) => findings.extend(self.check_call(&call)),
                Err(finding) => findings.push(*finding),
            }
        }
        graded(findings)
    }

    fn describe(&self) -> Value {
        json!({ "call": self.config })
    }
}
