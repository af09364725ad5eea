//! One thing that can be called, and whether arguments fit it.

use serde_json::{Map, Value, json};

use super::Tool;
use super::plan::Planned;
use crate::suggest::nearest;
use crate::verify::json::read::escaped;
use crate::verify::json::schema::{Schema, Violation};
use crate::verify::shorten::shortened;
use crate::verify::{Error, Finding};

/// Under which name a body is given as a whole.
const BODY: &str = "body";

/// Something that can be called.
#[derive(Debug)]
pub(super) struct Operation {
    /// Its names; the first is the one to show.
    pub(super) names: Vec<String>,
    pub(super) arguments: Part,
    pub(super) body: Option<Body>,
}

/// Arguments that are described by one schema.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) schema: Schema,
    /// The names that it describes, with their types.
    pub(super) names: Vec<(String, String)>,
    pub(super) required: Vec<String>,
    /// Whether there may be others.
    pub(super) open: bool,
}

/// What an operation is sent.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) part: Part,
    pub(super) required: bool,
    /// Whether it is an object, so that its properties can stand next to the other arguments.
    pub(super) object: bool,
}

impl Part {
    /// Describes arguments by a schema that is an object's; `shape` is the same with its references followed.
    pub(super) fn new(schema: Schema, shape: &Value) -> Self {
        let properties = shape.get("properties").and_then(Value::as_object);
        let kind = |value: &Value| value.get("type").and_then(Value::as_str).unwrap_or("any").to_owned();
        let names = properties
            .map(|properties| properties.iter().map(|(name, value)| (name.clone(), kind(value))).collect())
            .unwrap_or_default();
        let required = shape.get("required").and_then(Value::as_array);
        let required =
            required.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        // Where a schema says itself what else may come, or is put together of several, it decides alone.
        let decides = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
        let composed = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if"];
        let open =
            properties.is_none() || decides.iter().chain(&composed).any(|key| shape.get(key).is_some());
        Self { schema, names, required, open }
    }

    fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|(known, _)| known == name)
    }
}

impl Operation {
    pub(super) fn of_tool(tool: &Tool) -> Result<Self, Error> {
        let none = json!({ "type": "object", "properties": {} });
        let shape = tool.parameters.as_ref().unwrap_or(&none);
        let schema = Schema::compile(&format!("the tool `{}`", tool.name), shape)?;
        Ok(Self { names: vec![tool.name.clone()], arguments: Part::new(schema, shape), body: None })
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.names.first().map(String::as_str)
    }

    /// Shows how it is called: `search(query: string, limit?: integer)`.
    pub(super) fn signature(&self) -> String {
        let shown = |part: &Part| -> Vec<String> {
            let one = |(name, kind): &(String, String)| {
                let optional = if part.required.contains(name) { "" } else { "?" };
                format!("{name}{optional}: {kind}")
            };
            // Sorted, so that the words do not depend on how a map keeps its entries.
            let mut shown: Vec<String> = part.names.iter().map(one).collect();
            shown.sort();
            shown
        };
        let mut all = shown(&self.arguments);
        if let Some(body) = &self.body {
            let optional = if body.required { "" } else { "?" };
            let inside = shown(&body.part).join(", ");
            all.push(format!("{BODY}{optional}: {{{inside}}}"));
        }
        format!("{}({})", self.name().unwrap_or_default(), all.join(", "))
    }

