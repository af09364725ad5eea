//! Who speaks next: rules as data, each condition with an evaluator, none skipped in silence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::FeedbackLoop;
use crate::refine::{Error, Said};
use crate::suggest;

/// If something holds, the conversation goes somewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The condition.
    pub when: When,
    /// Where it goes.
    pub then: Target,
}

/// What may hold after a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum When {
    /// Something in the context has this value.
    ContextEquals(String, Value),
    /// This agent has just spoken.
    FromSpeaker(String),
    /// This tool has just been called.
    ToolCalled(String),
    /// Always.
    Always,
}

/// Where a conversation goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Target {
    /// To this agent.
    Agent(String),
    /// It stays with whoever has just spoken.
    Stay,
    /// It ends, for this reason.
    Terminate(String),
}

impl Rule {
    /// Makes a rule.
    #[must_use]
    pub fn new(when: When, then: Target) -> Self {
        Self { when, then }
    }
}

/// Decides where the conversation goes after a turn.
pub(super) fn next<'a>(
    rules: &'a [Rule],
    otherwise: &'a Target,
    last: &Said,
    context: &Map<String, Value>,
) -> &'a Target {
    let holds = |rule: &&Rule| match &rule.when {
        When::ContextEquals(key, value) => context.get(key) == Some(value),
        When::FromSpeaker(name) => last.speaker == *name,
        When::ToolCalled(name) => last.called.as_deref() == Some(name),
        When::Always => true,
    };
    rules.iter().find(holds).map_or(otherwise, |rule| &rule.then)
}

/// Sees to it that rules speak of agents and tools that there are.
pub(super) fn check(it: &FeedbackLoop) -> Result<(), Error> {
    let agents = || it.agents.iter().map(|agent| agent.name.as_str());
    let tools = || it.agents.iter().flat_map(|agent| &agent.tools).map(|tool| tool.tool.name.as_str());
    let unknown =
        |what, name: &str, did_you_mean| Error::UnknownName { what, name: name.to_owned(), did_you_mean };
    let known_agent = |name: &str| match agents().any(|agent| agent == name) {
        true => Ok(()),
        false => Err(unknown("an agent", name, suggest::nearest(name, agents()))),
    };
    let known_tool = |name: &str| match tools().any(|tool| tool == name) {
        true => Ok(()),
        false => Err(unknown("a tool", name, suggest::nearest(name, tools()))),
    };
    for rule in &it.rules {
        match &rule.when {
            When::FromSpeaker(name) => known_agent(name)?,
            When::ToolCalled(name) => known_tool(name)?,
            When::ContextEquals(..) | When::Always => {}
        }
    }
    for target in it.rules.iter().map(|rule| &rule.then).chain([&it.otherwise]) {
        if let Target::Agent(name) = target {
            known_agent(name)?;
        }
    }
    Ok(())
}
