//! A drafter and a reviewer who talk until the reviewer approves, or the cap on turns is reached.
//!
//! Who speaks next is decided by [`Rule`]s, which are data: the first whose condition holds says where the conversation
//! goes. A turn is *one act*: what an agent said and what it set in the context are committed together, so no crash can
//! part the flag from the message. It never ends on a draft that nobody reviewed: a drafter is not given a turn that no
//! reviewer could follow.
//!
//! Criteria can be added ([`FeedbackLoop::verify`]). They are checked by program before the reviewer speaks; the
//! reviewer is told what they found, and cannot approve a draft that fails one.
//!
//! Source: AG2, "Feedback Loop" (beta patterns), as its page promises it.

mod routing;
mod talk;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use self::routing::{Rule, Target, When};
use crate::failure::Failure;
use crate::llm::{Model, Template, Tool};
use crate::path::check_name;
use crate::refine::payer::{Payer, payer_methods};
use crate::refine::{Criterion, Error, Limits, Refined};
use crate::run::{Boxed, Ctx, Definition};
use crate::verify::Verifier;

/// Agents that talk, and the rules by which they take turns.
#[derive(Clone)]
pub struct FeedbackLoop {
    name: Arc<str>,
    agents: Vec<Agent>,
    drafter: String,
    reviewer: String,
    rules: Vec<Rule>,
    otherwise: Target,
    context: Map<String, Value>,
    max_turns: u32,
    cap_reason: String,
    criteria: Vec<Criterion>,
    limits: Limits,
    payer: Payer,
}

/// Somebody who speaks.
#[derive(Clone, Debug)]
pub struct Agent {
    name: String,
    voice: Voice,
    tools: Vec<ContextTool>,
}

#[derive(Clone, Debug)]
enum Voice {
    /// Always says the same, filled in with the input.
    Fixed(Template),
    Model {
        model: Arc<dyn Model>,
        system: String,
    },
}

/// A tool that sets something in the context: how a reviewer says that it is satisfied.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextTool {
    tool: Tool,
    key: String,
    value: Value,
}

impl ContextTool {
    /// Makes a tool that sets `key` to `value` when it is called. It takes a `reason`.
    #[must_use]
    pub fn new(name: &str, description: &str, key: &str, value: Value) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": { "reason": { "type": "string" } },
            "required": ["reason"],
            "additionalProperties": false,
        });
        let tool = Tool { name: name.to_owned(), description: description.to_owned(), parameters };
        Self { tool, key: key.to_owned(), value }
    }

    /// The tool of the source page: `approve(reason)` sets `done` to true.
    #[must_use]
    pub fn approve() -> Self {
        let description = "Approve the draft. Call it only if every rule is met, and say why.";
        Self::new("approve", description, DONE, Value::Bool(true))
    }
}

/// What `approve` sets.
const DONE: &str = "done";
/// The reason for which an approved draft ends the conversation.
const APPROVED: &str = "approved";

impl Agent {
    /// Makes an agent that is a model, told by `system` who it is.
    pub fn model(name: impl Into<String>, model: impl Model, system: impl Into<String>) -> Self {
        let voice = Voice::Model { model: Arc::new(model), system: system.into() };
        Self { name: name.into(), voice, tools: Vec::new() }
    }

    /// Makes an agent that always says the same: a template that is filled in with the input of a run.
    ///
    /// # Errors
    /// If the template cannot be read.
    pub fn fixed(name: impl Into<String>, template: &str) -> Result<Self, Error> {
        let name = name.into();
        let voice = Voice::Fixed(Template::new(&name, template)?);
        Ok(Self { name, voice, tools: Vec::new() })
    }

    /// Gives it a tool.
    #[must_use]
    pub fn tool(mut self, tool: ContextTool) -> Self {
        self.tools.push(tool);
        self
    }
}