    pub(super) fn check(&self, call: &Planned<'_>, allow_unknown: bool) -> Vec<Finding> {
        let given = call.arguments.as_ref();
        let Some(body) = &self.body else {
            let mut findings = self.compared(&self.arguments, &Value::Object(given.clone()), call, "");
            if !self.arguments.open && !allow_unknown {
                self.find_unknown(given.keys(), call, &mut findings);
            }
            return findings;
        };
        // The body stands under `body`, or in what is left when the parameters are taken away.
        let whole = given.get(BODY).filter(|_| !self.arguments.knows(BODY) && !body.part.knows(BODY));
        let is_parameter = |name: &String| self.arguments.knows(name) || whole.is_some() && name == BODY;
        let (own, rest): (Map<_, _>, Map<_, _>) =
            given.clone().into_iter().partition(|(name, _)| is_parameter(name));
        let mut findings = self.compared(&self.arguments, &Value::Object(own), call, "");
        match whole {
            Some(value) => findings.extend(self.compared(&body.part, value, call, "/body")),
            None if !body.object && body.required => findings.push(self.missing(BODY, call)),
            None if body.object && (body.required || !rest.is_empty()) => {
                findings.extend(self.compared(&body.part, &Value::Object(rest.clone()), call, ""));
            }
            None => {}
        }
        let may_be_flat = whole.is_none() && body.object;
        if !(allow_unknown || may_be_flat && body.part.open) {
            let unknown = rest.keys().filter(|name| !(may_be_flat && body.part.knows(name)));
            self.find_unknown(unknown, call, &mut findings);
        }
        if let (false, false, Some(Value::Object(inside))) = (body.part.open, allow_unknown, whole) {
            for name in inside.keys().filter(|name| !body.part.knows(name)) {
                let place = format!("{}/body/{}", call.arguments_pointer, escaped(name));
                let known = body.part.names.iter().map(|(name, _)| name.as_str());
                findings.push(self.unknown(name, place, inside.get(name), known));
            }
        }
        findings
    }

    /// Compares arguments with their schema. `under` is where they stand inside of the call's arguments.
    fn compared(&self, part: &Part, value: &Value, call: &Planned<'_>, under: &str) -> Vec<Finding> {
        let base = format!("{}{under}", call.arguments_pointer);
        part.schema
            .violations(value)
            .into_iter()
            .map(|violation| {
                let rule = match violation.keyword.as_str() {
                    "required" => "missing-parameter".to_owned(),
                    "type" => "mistyped-parameter".to_owned(),
                    "additionalProperties" | "unevaluatedProperties" => "unknown-parameter".to_owned(),
                    _ => violation.rule(),
                };
                self.in_words(violation).into_finding(rule, &base)
            })
            .collect()
    }

    /// Speaks of parameters where the schema speaks of properties.
    fn in_words(&self, mut violation: Violation) -> Violation {
        let name = self.name().unwrap_or_default();
        if let (true, Some(missing)) = (violation.pointer.is_empty(), &violation.property) {
            violation.message = format!("`{name}` needs the parameter `{missing}`");
            violation.suggestion = Some(format!("give the parameter `{missing}`"));
        }
        violation
    }

    fn missing(&self, parameter: &str, call: &Planned<'_>) -> Finding {
        let message = format!("`{}` needs the parameter `{parameter}`", self.name().unwrap_or_default());
        Finding::new("missing-parameter", message)
            .about(format!("{}/{parameter}", call.arguments_pointer))
            .pointer(call.arguments_pointer.as_str())
            .suggest(format!("give the parameter `{parameter}`"))
    }

    fn find_unknown<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
        call: &Planned<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let body = self.body.iter().flat_map(|body| &body.part.names);
        let known: Vec<&str> =
            self.arguments.names.iter().chain(body).map(|(name, _)| name.as_str()).collect();
        for name in names.filter(|name| !self.arguments.knows(name)) {
            let place = format!("{}/{}", call.arguments_pointer, escaped(name));
            let free = known.iter().copied().filter(|known| !call.arguments.contains_key(*known));
            findings.push(self.unknown(name, place, call.arguments.get(name), free));
        }
    }

    fn unknown<'a>(
        &self,
        name: &str,
        place: String,
        value: Option<&Value>,
        known: impl Iterator<Item = &'a str>,
    ) -> Finding {
        let suggestion = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("remove the parameter `{name}`"),
        };
        let message = format!("`{}` has no parameter `{name}`", self.name().unwrap_or_default());
        let mut finding = Finding::new("unknown-parameter", message).about(place.as_str()).pointer(place);
        finding.evidence = value.map(|value| shortened(&value.to_string()));
        finding.suggest(suggestion)
    }
}
