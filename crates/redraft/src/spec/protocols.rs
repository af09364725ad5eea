//! The protocols as a spec names them: their settings, and how each is made of the pieces that the spec describes.
//!
//! To add one: a type for its settings here, a line in [`Registry::builtin`](super::Registry::builtin), and a good file in
//! `tests/spec`.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::build::Parts;
use super::document::Resolved;
use crate::failure::Failure;
use crate::llm::{Audience, Model, PriceTable};
use crate::refine::protocol::chain_of_verification::chain_of_verification;
use crate::refine::protocol::feedback_loop::{Agent, FeedbackLoop, Rule, Target};
use crate::refine::protocol::reflexion::reflexion;
use crate::refine::protocol::self_consistency::SelfConsistency;
use crate::refine::protocol::stepwise::stepwise;
use crate::refine::protocol::thought_revision::thought_revision;
use crate::refine::{Criterion, Limits, Refine, Refined, summary};
use crate::run::{Boxed, Ctx};

/// A way to run a refinement, ready for an input.
pub type Procedure = Arc<dyn Fn(Ctx, Value) -> Boxed<Result<Refined, Failure>> + Send + Sync>;

/// The pieces that a spec describes, for a protocol to put together.
#[derive(Clone)]
#[non_exhaustive]
pub struct Recipe<'a> {
    /// The spec.
    pub spec: &'a Resolved,
    /// The refinement that it describes, not built yet.
    pub refine: Refine,
    /// What judges the drafts; the refinement has it, too.
    pub criteria: Vec<Criterion>,
    /// How far to go.
    pub limits: Limits,
    /// What models cost.
    pub prices: PriceTable,
    /// Who hears what models say.
    pub audience: Option<Arc<dyn Audience>>,
    /// Models and prompts.
    pub parts: Parts<'a>,
}

impl fmt::Debug for Recipe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe").field("spec", &self.spec.name).finish_non_exhaustive()
    }
}

/// The settings of a protocol that has none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoSettings {}

/// The settings of a protocol in which a model checks the author's work.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Checked {
    /// The model that checks; the author if nothing is said.
    #[serde(default)]
    checker: Option<String>,
}

/// How often the same question is asked.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Consistency {
    /// At least so often; 3 if nothing is said.
    #[serde(default)]
    #[schemars(range(min = 1))]
    least: Option<u32>,
    /// At most so often; 10 if nothing is said.
    #[serde(default)]
    #[schemars(range(min = 1))]
    most: Option<u32>,
    /// How likely the leading answer must be to stay ahead; 0.95 if nothing is said.
    #[serde(default)]
    #[schemars(range(min = 0.5, max = 1.0))]
    confidence: Option<f64>,
}

/// Who talks with whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Feedback {
    /// Who writes; its model is that of `draft`.
    #[serde(default)]
    drafter: Drafter,
    /// Who reviews, and approves by calling a tool.
    reviewer: Reviewer,
    /// How many turns may be taken, that of the topic included; 10 if nothing is said.
    #[serde(default)]
    #[schemars(range(min = 3))]
    max_turns: Option<u32>,
    /// As what the cap on turns is reported; `max_turns` if nothing is said.
    #[serde(default)]
    cap_reason: Option<String>,
    /// What stands in the context before anybody speaks.
    #[serde(default)]
    context: Map<String, Value>,
    /// Who speaks next: the first rule that holds counts. Without rules the drafter and the reviewer take turns.
    #[serde(default)]
    rules: Vec<Rule>,
    /// What happens if no rule holds.
    #[serde(default)]
    otherwise: Option<Target>,
}

/// Who writes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Drafter {
    /// What it is called by.
    name: String,
    /// Who it is told to be.
    system: String,
}

impl Default for Drafter {
    fn default() -> Self {
        let system = "You write drafts, and revise them as the reviewer asks. Answer with the draft alone.";
        Self { name: "drafter".to_owned(), system: system.to_owned() }
    }
}

/// Who reviews.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Reviewer {
    /// The model that reviews.
    model: String,
    /// What it is called by.
    #[serde(default = "reviewer")]
    name: String,
    /// Who it is told to be.
    #[serde(default = "reviews")]
    system: String,
}

