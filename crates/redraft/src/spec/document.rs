//! The spec as types: what the keys are, what they hold, and what is meant where nothing is said.
//!
//! This is the form in which a run carries its spec: everything that stood in other files is inside. The documentation
//! of the fields is that of the published schema. What is checked beyond the shape is in `check`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::models::ModelSetting;
use crate::refine::{Mode, Origin, Plateau, Tactic};

/// A refinement, described as data and complete in itself: it needs none of the files it was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Resolved {
    /// What it is called by.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it is for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a run is given, by name: a JSON Schema each, with a `default` unless it must be given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, Fragment>,
    /// Names for models: `provider:model`, or a table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelSetting>,
    /// Who writes, and what is wanted.
    pub draft: Draft,
    /// What judges the drafts. Only a protocol that judges by itself goes without.
    #[serde(default)]
    pub verify: Vec<Check>,
    /// When a draft is good enough: `{ score: 0.8 }`, or an expression. Every gate must pass, too.
    #[serde(default)]
    pub accept: Acceptance,
    /// How drafts are revised.
    #[serde(default)]
    pub revise: Revise,
    /// How many candidates are made per iteration.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub candidates: u32,
    /// How far to go.
    #[serde(default)]
    pub limits: LimitSetting,
    /// What to do when drafts no longer get better: the first at the first stall, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stall: Option<Vec<Tactic>>,
    /// Models that may take over when drafts no longer get better (`switch_model`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Whether the author is asked for a lesson after every draft that was not better.
    #[serde(default)]
    pub lessons: bool,
    /// When people are asked.
    #[serde(default)]
    pub human: People,
    /// Whether dearer verifiers are skipped once a cheaper gate has failed.
    #[serde(default = "yes")]
    pub cascade: bool,
    /// Prompts of one's own in the place of redraft's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, Words>,
    /// How the pieces work together: a name, or a table of one name with its settings.
    #[serde(default)]
    pub protocol: ProtocolSetting,
    /// Where the best draft goes besides standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// A part of a JSON Schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fragment(pub Value);

impl JsonSchema for Fragment {
    fn schema_name() -> Cow<'static, str> {
        "Fragment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A JSON Schema; `default` is what is taken when nothing is given.",
        })
    }
}

/// A text. In a file it may also be `{ file: ./words.md }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Words(pub String);

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            {
                "type": "object",
                "properties": { "file": { "type": "string", "description": "The file that holds the text." } },
                "required": ["file"],
                "additionalProperties": false,
            },
        ]})
    }
}

/// An amount of money as it is written: `"$0.50"` or `0.5`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Amount(pub String);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            _ => Err(serde::de::Error::custom("an amount of money is a text or a number")),
        }
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": "US dollars: `\"$0.50\"` or `0.5`." })
    }
}

/// Who writes, and what is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Draft {
    /// The model that writes: a name from `models`, or `provider:model`.
    pub model: String,
    /// What is wanted; `{{ name }}` is the input of that name.
    pub prompt: Words,
}

/// Something that a draft is judged by: a name and one kind of verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Check {
    /// What it is called by.
    pub name: String,
    /// How much its score counts. Otherwise opinions count 1, and gates count only if there is nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Whether a draft must pass it; otherwise the kind decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateSetting>,
    /// The kind and its settings.
    #[serde(flatten)]
    pub kind: Map<String, Value>,
}

impl JsonSchema for Check {
    fn schema_name() -> Cow<'static, str> {
        "Check".into()
    }

    // The kinds come from a registry; `schema` puts the definition in its place.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

/// Whether a draft must pass a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GateSetting {
    /// `true`: it must; `false`: its score counts, but nothing it finds keeps a draft from passing.
    Must(bool),
    /// It must reach this score.
    Least(#[schemars(range(min = 0.0, max = 1.0))] f64),
}

/// When a draft is good enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Acceptance {
    /// At this score.
    Score(ScoreSetting),
    /// When this expression holds; it may speak of `score`, `findings`, `gates_passed`, `gates`, `iteration`, `verdicts`
    /// and `text`.
    When(#[schemars(length(min = 1))] String),
}

/// A score to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreSetting {
    /// From 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
}

impl Default for Acceptance {
    fn default() -> Self {
        Self::Score(ScoreSetting { score: 0.8 })
    }
}

/// How drafts are revised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Revise {
    /// The model that revises; the author if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How.
    pub mode: Mode,
    /// Which draft.
    pub from: Origin,
    /// Words that no revision may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

/// How far to go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LimitSetting {
    /// How many drafts may be made; 5 if nothing is said. Every one is judged.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// How much may be spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
    /// How many tokens may be read and written.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How many calls may be made.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// How long it may take: `90s`, `10m`, `1h 30m`.
    #[schemars(example = "10m")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// When drafts count as no longer getting better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<PlateauSetting>,
}

/// When drafts count as no longer getting better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlateauSetting {
    /// After how many iterations without a better best draft; 3 if nothing is said.
    #[schemars(range(min = 1))]
    pub rounds: Option<u32>,
    /// How much better it must be to count; 0.01 if nothing is said.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub delta: Option<f64>,
}

impl PlateauSetting {
    pub(super) fn plateau(self) -> Plateau {
        let usual = Plateau::default();
        Plateau { rounds: self.rounds.unwrap_or(usual.rounds), delta: self.delta.unwrap_or(usual.delta) }
    }
}

/// When people are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct People {
    /// After every verdict that did not accept the draft.
    pub each_iteration: bool,
    /// When the limit of iterations is reached.
    pub at_cap: bool,
    /// When drafts no longer get better, before any other tactic.
    pub on_stall: bool,
    /// How long to wait for an answer: `36h`; then it goes on as if nobody had been asked.
    #[schemars(example = "36h")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// How the pieces work together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ProtocolSetting {
    /// With its usual settings.
    Named(String),
    /// With settings of one's own, under its name.
    Set(Map<String, Value>),
}

impl Default for ProtocolSetting {
    fn default() -> Self {
        Self::Named("refine".to_owned())
    }
}

impl ProtocolSetting {
    /// Returns its name and its settings.
    #[must_use]
    pub fn parts(&self) -> (&str, Value) {
        match self {
            Self::Named(name) => (name, Value::Object(Map::new())),
            Self::Set(map) => map
                .iter()
                .next()
                .map_or(("", Value::Null), |(name, settings)| (name.as_str(), settings.clone())),
        }
    }
}

impl JsonSchema for ProtocolSetting {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolSetting".into()
    }

    // The protocols come from a registry; `schema` puts the definition in its place.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "object"] })
    }
}

/// Where the best draft goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Output {
    /// The file it is written to, seen from where the command is given.
    #[schemars(length(min = 1))]
    pub file: String,
}
