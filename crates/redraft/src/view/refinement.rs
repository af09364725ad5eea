//! What the refinements of a run have come to, read from its journal: finished or not, at the top of the run or deep
//! inside it.
//!
//! Every iteration of a refinement is a step called `verdict` in a group of its own; what a draft must be is a step
//! called `criteria`. Nothing else is looked at while a run goes on. Of a run that has ended, what it returned says the
//! rest: why it stopped, and what whoever reads it should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Node, NodeKind, NodeStatus, OpenGate, RunSummary, Tree};
use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::id::RunId;
use crate::outcome::{Status, Stop};
use crate::path::Path;
use crate::refine::{Best, Iteration, Refined, Said};
use crate::spend::Spend;

/// What a refinement has come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Refinement {
    /// Where it stands; the root if it is the whole run.
    pub path: Path,
    /// What a draft must be, as it was frozen at the start.
    pub criteria: Option<Criteria>,
    /// Why it stopped, if it did.
    pub stop: Option<Stop>,
    /// The best judged draft so far.
    pub best: Option<Best>,
    /// Every judged draft, in order.
    pub iterations: Vec<Iteration>,
    /// The iteration that has no verdict yet.
    pub under_way: Option<u32>,
    /// What it cost so far.
    pub spend: Spend,
    /// How many drafts were better than the one they were made from.
    pub repaired: u32,
    /// How many were worse.
    pub damaged: u32,
    /// What whoever reads the result should know about how it was judged.
    pub warnings: Vec<String>,
    /// What kept it from going on, where something did.
    pub because: Option<Failure>,
    /// In whose words it was closed, where agents talk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// What was said, where agents talk; known when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<Said>,
    /// The questions in it that wait for an answer.
    pub gates: Vec<OpenGate>,
}

/// What a draft must be, as it was frozen at the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Criteria {
    /// What was asked for.
    #[serde(default, alias = "asked")]
    pub task: Option<String>,
    /// When a draft is good enough.
    #[serde(default)]
    pub accept: Value,
    /// What drafts are judged by.
    #[serde(default)]
    pub criteria: Vec<FrozenCriterion>,
    /// Who writes.
    #[serde(default)]
    pub author: Option<String>,
}

/// Something that drafts are judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FrozenCriterion {
    /// Its name.
    pub name: String,
    /// How much its score counts, where that was said.
    #[serde(default)]
    pub weight: Option<f64>,
    /// Everything that decides its verdicts.
    #[serde(default)]
    pub verifier: Value,
}

impl Criteria {
    /// Returns the least score that is accepted, where a score decides.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        self.accept.get("score")?.as_f64()
    }

    /// Reads what the step `criteria` returned. The text of the task is what was asked, not its template.
    fn read(output: &Value) -> Option<Self> {
        let mut output = output.clone();
        if let Some(fields) = output.as_object_mut() {
            let asked = fields.remove("asked").unwrap_or(Value::Null);
            fields.insert("task".to_owned(), asked);
        }
        serde_json::from_value(output).ok()
    }
}

impl Refinement {
    /// Returns the judged draft of an iteration.
    #[must_use]
    pub fn iteration(&self, n: u32) -> Option<&Iteration> {
        self.iterations.iter().find(|iteration| iteration.n == n)
    }

