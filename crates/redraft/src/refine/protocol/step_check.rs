//! A model that checks reasoning step by step. It sees the task and the steps, not who wrote them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::llm::{Model, OutputSchema, Prompts, ask_shaped};
use crate::refine::sections::{self, Split};
use crate::run::Ctx;
use crate::verify::{Case, Cost, Evidence, Finding, Gate, Verdict, Verifier, Verifying};

/// How often an answer that cannot be used is asked for again.
const TRIES: u32 = 3;

/// Which steps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looking {
    /// Only the first that is wrong: what follows from it is not its own fault.
    First,
    /// Every one that is wrong.
    All,
}

/// Checks the steps of a draft.
#[derive(Clone, Debug)]
pub(super) struct StepCheck {
    pub(super) model: Arc<dyn Model>,
    pub(super) looking: Looking,
    pub(super) prompts: Prompts,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Faults {
    /// The steps that are wrong, in order; none if all are right.
    faults: Vec<Fault>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Fault {
    /// The number of the step.
    step: u32,
    /// What is wrong with it.
    problem: String,
}

impl Verifier for StepCheck {
    fn evidence(&self) -> Evidence {
        Evidence::Statistical
    }

    fn cost(&self) -> Cost {
        Cost::Model
    }

    fn describe(&self) -> Value {
        json!({
            "steps": format!("{:?}", self.looking),
            "model": self.model.name(),
            "prompt": self.prompts.fingerprint("check-steps").ok(),
        })
    }

    fn demand(&self) -> String {
        "every step follows from the task and the steps before it".to_owned()
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let parts = sections::split(&case.draft, Split::Steps);
            let steps: Vec<&str> = parts.iter().map(|part| part.of(&case.draft).trim()).collect();
            let request = self.prompts.render("check-steps", json!({ "task": case.task, "steps": steps }))?;
            let schema =
                OutputSchema { name: "Faults".to_owned(), schema: schemars::schema_for!(Faults).to_value() };
            // A fault that is nowhere is still a fault: it is asked about, and never left out.
            let check = |found: &Faults| -> Vec<String> {
                let elsewhere =
                    found.faults.iter().filter(|fault| !(1..=parts.len()).contains(&(fault.step as usize)));
                elsewhere.map(|fault| format!("there is no step {}", fault.step)).collect()
            };
            let asked = ask_shaped(ctx, "check", &self.model, request.into(), TRIES, schema, check).await;
            let Faults { mut faults } = asked.map_err(no_verdict)?;
            faults.sort_by_key(|fault| fault.step);
            faults.dedup_by_key(|fault| fault.step);
            if self.looking == Looking::First {
                faults.truncate(1);
            }
            let right = match self.looking {
                // What comes after the first fault was not looked at.
                Looking::First => faults.first().map_or(parts.len(), |fault| fault.step as usize - 1),
                Looking::All => parts.len().saturating_sub(faults.len()),
            };
            let score = right as f64 / parts.len().max(1) as f64;
            let findings = faults.into_iter().filter_map(|fault| {
                let part = parts.get(fault.step as usize - 1)?;
                let found = Finding::new("faulty-step", format!("step {}: {}", fault.step, fault.problem));
                Some(found.span(&case.draft, part.range.clone()).about(part.of(&case.draft).trim()))
            });
            let verdict = Verdict::of(findings);
            let gate = verdict.gate;
            Ok(if gate == Gate::Pass { verdict } else { verdict.graded(score) })
        })
    }
}

/// A checker that gives no usable answer gives no verdict.
pub(super) fn no_verdict(failure: Failure) -> Failure {
    if failure.code == "model-malformed" {
        Failure::terminal("no-verdict", failure.message.clone()).because(&failure)
    } else {
        failure
    }
}