impl FeedbackLoop {
    /// Makes the loop of the source page: `intake` speaks first, then `drafter` and `reviewer` take turns until the
    /// reviewer calls `approve`, or ten turns were taken.
    ///
    /// # Errors
    /// If the topic's template cannot be read.
    pub fn new(
        name: impl Into<Arc<str>>,
        topic: &str,
        drafter: Agent,
        reviewer: Agent,
    ) -> Result<Self, Error> {
        let intake = Agent::fixed("intake", topic)?;
        let reviewer = reviewer.tool(ContextTool::approve());
        let rules = vec![
            Rule::new(
                When::ContextEquals(DONE.to_owned(), Value::Bool(true)),
                Target::Terminate(APPROVED.to_owned()),
            ),
            Rule::new(When::FromSpeaker(intake.name.clone()), Target::Agent(drafter.name.clone())),
            Rule::new(When::FromSpeaker(drafter.name.clone()), Target::Agent(reviewer.name.clone())),
            Rule::new(When::FromSpeaker(reviewer.name.clone()), Target::Agent(drafter.name.clone())),
        ];
        Ok(Self {
            name: name.into(),
            drafter: drafter.name.clone(),
            reviewer: reviewer.name.clone(),
            agents: vec![intake, drafter, reviewer],
            rules,
            otherwise: Target::Terminate("no_rule".to_owned()),
            context: Map::new(),
            max_turns: 10,
            cap_reason: "max_turns".to_owned(),
            criteria: Vec::new(),
            limits: Limits::default(),
            payer: Payer::default(),
        })
    }

    /// Adds somebody else who may speak.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Decides by other rules. The first whose condition holds counts; if none does, `otherwise`.
    #[must_use]
    pub fn route(mut self, rules: impl IntoIterator<Item = Rule>, otherwise: Target) -> Self {
        self.rules = rules.into_iter().collect();
        self.otherwise = otherwise;
        self
    }

    /// Sets something in the context before anybody speaks.
    #[must_use]
    pub fn context(mut self, key: impl Into<String>, value: Value) -> Self {
        self.context.insert(key.into(), value);
        self
    }

    /// Allows so many turns, the one of `intake` included.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = turns;
        self
    }

    /// Says as what the cap is reported, instead of `max_turns`.
    #[must_use]
    pub fn cap_reason(mut self, reason: impl Into<String>) -> Self {
        self.cap_reason = reason.into();
        self
    }

    /// Checks every draft by this before the reviewer speaks.
    #[must_use]
    pub fn verify(self, name: impl Into<String>, verifier: impl Verifier) -> Self {
        self.criterion(Criterion::new(name, verifier))
    }

    /// Checks every draft by this before the reviewer speaks.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criteria.push(criterion);
        self
    }

    /// Says how much may be spent and how long it may take. How many turns are taken is set by [`max_turns`](Self::max_turns).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    payer_methods!();

    /// Sees to it that it can be run as it is described: every rule leads to somebody, and speaks of what there is.
    ///
    /// # Errors
    /// Says what cannot be.
    pub fn build(self) -> Result<Self, Error> {
        check_name(&self.name)?;
        for (at, agent) in self.agents.iter().enumerate() {
            check_name(&agent.name)?;
            if self.agents[..at].iter().any(|other| other.name == agent.name) {
                return Err(Error::DuplicateCriterion { criterion: agent.name.clone() });
            }
        }
        if self.max_turns < 3 {
            return Err(Error::BadNumber {
                what: "the cap on turns",
                given: self.max_turns.to_string(),
                wanted: "the least is 3: the topic, a draft and its review",
            });
        }
        routing::check(&self)?;
        Ok(self)
    }

    /// Runs it inside another workflow, in a group of its own below `ctx`.
    ///
    /// # Errors
    /// When an agent could not be reached.
    pub async fn run_in(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        self.run_here(&ctx.group(&self.name), input).await
    }

    async fn run_here(&self, ctx: &Ctx, input: &Value) -> Result<Refined, Failure> {
        talk::talk(self, &self.payer.paid(ctx, self.limits.allowance()), input).await
    }

    fn named(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}

impl Definition for FeedbackLoop {
    type Input = Value;
    type Output = Refined;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        1
    }

    fn run(&self, ctx: Ctx, input: Value) -> Boxed<Result<Refined, Failure>> {
        let it = self.clone();
        Box::pin(async move {
            let refined = it.run_here(&ctx, &input).await?;
            ctx.conclude(refined.conclusion());
            ctx.summarize(&crate::refine::looping::summary(&refined));
            Ok(refined)
        })
    }
}

impl std::fmt::Debug for FeedbackLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeedbackLoop")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