    fn of(path: Path, spend: Spend, children: &[Node]) -> Option<Self> {
        let criteria = children.iter().find(|node| node.name == "criteria").and_then(output);
        let criteria = criteria.and_then(Criteria::read);
        let rounds = || {
            children.iter().filter_map(|node| match node.kind {
                NodeKind::Iteration { n } => Some((n, node)),
                _ => None,
            })
        };
        let iterations: Vec<Iteration> = rounds().filter_map(|(_, node)| verdict(node)).collect();
        if iterations.is_empty() && criteria.as_ref().is_none_or(|criteria| criteria.criteria.is_empty()) {
            return None;
        }
        let under_way = rounds().next_back().filter(|(_, node)| verdict(node).is_none());
        let best = iterations.iter().reduce(|best, next| if next.beats(best) { next } else { best });
        let best = best.map(|best| Best {
            iteration: best.n,
            score: best.score,
            text: best.text.clone(),
            findings: best.open().cloned().collect(),
        });
        let against_parent = |wins: fn(&Iteration, &Iteration) -> bool| {
            let counted = iterations.iter().filter(|it| {
                let parent = iterations.iter().find(|parent| Some(parent.n) == it.from);
                parent.is_some_and(|parent| wins(it, parent))
            });
            u32::try_from(counted.count()).unwrap_or(u32::MAX)
        };
        let mut warnings: Vec<String> = Vec::new();
        for warning in iterations.iter().flat_map(|iteration| &iteration.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let mut gates = Vec::new();
        open_gates(children, &mut gates);
        Some(Self {
            path,
            criteria,
            stop: iterations.last().filter(|last| last.accepted).map(|_| Stop::Accepted),
            best,
            under_way: under_way.map(|(n, _)| n),
            spend,
            repaired: against_parent(|it, parent| it.beats(parent)),
            damaged: against_parent(|it, parent| parent.beats(it)),
            warnings,
            because: None,
            closed: None,
            transcript: Vec::new(),
            gates,
            iterations,
        })
    }

    /// Takes over what was said at the end.
    fn end_as(&mut self, refined: Refined) {
        self.stop = Some(refined.stop);
        self.best = refined.best;
        self.spend = refined.spend;
        self.repaired = refined.repaired;
        self.damaged = refined.damaged;
        self.warnings = refined.warnings;
        self.because = refined.because;
        self.closed = refined.closed;
        self.transcript = refined.transcript;
    }
}

impl Tree {
    /// Returns what the refinements in the run have come to, in the order in which they began.
    #[must_use]
    pub fn refinements(&self) -> Vec<Refinement> {
        let mut found = Vec::new();
        found.extend(Refinement::of(Path::root(), self.spend, &self.children));
        collect(&self.children, &mut found);
        found
    }
}

fn collect(nodes: &[Node], found: &mut Vec<Refinement>) {
    for node in nodes {
        let spend = node.spend.unwrap_or_default();
        found.extend(Refinement::of(node.path.clone(), spend, &node.children));
        collect(&node.children, found);
    }
}

fn output(node: &Node) -> Option<&Value> {
    match &node.kind {
        NodeKind::Step { output, .. } => output.as_ref(),
        _ => None,
    }
}

fn verdict(iteration: &Node) -> Option<Iteration> {
    let step = iteration.children.iter().find(|node| node.name == "verdict")?;
    serde_json::from_value(output(step)?.clone()).ok()
}

fn open_gates(nodes: &[Node], gates: &mut Vec<OpenGate>) {
    for node in nodes {
        if let NodeKind::Gate { question, options, deadline, .. } = &node.kind
            && node.status == NodeStatus::Waiting
            && let Some(asked_at) = node.started_at
        {
            let (question, options) = (question.clone(), options.clone());
            gates.push(OpenGate {
                gate: node.path.clone(),
                question,
                options,
                asked_at,
                deadline: *deadline,
            });
        }
        open_gates(&node.children, gates);
    }
}

/// A run and what came of it: what `redraft run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// The run.
    pub run_id: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// How it stands.
    pub status: Status,
    /// Why it stopped, if it did.
    pub stop: Option<Stop>,
    /// The best judged draft so far.
    pub best: Option<Best>,
    /// Every judged draft, in order.
    pub iterations: Vec<Iteration>,
    /// What the run cost so far.
    pub spend: Spend,
    /// What whoever reads the result should know about how it was judged.
    pub warnings: Vec<String>,
    /// What a draft must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Criteria>,
    /// How many drafts were better than the one they were made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<u32>,
    /// How many were worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<u32>,
    /// In whose words it was closed, where agents talk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// What was said, where agents talk; known when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transcript: Vec<Said>,
    /// When it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When something last happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Why it failed, or what kept it from going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Why it was asked to stop, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The questions that wait for an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<OpenGate>,
    /// Every refinement of a run that has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refinements: Vec<Refinement>,
    /// What a run without a refinement returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

impl Report {
    /// Puts together what is known about a run.
    #[must_use]
    pub fn of(summary: &RunSummary, tree: &Tree) -> Self {
        let mut refinements = tree.refinements();
        let mut refined = Vec::new();
        if let Some(output) = &summary.output {
            endings(output, &mut refined);
        }
        let alone = refinements.len() == 1;
        for refinement in &mut refinements {
            let same = refined.iter().position(|ending| ending.iterations == refinement.iterations);
            if let Some(at) = same {
                refinement.end_as(refined.swap_remove(at));
            } else if alone && refinement.path == Path::root() {
                refinement.stop = summary.stop.or(refinement.stop);
            }
        }
        let main = refinements.iter().position(|it| it.path == Path::root()).or(alone.then_some(0));
        let main = main.and_then(|at| refinements.get(at)).cloned();
        let is_refined = !refinements.is_empty();
        if refinements.len() == 1 {
            refinements.clear();
        }
        let mut report = Self {
            run_id: summary.run,
            workflow: summary.workflow.clone(),
            status: summary.status,
            stop: summary.stop,
            best: None,
            iterations: Vec::new(),
            spend: tree.spend,
            warnings: Vec::new(),
            criteria: None,
            repaired: None,
            damaged: None,
            closed: None,
            transcript: Vec::new(),
            started_at: summary.started_at,
            updated_at: summary.updated_at,
            failure: summary.failure.clone(),
            cancel_reason: summary.cancel_reason.clone(),
            gates: summary.gates.clone(),
            refinements,
            output: summary.output.clone().filter(|_| !is_refined),
        };
        if let Some(main) = main {
            report.fill(main);
        }
        report
    }

    /// Returns the report of one refinement of a run that has several, by where it stands.
    #[must_use]
    pub fn of_refinement(&self, path: &str) -> Option<Self> {
        let found = self.refinements.iter().find(|refinement| refinement.path.as_str() == path)?.clone();
        let mut report = Self { refinements: Vec::new(), output: None, ..self.clone() };
        report.stop = found.stop;
        report.spend = found.spend;
        report.gates.clone_from(&found.gates);
        report.fill(found);
        Some(report)
    }

    fn fill(&mut self, main: Refinement) {
        self.best = main.best;
        self.iterations = main.iterations;
        self.warnings = main.warnings;
        self.criteria = main.criteria;
        self.repaired = Some(main.repaired);
        self.damaged = Some(main.damaged);
        self.closed = main.closed;
        self.transcript = main.transcript;
        self.failure = self.failure.take().or(main.because);
    }

    /// Returns the judged draft of an iteration.
    #[must_use]
    pub fn iteration(&self, n: u32) -> Option<&Iteration> {
        self.iterations.iter().find(|iteration| iteration.n == n)
    }
}

/// Finds what refinements came to in what a run returned, wherever it stands there.
fn endings(value: &Value, found: &mut Vec<Refined>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("stop")
                && fields.contains_key("iterations")
                && let Ok(refined) = serde_json::from_value(value.clone())
            {
                found.push(refined);
                return;
            }
            fields.values().for_each(|value| endings(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| endings(value, found)),
        _ => {}
    }
}
