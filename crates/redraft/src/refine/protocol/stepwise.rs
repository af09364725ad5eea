//! Stepwise correction: the first faulty step is found, what is before it is verified and stays for good, everything
//! from there on is written anew. The pointer never moves back, so it comes to an end.
//!
//! Source: Wu et al., "Enhancing Mathematical Reasoning in LLMs by Stepwise Correction" (2024).

use std::sync::Arc;

use super::step_check::{Looking, StepCheck};
use crate::llm::Model;
use crate::refine::{Criterion, Mode, Refine, Tactic};

/// The name of the criterion that the protocol adds.
pub const CRITERION: &str = "steps";

/// Makes a refinement correct its reasoning step by step; `checker` finds the first faulty step.
///
/// It stops as soon as a draft repeats: then there is nothing left to correct that way.
#[must_use]
pub fn stepwise(refine: Refine, checker: Arc<dyn Model>) -> Refine {
    let check = StepCheck { model: checker, looking: Looking::First, prompts: refine.prompts.clone() };
    refine
        .opening("reasoning")
        .criterion(Criterion::new(CRITERION, check))
        .mode(Mode::Stepwise)
        .on_stall([Tactic::Stop])
}
