//! How a chart is written down.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::error::DefinitionError;
use super::node::{Action, At, Case, Node, Undo, erase};
use super::{State, diagram, execute, validate};
use crate::Ctx;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::gate::{Answer, Question};
use crate::run::{Boxed, Definition, Policy, Step};

/// A checked workflow, ready to be registered with an engine. Cheap to clone.
pub struct Workflow<S: State> {
    pub(super) chart: Arc<Chart<S>>,
}

pub(super) struct Chart<S: State> {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) body: Vec<Node<S>>,
    pub(super) on_failure: Vec<Node<S>>,
    pub(super) finally: Vec<Node<S>>,
    pub(super) policies: Vec<(String, Policy)>,
}

/// A workflow being written; made by [`Workflow::named`].
#[must_use = "a workflow is made by `build`"]
pub struct WorkflowBuilder<S: State> {
    chart: Chart<S>,
}

/// A part of a workflow being written: the inside of a loop, a branch or a fork.
#[must_use = "a body does nothing unless it is returned"]
pub struct Body<S: State> {
    nodes: Vec<Node<S>>,
}

/// The ways at a branch, in the order in which their conditions are tried.
#[must_use = "the ways of a branch do nothing unless they are returned"]
pub struct Branches<S: State> {
    cases: Vec<Case<S>>,
}

/// The paths of a fork.
#[must_use = "the paths of a fork do nothing unless they are returned"]
pub struct Paths<S: State> {
    paths: Vec<(String, Vec<Node<S>>)>,
}

