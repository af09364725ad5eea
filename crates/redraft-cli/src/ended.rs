//! What came of a run, for people and programs: the object that `--json` prints, and the exit code.

use redraft::refine::{Best, Iteration, Refined};
use redraft::view::{Node, NodeKind, OpenGate, Tree};
use redraft::{Ending, Engine, Failure, Outcome, RunId, Status, Stop};
use serde_json::{Value, json};

use crate::trouble::{Exit, Trouble};

/// What came of a run, or how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) run: RunId,
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
    /// Gathers what is known about a run that has settled. A run without a result is read from its tree: what was
    /// judged before it failed is not lost.
    pub(crate) async fn of(engine: &Engine, outcome: &Outcome<Value>) -> Result<Self, Trouble> {
        let tree = engine.tree(outcome.run).await?;
        let refined: Option<Refined> =
            outcome.output().and_then(|output| serde_json::from_value(output.clone()).ok());
        let mut ended = Self {
            run: outcome.run,
            workflow: tree.workflow.clone(),
            status: outcome.status(),
            stop: outcome.stop(),
            best: None,
            iterations: Vec::new(),
            spend: tree.spend,
            warnings: Vec::new(),
            failure: None,
            gates: Vec::new(),
            rest: Value::Null,
        };
        match &outcome.ending {
            Ending::Failed(failure) => ended.failure = Some(failure.clone()),
            Ending::Waiting { .. } => ended.gates = engine.summary(outcome.run).await?.gates,
            Ending::Done { .. } | Ending::Cancelled { .. } => {}
        }
        match refined {
            Some(refined) => {
                ended.rest = json!({
                    "repaired": refined.repaired,
                    "damaged": refined.damaged,
                    "closed": refined.closed,
                    "transcript": refined.transcript,
                });
                ended.spend = refined.spend;
                ended.best = refined.best;
                ended.iterations = refined.iterations;
                ended.warnings = refined.warnings;
                ended.failure = ended.failure.or(refined.because);
            }
            None => {
                ended.iterations = judged(&tree);
                ended.best = best_of(&ended.iterations);
            }
        }
        Ok(ended)
    }

    /// Returns what the program ends with.
    pub(crate) fn exit(&self) -> Exit {
        match (self.status, self.stop) {
            (Status::Accepted | Status::Completed, _) => Exit::Done,
            (Status::Exhausted, Some(Stop::BudgetSpent | Stop::TimeSpent)) => Exit::Spent,
            (Status::Waiting, _) => Exit::Waiting,
            (Status::Failed, _) => {
                self.failure.clone().map_or(Exit::NotAccepted, |failure| Trouble::from(failure).exit)
            }
            _ => Exit::NotAccepted,
        }
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

/// Finds every draft with its verdict in a tree, in order.
pub(crate) fn judged(tree: &Tree) -> Vec<Iteration> {
    let mut found = Vec::new();
    gather(&tree.children, &mut found);
    found.sort_by_key(|iteration: &Iteration| iteration.n);
    found
}

fn gather(nodes: &[Node], found: &mut Vec<Iteration>) {
    for node in nodes {
        found.extend(verdict(node));
        gather(&node.children, found);
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

/// Returns the best of some judged drafts; on a tie the earlier one.
pub(crate) fn best_of(iterations: &[Iteration]) -> Option<Best> {
    let best = iterations.iter().reduce(|best, next| if next.beats(best) { next } else { best })?;
    let value = json!({
        "iteration": best.n,
        "score": best.score,
        "text": best.text,
        "findings": best.open().collect::<Vec<_>>(),
    });
    serde_json::from_value(value).ok()
}
