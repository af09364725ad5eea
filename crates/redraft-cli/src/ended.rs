//! What came of a run, for people and programs: the object that `--json` prints, and the exit code.

use redraft::refine::{Best, Iteration, Refined};
use redraft::view::{Node, NodeKind, OpenGate, Report};
use redraft::{Engine, Failure, Outcome, RunId, Status, Stop};
use serde_json::{Value, json};

use crate::ending;
use crate::trouble::{Exit, Trouble};

/// What came of a run, or how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) run: RunId,
    exit: Exit,
    /// The same in the shape that other commands show and export.
    pub(crate) report: Report,
    pub(crate) workflow: String,
    pub(crate) status: Status,
    pub(crate) stop: Option<Stop>,
    pub(crate) best: Option<Best>,
    pub(crate) iterations: Vec<Iteration>,
    pub(crate) spend: redraft::llm::Spend,
    pub(crate) warnings: Vec<String>,
    /// Why it failed, or what kept the loop from going on.
    pub(crate) failure: Option<Failure>,
    pub(crate) gates: Vec<OpenGate>,
    /// The rest of what a refinement gives.
    rest: Value,
}

impl Ended {
    /// Gathers what is known about a run that has settled. What was judged before a run failed is not lost.
    pub(crate) async fn of(engine: &Engine, outcome: &Outcome<Value>) -> Result<Self, Trouble> {
        let report = engine.report(outcome.run).await?;
        let mut ended = Self {
            run: outcome.run,
            exit: ending::exit(&report),
            workflow: report.workflow.clone(),
            status: outcome.status(),
            stop: outcome.stop(),
            best: report.best.clone(),
            iterations: report.iterations.clone(),
            spend: report.spend,
            warnings: report.warnings.clone(),
            failure: report.failure.clone(),
            gates: report.gates.clone(),
            rest: Value::Null,
            report,
        };
        let refined = outcome.output().map(|output| serde_json::from_value::<Refined>(output.clone()));
        if let Some(Ok(refined)) = refined {
            ended.rest = json!({
                "repaired": refined.repaired,
                "damaged": refined.damaged,
                "closed": refined.closed,
                "transcript": refined.transcript,
            });
            // Not every protocol leaves its iterations in the tree.
            ended.best = refined.best;
            ended.iterations = refined.iterations;
            ended.warnings = refined.warnings;
            ended.failure = ended.failure.or(refined.because);
        }
        Ok(ended)
    }

    /// Returns what the program ends with.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Says whether there is a draft to hand over: what failed or waits has none yet.
    pub(crate) fn draft(&self) -> Option<&str> {
        let over = matches!(self.status, Status::Accepted | Status::Completed | Status::Exhausted);
        self.best.as_ref().filter(|_| over).map(|best| best.text.as_str())
    }

    /// Returns the one object that `--json` prints.
    pub(crate) fn json(&self) -> Value {
        let mut object = json!({
            "run_id": self.run,
            "workflow": self.workflow,
            "status": self.status,
            "stop": self.stop,
            "best": self.best,
            "iterations": self.iterations,
            "spend": self.spend,
            "warnings": self.warnings,
        });
        if let Some(failure) = &self.failure {
            object["failure"] = json!(failure);
        }
        if !self.gates.is_empty() {
            object["gates"] = json!(self.gates);
        }
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), &self.rest) {
            object.extend(
                rest.clone().into_iter().filter(|(_, value)| !value.is_null() && *value != json!([])),
            );
        }
        object
    }
}

/// Returns the iteration that a node is the verdict of.
pub(crate) fn verdict(node: &Node) -> Option<Iteration> {
    match &node.kind {
        NodeKind::Step { output: Some(output), .. } if node.name == "verdict" => {
            serde_json::from_value(output.clone()).ok()
        }
        _ => None,
    }
}
