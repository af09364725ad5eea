//! Revision of a chain of thought: the reasoning is the draft. Its faulty steps are written anew, the others stay, and
//! the answer is derived again from what the steps say now.
//!
//! Models rarely find their own errors but mend them when told the place (Tyen et al., 2023): so a checker finds them.

use std::sync::Arc;

use super::step_check::{Looking, StepCheck};
use crate::llm::Model;
use crate::refine::{Criterion, Mode, Refine};

/// The name of the criterion that the protocol adds.
pub const CRITERION: &str = "thoughts";

/// Makes a refinement revise its reasoning; `checker` finds the faulty steps.
#[must_use]
pub fn thought_revision(refine: Refine, checker: Arc<dyn Model>) -> Refine {
    let check = StepCheck { model: checker, looking: Looking::All, prompts: refine.prompts.clone() };
    refine.opening("reasoning").criterion(Criterion::new(CRITERION, check)).mode(Mode::Thoughts)
}
