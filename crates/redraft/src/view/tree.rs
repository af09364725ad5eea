//! A run as a tree: run → group → iteration → step → attempt.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::failure::Failure;
use crate::gate::Answer;
use crate::id::RunId;
use crate::journal::state::{Body, Entry, GateState, Run, StepResult};
use crate::journal::{GateClosed, GroupKind};
use crate::outcome::Status;
use crate::path::Path;
use crate::spend::Spend;

/// A run with everything in it.
///
/// Its [`Display`](fmt::Display) form is for people:
///
/// ```text
/// essay  run_01JB…  ✓ completed
/// ├─ ✓ draft  4100 ms
/// └─ ✓ refinement
///    └─ ✓ iteration 1
///       └─ ↺ critique  3 ms
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Tree {
    /// The run.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// How it stands.
    pub status: Status,
    /// What it spent on models in all.
    #[serde(default)]
    pub spend: Spend,
    /// What stands at the top of it.
    pub children: Vec<Node>,
}

/// Something in the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Node {
    /// Where it stands.
    pub path: Path,
    /// The last part of the path.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: NodeKind,
    /// How it stands; for a group, the worst of what it holds.
    pub status: NodeStatus,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended; for a group, when the last thing in it did.
    pub ended_at: Option<Timestamp>,
    /// How long it took, if it has ended.
    pub duration_ms: Option<u64>,
    /// Its result was read from the journal by the present driver: it cost nothing now.
    pub replayed: bool,
    /// What it spent on models, if anything; for a group, what everything in it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeKind {
    /// A name around some things.
    Group,
    /// A loop.
    Loop {
        /// How often its body may run.
        max: u32,
    },
    /// One pass of a loop.
    Iteration {
        /// Which, counted from 1.
        n: u32,
    },
    /// Several items at once.
    Parallel {
        /// How many.
        items: u32,
    },
    /// A decision.
    Branch {
        /// Which way was taken.
        taken: String,
    },
    /// Completed steps being undone.
    Compensation,
    /// What runs at the end whatever happened.
    Cleanup,
    /// A step.
    Step {
        /// The attempts at it.
        attempts: Vec<Attempt>,
        /// What it returned.
        output: Option<Value>,
    },
    /// A durable timer.
    Sleep {
        /// When it rings.
        until: Timestamp,
    },
    /// A question to people.
    Gate {
        /// The question.
        question: String,
        /// The choices.
        options: Vec<String>,
        /// When the default is taken, or the gate fails.
        deadline: Option<Timestamp>,
        /// The answer.
        answer: Option<Answer>,
    },
    /// A value that must not change on replay.
    Value {
        /// The value.
        value: Value,
    },
    /// A remark.
    Note {
        /// Markdown.
        text: String,
    },
}

/// One attempt at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Attempt {
    /// Which, counted from 1.
    pub n: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; nothing if it is under way or was cut off by a crash.
    pub ended_at: Option<Timestamp>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What it spent on models, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
}

/// How a node stands, from best to worst.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeStatus {
    /// It is done.
    Done,
    /// It was not finished when the run ended.
    Abandoned,
    /// It is under way.
    Running,
    /// It waits for a person.
    Waiting,
    /// It failed for good.
    Failed,
}

impl Tree {
    pub(crate) fn of(run: RunId, state: &Run) -> Self {
        let mut below: HashMap<&str, Vec<&Entry>> = HashMap::new();
        let mut inner: HashMap<&str, Vec<&str>> = HashMap::new();
        for entry in state.entries.iter().filter(|entry| !entry.forgotten) {
            below.entry(entry.path.parent()).or_default().push(entry);
            // Items of a parallel group have no entry of their own: they are where something says it stands in them.
            let item = entry.path.parent();
            if !item.is_empty() && state.entry(item).is_none() {
                let group = item.rsplit_once('/').map_or("", |(group, _)| group);
                let items = inner.entry(group).or_default();
                if !items.contains(&item) {
                    items.push(item);
                }
            }
        }
        let shelf = Shelf { state, below, inner };
        Self {
            run,
            workflow: state.header.as_ref().map(|header| header.workflow.clone()).unwrap_or_default(),
            status: state.status(),
            spend: state.paid().map(|(_, spend)| spend).sum(),
            children: shelf.children(""),
        }
    }

