//! One event, for people and programs that follow a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::journal::{Record, codec};
use crate::path::Path;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Event {
    /// Its number in the run, from 1 without gaps: what to give to [`Engine::events`](crate::Engine::events) to go on
    /// after it.
    pub seq: u64,
    /// When it was written down.
    pub at: Timestamp,
    /// What it is, for instance `step_succeeded`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it happened; nothing for what concerns the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// Everything else about it.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Event {
    pub(crate) fn of(record: &Record) -> Self {
        let mut batch = codec::Batch::default();
        batch.push(record.at, &record.event);
        let text = batch.into_text();
        let mut events: Vec<BTreeMap<String, &RawValue>> = serde_json::from_str(&text).unwrap_or_default();
        // Each on its own: what is nested too deeply to be a value inside an event is shown as text.
        let value =
            |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_else(|_| Value::from(raw.get()));
        let fields = events.pop().unwrap_or_default();
        let mut details: Map<String, Value> =
            fields.into_iter().map(|(key, raw)| (key, value(raw))).collect();
        for taken in ["v", "at"] {
            details.remove(taken);
        }
        let mut word = |key| match details.remove(key) {
            Some(Value::String(word)) => Some(word),
            _ => None,
        };
        let kind = word("type").unwrap_or_default();
        let path = word("path").map(|path| Path::new(&path));
        Self { seq: record.seq, at: record.at, kind, path, details }
    }
}
