//! A spec as a workflow: a run carries the whole spec as its input, so it resumes without any file.

use std::fmt;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::build::procedure;
use super::document::Resolved;
use super::models::Makers;
use super::registry::Registry;
use crate::failure::Failure;
use crate::llm::Audience;
use crate::refine::Refined;
use crate::run::{Boxed, Ctx, Definition};

/// What a run of a spec starts from: the spec itself, and its input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpecInput {
    /// What is to be done.
    pub spec: Resolved,
    /// What it is done with.
    #[serde(default)]
    pub input: Map<String, Value>,
}

impl SpecInput {
    /// Puts a spec and its input together. [`Spec::input`](super::Spec::input) also looks whether they fit.
    #[must_use]
    pub fn new(spec: Resolved, input: Map<String, Value>) -> Self {
        Self { spec, input }
    }
}

/// The workflow of all specs of one name.
///
/// The limits of a run may be changed when it is resumed; what a draft must be may not.
#[derive(Clone)]
pub struct SpecWorkflow {
    name: Arc<str>,
    makers: Arc<dyn Makers>,
    registry: Registry,
    audience: Option<Arc<dyn Audience>>,
}

impl SpecWorkflow {
    /// Makes the workflow of the specs called `name`.
    pub fn named(
        name: impl Into<Arc<str>>,
        makers: Arc<dyn Makers>,
        registry: Registry,
        audience: Option<Arc<dyn Audience>>,
    ) -> Self {
        Self { name: name.into(), makers, registry, audience }
    }
}

impl Definition for SpecWorkflow {
    type Input = SpecInput;
    type Output = Refined;

    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        1
    }

    fn run(&self, ctx: Ctx, input: SpecInput) -> Boxed<Result<Refined, Failure>> {
        let workflow = self.clone();
        Box::pin(async move {
            let SpecInput { spec, input } = input;
            let (run, troubles) =
                procedure(&spec, &workflow.registry, &*workflow.makers, workflow.audience.as_ref())?;
            let mut refined = run(ctx.clone(), Value::Object(input)).await?;
            refined.warnings.append(&mut troubles.lock().unwrap_or_else(PoisonError::into_inner));
            ctx.conclude(refined.conclusion());
            Ok(refined)
        })
    }
}

impl fmt::Debug for SpecWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecWorkflow").field("name", &self.name).finish_non_exhaustive()
    }
}