    /// Finds a node by its path.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Node> {
        let mut nodes = &self.children;
        loop {
            let node = nodes
                .iter()
                .find(|node| path == node.path.as_str() || Path::new(path).is_inside(node.path.as_str()))?;
            if node.path.as_str() == path {
                return Some(node);
            }
            nodes = &node.children;
        }
    }
}

/// The entries of a run, sorted for building the tree.
struct Shelf<'a> {
    state: &'a Run,
    below: HashMap<&'a str, Vec<&'a Entry>>,
    /// Items of parallel groups, by group.
    inner: HashMap<&'a str, Vec<&'a str>>,
}

impl Shelf<'_> {
    fn children(&self, path: &str) -> Vec<Node> {
        let entries = self.below.get(path).into_iter().flatten().map(|entry| self.node(entry));
        let items = self.inner.get(path).into_iter().flatten().map(|item| {
            let children = self.children(item);
            folder(Path::new(item), NodeKind::Group, None, children, NodeStatus::Done)
        });
        // What the engine notes for itself is in the journal, not in the tree.
        entries.filter(|node| !node.name.starts_with('#')).chain(items).collect()
    }

    fn node(&self, entry: &Entry) -> Node {
        let replayed = self.state.is_replayed(entry);
        let unfinished =
            if self.state.ending.is_some() { NodeStatus::Abandoned } else { NodeStatus::Running };
        let leaf = |kind, status| Node {
            path: entry.path.clone(),
            name: entry.path.name().to_owned(),
            kind,
            status,
            started_at: Some(entry.opened_at),
            ended_at: entry.closed_at,
            duration_ms: duration(Some(entry.opened_at), entry.closed_at),
            replayed,
            spend: None,
            children: Vec::new(),
        };
        match &entry.body {
            Body::Group(kind) => {
                let children = self.children(entry.path.as_str());
                let empty = if children.is_empty() { unfinished } else { NodeStatus::Done };
                folder(entry.path.clone(), group_kind(kind), Some(entry.opened_at), children, empty)
            }
            Body::Step { attempts, result, .. } => {
                let (status, output) = match result {
                    StepResult::Pending { .. } => (unfinished, None),
                    StepResult::Done(output) => (NodeStatus::Done, serde_json::from_str(output.get()).ok()),
                    StepResult::Failed(_) => (NodeStatus::Failed, None),
                };
                let attempts = attempts.iter().map(|attempt| Attempt {
                    n: attempt.n,
                    started_at: attempt.started_at,
                    ended_at: attempt.ended_at,
                    failure: attempt.failure.clone(),
                    spend: attempt.spend,
                });
                let attempts: Vec<Attempt> = attempts.collect();
                let spend = total(attempts.iter().map(|attempt| attempt.spend));
                Node { spend, ..leaf(NodeKind::Step { attempts, output }, status) }
            }
            Body::Sleep { until, rang } => {
                leaf(NodeKind::Sleep { until: *until }, if *rang { NodeStatus::Done } else { unfinished })
            }
            Body::Gate { question, deadline, state } => {
                let (status, answer) = match state {
                    GateState::Open if self.state.ending.is_some() => (NodeStatus::Abandoned, None),
                    GateState::Open => (NodeStatus::Waiting, None),
                    GateState::Answered(answer) => (NodeStatus::Done, Some(answer.clone())),
                    GateState::Closed(GateClosed::Expired) => (NodeStatus::Failed, None),
                    GateState::Closed(_) => (NodeStatus::Abandoned, None),
                };
                let kind = NodeKind::Gate {
                    question: question.text().to_owned(),
                    options: question.options().into_iter().map(str::to_owned).collect(),
                    deadline: *deadline,
                    answer,
                };
                leaf(kind, status)
            }
            Body::Value(value) => {
                let value = serde_json::from_str(value.get()).unwrap_or_default();
                leaf(NodeKind::Value { value }, NodeStatus::Done)
            }
            Body::Note(text) => leaf(NodeKind::Note { text: text.clone() }, NodeStatus::Done),
        }
    }
}