fn reviewer() -> String {
    "reviewer".to_owned()
}

fn reviews() -> String {
    "You review drafts. Say what is to be better. If nothing is, call `approve`.".to_owned()
}

impl Checked {
    fn model(&self, recipe: &Recipe<'_>) -> Result<Arc<dyn Model>, Failure> {
        recipe.parts.model(self.checker.as_deref().unwrap_or(&recipe.spec.draft.model))
    }
}

pub(super) fn refine(_: NoSettings, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    loops(recipe.refine)
}

pub(super) fn reflects(_: NoSettings, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    loops(reflexion(recipe.refine)?)
}

pub(super) fn verifies_claims(settings: Checked, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    let checker = settings.model(&recipe)?;
    loops(chain_of_verification(recipe.refine, checker))
}

pub(super) fn corrects_steps(settings: Checked, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    let checker = settings.model(&recipe)?;
    loops(stepwise(recipe.refine, checker))
}

pub(super) fn revises_thoughts(settings: Checked, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    let checker = settings.model(&recipe)?;
    loops(thought_revision(recipe.refine, checker))
}

pub(super) fn agrees_with_itself(settings: Consistency, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    let spec = recipe.spec;
    let mut asked = SelfConsistency::new(spec.name.as_str(), recipe.parts.model(&spec.draft.model)?)
        .task(&spec.draft.prompt.0)?
        .samples(settings.least.unwrap_or(3), settings.most.unwrap_or(10))?
        .confidence(settings.confidence.unwrap_or(0.95))?
        .prompts(recipe.parts.prompts().clone())
        .limits(recipe.limits)
        .prices(recipe.prices);
    if let Some(audience) = recipe.audience {
        asked = asked.heard_by(audience);
    }
    Ok(Arc::new(move |ctx: Ctx, input: Value| -> Boxed<Result<Refined, Failure>> {
        let asked = asked.clone();
        Box::pin(async move {
            let refined = asked.run_in(&ctx, &input).await?;
            ctx.summarize(&summary(&refined));
            Ok(refined)
        })
    }))
}

pub(super) fn talks(settings: Feedback, recipe: Recipe<'_>) -> Result<Procedure, Failure> {
    let spec = recipe.spec;
    let author = recipe.parts.model(&spec.draft.model)?;
    let reviewer = recipe.parts.model(&settings.reviewer.model)?;
    let mut talk = FeedbackLoop::new(
        spec.name.as_str(),
        &spec.draft.prompt.0,
        Agent::model(settings.drafter.name, author, settings.drafter.system),
        Agent::model(settings.reviewer.name, reviewer, settings.reviewer.system),
    )?
    .limits(recipe.limits)
    .prices(recipe.prices);
    for criterion in recipe.criteria {
        talk = talk.criterion(criterion);
    }
    for (key, value) in settings.context {
        talk = talk.context(key, value);
    }
    if let Some(turns) = settings.max_turns {
        talk = talk.max_turns(turns);
    }
    if let Some(reason) = settings.cap_reason {
        talk = talk.cap_reason(reason);
    }
    if !settings.rules.is_empty() {
        let otherwise = settings.otherwise.unwrap_or_else(|| Target::Terminate("no_rule".to_owned()));
        talk = talk.route(settings.rules, otherwise);
    }
    if let Some(audience) = recipe.audience {
        talk = talk.heard_by(audience);
    }
    let talk = talk.build()?;
    Ok(Arc::new(move |ctx: Ctx, input: Value| -> Boxed<Result<Refined, Failure>> {
        let talk = talk.clone();
        Box::pin(async move {
            let refined = talk.run_in(&ctx, &input).await?;
            ctx.summarize(&summary(&refined));
            Ok(refined)
        })
    }))
}

fn loops(refine: Refine) -> Result<Procedure, Failure> {
    let refine = refine.build()?;
    Ok(Arc::new(move |ctx: Ctx, input: Value| -> Boxed<Result<Refined, Failure>> {
        let refine = refine.clone();
        Box::pin(async move { refine.run_in(&ctx, &input).await })
    }))
}