/// The nodes that may stand in a workflow and in any body: written once, for both.
macro_rules! nodes {
    () => {
        /// Adds a step. Name it plainly (`"draft"`), or with a policy: `Step::named("draft").attempts(5)`.
        pub fn then(self, step: impl Into<Step>, action: impl Action<S>) -> Self {
            self.push(Node::Step { step: step.into(), action: erase(action), undo: None, starts: false })
        }

        /// Says how the step before this one is undone if the workflow fails or is cancelled later. Completed steps
        /// are undone in the reverse order of their completion.
        pub fn compensate(mut self, step: impl Into<Step>, action: impl Action<S>) -> Self {
            let step = step.into();
            match self.nodes_mut().last_mut() {
                Some(Node::Step { undo: undo @ None, .. }) => {
                    *undo = Some(Box::new(Undo { step, action: erase(action) }));
                    self
                }
                _ => self.push(Node::StrayUndo { name: step.name().to_owned() }),
            }
        }

        /// Adds a part written as an `async` function of a [`Ctx`], with steps of its own below this name.
        pub fn flow<F, Fut>(self, name: &str, body: F) -> Self
        where
            F: Fn(Ctx, Arc<S>) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<S::Update, Failure>> + Send + 'static,
        {
            let body = move |ctx, state| -> Boxed<_> { Box::pin(body(ctx, state)) };
            self.push(Node::Flow { name: name.to_owned(), body: Arc::new(body) })
        }

        /// Repeats a body until `condition` holds after it: at least once, and at most `max` times, exactly.
        /// Reaching the cap is not an error; [`At::loop_end`] tells.
        pub fn repeat_until(
            self,
            name: &str,
            max: u32,
            condition: impl Fn(&At<'_, S>) -> bool + Send + Sync + 'static,
            body: impl FnOnce(Body<S>) -> Body<S>,
        ) -> Self {
            let body = body(Body::new()).nodes;
            self.push(Node::Loop { name: name.to_owned(), max, until: Arc::new(condition), body })
        }

        /// Leaves the loop around this place if `condition` holds here.
        pub fn exit_when(
            self,
            name: &str,
            condition: impl Fn(&At<'_, S>) -> bool + Send + Sync + 'static,
        ) -> Self {
            self.push(Node::Exit { name: name.to_owned(), when: Arc::new(condition) })
        }

        /// Takes the first way whose condition holds; if none does and there is no `otherwise`, none.
        pub fn branch(self, name: &str, ways: impl FnOnce(Branches<S>) -> Branches<S>) -> Self {
            let cases = ways(Branches { cases: Vec::new() }).cases;
            self.push(Node::Branch { name: name.to_owned(), cases })
        }

        /// Takes several paths at once, each from the same state; must be followed by [`join`](Self::join).
        pub fn fork(self, name: &str, paths: impl FnOnce(Paths<S>) -> Paths<S>) -> Self {
            let paths = paths(Paths { paths: Vec::new() }).paths;
            self.push(Node::Fork { name: name.to_owned(), paths })
        }

        /// Waits for all paths of the fork before it and applies their updates in the order in which the paths
        /// were written. If paths failed, the others are still waited for; then the workflow fails.
        pub fn join(self, name: &str) -> Self {
            self.push(Node::Join { name: name.to_owned() })
        }

        /// Puts a question to people and turns their answer into an update.
        pub fn gate(
            self,
            name: &str,
            question: impl Fn(&S) -> Question + Send + Sync + 'static,
            answered: impl Fn(&Answer) -> S::Update + Send + Sync + 'static,
        ) -> Self {
            self.push(Node::Gate { name: name.to_owned(), ask: Arc::new(question), hear: Arc::new(answered) })
        }
    };
}

impl<S: State> Body<S> {
    nodes!();

    fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    fn push(mut self, node: Node<S>) -> Self {
        self.nodes.push(node);
        self
    }

    fn nodes_mut(&mut self) -> &mut Vec<Node<S>> {
        &mut self.nodes
    }
}

impl<S: State> WorkflowBuilder<S> {
    nodes!();

    fn push(mut self, node: Node<S>) -> Self {
        self.chart.body.push(node);
        self
    }

    fn nodes_mut(&mut self) -> &mut Vec<Node<S>> {
        &mut self.chart.body
    }

    /// Adds the first step.
    pub fn start_with(self, step: impl Into<Step>, action: impl Action<S>) -> Self {
        self.push(Node::Step { step: step.into(), action: erase(action), undo: None, starts: true })
    }

    /// Says what is done when the workflow has failed, after completed steps were undone. The run still ends as
    /// failed; steps find the failure in their [`Call`](crate::Call).
    pub fn on_failure(mut self, body: impl FnOnce(Body<S>) -> Body<S>) -> Self {
        self.chart.on_failure.extend(body(Body::new()).nodes);
        self
    }

    /// Says what is done at the very end, whether the workflow succeeded, failed or was cancelled.
    pub fn finally(mut self, body: impl FnOnce(Body<S>) -> Body<S>) -> Self {
        self.chart.finally.extend(body(Body::new()).nodes);
        self
    }

    /// Sets how patient to be with the step at a phase, for instance `refinement/critique`.
    pub fn policy_for(mut self, phase: &str, policy: Policy) -> Self {
        self.chart.policies.push((phase.to_owned(), policy));
        self
    }

    /// Sets the version (1 unless said otherwise). Raise it when the chart or what its conditions mean changes while
    /// runs are under way, and keep the old one registered until they have ended.
    pub fn version(mut self, version: u32) -> Self {
        self.chart.version = version;
        self
    }

    /// Checks the workflow.
    ///
    /// # Errors
    /// Tells everything that is wrong with it.
    pub fn build(self) -> Result<Workflow<S>, DefinitionError> {
        let problems = validate::problems(&self.chart);
        if problems.is_empty() {
            Ok(Workflow { chart: Arc::new(self.chart) })
        } else {
            Err(DefinitionError { workflow: self.chart.name, problems })
        }
    }
}

impl<S: State> Branches<S> {
    /// Adds a way that is taken if `condition` holds and none before it was.
    pub fn when(
        mut self,
        name: &str,
        condition: impl Fn(&At<'_, S>) -> bool + Send + Sync + 'static,
        body: impl FnOnce(Body<S>) -> Body<S>,
    ) -> Self {
        let body = body(Body::new()).nodes;
        self.cases.push(Case { name: name.to_owned(), when: Some(Arc::new(condition)), body });
        self
    }

    /// Adds the way that is taken if no other is.
    pub fn otherwise(mut self, name: &str, body: impl FnOnce(Body<S>) -> Body<S>) -> Self {
        self.cases.push(Case { name: name.to_owned(), when: None, body: body(Body::new()).nodes });
        self
    }
}

impl<S: State> Paths<S> {
    /// Adds a path.
    pub fn path(mut self, name: &str, body: impl FnOnce(Body<S>) -> Body<S>) -> Self {
        self.paths.push((name.to_owned(), body(Body::new()).nodes));
        self
    }
}

impl<S: State> Workflow<S> {
    /// Begins to write a workflow.
    pub fn named(name: &str) -> WorkflowBuilder<S> {
        let chart = Chart {
            name: name.to_owned(),
            version: 1,
            body: Vec::new(),
            on_failure: Vec::new(),
            finally: Vec::new(),
            policies: Vec::new(),
        };
        WorkflowBuilder { chart }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.chart.name
    }

    /// Returns the phases by path, in the order in which they are written: `refinement/critique`. A step's path in a
    /// run is its phase with the number of each iteration put in: `refinement/2/critique`.
    #[must_use]
    pub fn phases(&self) -> Vec<String> {
        validate::phases(&self.chart)
    }

    /// Draws the workflow as a Mermaid flowchart.
    #[must_use]
    pub fn mermaid(&self) -> String {
        diagram::mermaid(&self.chart)
    }
}

impl<S: State> Definition for Workflow<S> {
    type Input = S;
    type Output = S;

    fn name(&self) -> &str {
        &self.chart.name
    }

    fn version(&self) -> u32 {
        self.chart.version
    }

    fn fingerprint(&self) -> Fingerprint {
        let outline = validate::outline(&self.chart);
        let version = self.chart.version.to_le_bytes();
        Fingerprint::of(std::iter::once(version.as_slice()).chain(outline.iter().map(String::as_bytes)))
    }

    fn phases(&self) -> Vec<String> {
        validate::outline(&self.chart)
    }

    fn run(&self, ctx: Ctx, input: S) -> Boxed<Result<S, Failure>> {
        Box::pin(execute::run(Arc::clone(&self.chart), ctx, input))
    }
}

impl<S: State> Clone for Workflow<S> {
    fn clone(&self) -> Self {
        Self { chart: Arc::clone(&self.chart) }
    }
}

impl<S: State> fmt::Debug for Workflow<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow")
            .field("name", &self.chart.name)
            .field("version", &self.chart.version)
            .field("phases", &self.phases())
            .finish()
    }
}