fn group_kind(kind: &GroupKind) -> NodeKind {
    match kind {
        GroupKind::Group => NodeKind::Group,
        GroupKind::Loop { max } => NodeKind::Loop { max: *max },
        GroupKind::Iteration { n } => NodeKind::Iteration { n: *n },
        GroupKind::Parallel { items } => NodeKind::Parallel { items: *items },
        GroupKind::Branch { taken } => NodeKind::Branch { taken: taken.clone() },
        GroupKind::Compensation => NodeKind::Compensation,
        GroupKind::Cleanup => NodeKind::Cleanup,
    }
}

/// A group has no end of its own: it is as far as what it holds.
fn folder(
    path: Path,
    kind: NodeKind,
    opened_at: Option<Timestamp>,
    children: Vec<Node>,
    empty: NodeStatus,
) -> Node {
    let started_at = opened_at.or_else(|| children.iter().filter_map(|child| child.started_at).min());
    let status = children.iter().map(|child| child.status).max().unwrap_or(empty);
    let over = status == NodeStatus::Done || status == NodeStatus::Failed;
    let ended_at = children.iter().filter_map(|child| child.ended_at).max().filter(|_| over);
    Node {
        name: path.name().to_owned(),
        path,
        kind,
        status,
        started_at,
        ended_at,
        duration_ms: duration(started_at, ended_at),
        replayed: !children.is_empty() && children.iter().all(|child| child.replayed),
        spend: total(children.iter().map(|child| child.spend)),
        children,
    }
}

/// Adds up what was spent; nothing if nothing was.
fn total(spends: impl Iterator<Item = Option<Spend>>) -> Option<Spend> {
    spends.flatten().reduce(|mut sum, spend| {
        sum += spend;
        sum
    })
}

fn duration(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<u64> {
    Some(u64::try_from(to?.since(from?).as_millis()).unwrap_or(u64::MAX))
}

impl NodeStatus {
    /// Returns the sign that stands for it, so that meaning is never in colour alone.
    #[must_use]
    pub fn glyph(self) -> char {
        match self {
            Self::Done => '✓',
            Self::Abandoned => '⊘',
            Self::Running => '●',
            Self::Waiting => '◔',
            Self::Failed => '✗',
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}  {} {}", self.workflow, self.run, self.status.glyph(), self.status)?;
        draw(f, &self.children, "")
    }
}

fn draw(f: &mut fmt::Formatter<'_>, nodes: &[Node], indent: &str) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        let (turn, deeper) = if at + 1 == nodes.len() { ("└─", "   ") } else { ("├─", "│  ") };
        let glyph = if node.replayed { '↺' } else { node.status.glyph() };
        write!(f, "\n{indent}{turn} {glyph} ")?;
        match node.kind {
            NodeKind::Iteration { n } => write!(f, "iteration {n}")?,
            _ => f.write_str(&node.name)?,
        }
        if let Some(millis) = node.duration_ms.filter(|_| node.children.is_empty()) {
            write!(f, "  {millis} ms")?;
        }
        if let Some(spend) = node.spend {
            write!(f, "  {spend}")?;
        }
        match &node.kind {
            NodeKind::Step { attempts, .. } if attempts.len() > 1 => {
                write!(f, "  {} attempts", attempts.len())?
            }
            NodeKind::Branch { taken } => write!(f, "  → {taken}")?,
            NodeKind::Gate { answer: Some(answer), .. } => write!(f, "  {} by {}", answer.choice, answer.by)?,
            NodeKind::Gate { question, .. } => write!(f, "  “{question}”")?,
            NodeKind::Note { text } => write!(f, "  “{}”", text.lines().next().unwrap_or_default())?,
            _ => {}
        }
        draw(f, &node.children, &format!("{indent}{deeper}"))?;
    }
    Ok(())
}
