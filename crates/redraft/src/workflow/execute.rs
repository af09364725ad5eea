//! How a chart runs: each node through the [`Ctx`], each update into the state.
//!
//! The state lives in memory only. It is made anew on every replay from the run's input and the updates in the journal,
//! in the order in which they were first applied.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::State;
use super::builder::Chart;
use super::node::{At, Node, Undo, phase};
use super::validate::{COMPENSATION, FINALLY, ON_FAILURE};
use crate::Ctx;
use crate::failure::Failure;
use crate::journal::GroupKind;
use crate::run::{LoopEnd, LoopEnded};

/// Runs a workflow from its first node to its last, and what is to be done about it if that fails.
pub(super) async fn run<S: State>(chart: Arc<Chart<S>>, ctx: Ctx, input: S) -> Result<S, Failure> {
    let mut walk = Walk::new(&chart, Arc::new(input));
    let result = walk.body(&ctx, &chart.body, "").await;
    let cleanup = ctx.for_cleanup();
    if let Err(failure) = &result {
        walk.failure = Some(failure.clone());
        walk.undo_all(&cleanup).await;
        if !failure.is_cancelled() {
            // Whatever goes wrong while failing, the first failure is the one to report; the tree shows the rest.
            let _ = walk.cleanup(&cleanup, ON_FAILURE, &chart.on_failure).await;
        }
    }
    let last = walk.cleanup(&cleanup, FINALLY, &chart.finally).await;
    result?;
    last?;
    Ok(Arc::unwrap_or_clone(walk.state))
}

/// Whether a body was gone through to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    /// An exit was taken: the loop around it is left.
    Exit,
}

/// A walk through a chart: where the state and all that follows from it are kept.
struct Walk<'c, S: State> {
    chart: &'c Chart<S>,
    state: Arc<S>,
    /// On a fork's path: the updates so far, to be applied to the state at the join.
    trail: Option<Vec<S::Update>>,
    /// How loops ended, by name.
    loops: HashMap<String, LoopEnd>,
    /// Those of them that ended on this walk: what a fork's path brings to the join.
    own_loops: HashMap<String, LoopEnd>,
    /// How to undo what is done, with the number of the event that says it is done.
    undo: Vec<(u64, &'c Undo<S>)>,
    /// Why the cleanup runs.
    failure: Option<Failure>,
}

impl<'c, S: State> Walk<'c, S> {
    fn new(chart: &'c Chart<S>, state: Arc<S>) -> Self {
        Self {
            chart,
            state,
            trail: None,
            loops: HashMap::new(),
            own_loops: HashMap::new(),
            undo: Vec::new(),
            failure: None,
        }
    }

    /// Goes through the nodes of a body, one after the other.
    fn body<'a>(
        &'a mut self,
        ctx: &'a Ctx,
        nodes: &'c [Node<S>],
        scope: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Flow, Failure>> + Send + 'a>>
    where
        'c: 'a,
    {
        Box::pin(async move {
            for node in nodes {
                if self.node(ctx, node, scope).await? == Flow::Exit {
                    return Ok(Flow::Exit);
                }
            }
            Ok(Flow::On)
        })
    }

    async fn node(&mut self, ctx: &Ctx, node: &'c Node<S>, scope: &str) -> Result<Flow, Failure> {
        match node {
            Node::Step { step, action, undo, .. } => {
                let mut step = step.clone();
                if let Some(policy) = self.policy(&phase(scope, step.name())) {
                    step = step.policy(policy);
                }
                let state = &self.state;
                let settled =
                    ctx.settle(step, self.failure.as_ref(), |call| action(Arc::clone(state), call)).await?;
                self.undo.extend(undo.as_deref().map(|undo| (settled.seq, undo)));
                self.apply(settled.value);
            }
            Node::Flow { name, body } => {
                let update = body(ctx.group(name), Arc::clone(&self.state)).await?;
                self.apply(update);
            }
            Node::Loop { name, max, until, body } => {
                let end = self.repeat(ctx, node, *max, until, body, &phase(scope, name)).await?;
                self.loops.insert(name.clone(), end);
                self.own_loops.insert(name.clone(), end);
            }
            Node::Exit { when, .. } => {
                if when(&self.at()) {
                    return Ok(Flow::Exit);
                }
            }
            Node::Branch { name, cases } => {
                let at = self.at();
                let taken = cases.iter().find(|case| case.when.as_ref().is_none_or(|when| when(&at)));
                if let Some(case) = taken {
                    let branch = ctx.open(name, GroupKind::Branch { taken: case.name.clone() });
                    let inside = phase(&phase(scope, name), &case.name);
                    return self.body(&branch.item(&case.name), &case.body, &inside).await;
                }
            }
            Node::Fork { name, paths } => self.fork(ctx, name, paths, scope).await?,
            Node::Gate { name, ask, hear } => {
                let answer = ctx.gate(name, ask(&self.state)).await?;
                self.apply(hear(&answer));
            }
            // The fork before it has waited already; the join is a name in the chart.
            Node::Join { .. } | Node::StrayUndo { .. } => {}
        }
        Ok(Flow::On)
    }

    async fn repeat(
        &mut self,
        ctx: &Ctx,
        node: &'c Node<S>,
        max: u32,
        until: &super::node::Condition<S>,
        body: &'c [Node<S>],
        scope: &str,
    ) -> Result<LoopEnd, Failure> {
        let rounds = ctx.open(node.name(), GroupKind::Loop { max });
        let mut n = 1;
        let by = loop {
            if self.body(&rounds.iteration(n), body, scope).await? == Flow::Exit {
                break LoopEnded::Exit;
            }
            if until(&self.at()) {
                break LoopEnded::Condition;
            }
            if n >= max {
                break LoopEnded::Cap;
            }
            n += 1;
        };
        Ok(LoopEnd { iterations: n, by })
    }

    async fn fork(
        &mut self,
        ctx: &Ctx,
        name: &str,
        paths: &'c [(String, Vec<Node<S>>)],
        scope: &str,
    ) -> Result<(), Failure> {
        let scope = phase(scope, name);
        let items = paths.iter().map(|(name, body)| (name.clone(), (name, body))).collect();
        let walks = ctx
            .spread(
                name,
                items,
                paths.len().max(1),
                |ctx, (name, body): (&'c String, &'c Vec<Node<S>>)| {
                    let mut walk = Walk {
                        trail: Some(Vec::new()),
                        loops: self.loops.clone(),
                        failure: self.failure.clone(),
                        ..Walk::new(self.chart, Arc::clone(&self.state))
                    };
                    let scope = phase(&scope, name);
                    async move {
                        let result = walk.body(&ctx, body, &scope).await;
                        // A path that failed has still done things that may have to be undone.
                        Ok((walk, result.err()))
                    }
                },
                |_| false,
            )
            .await;
        let mut results = Vec::new();
        for (walk, failure) in walks.into_iter().flatten().flatten() {
            for update in walk.trail.into_iter().flatten() {
                self.apply(update);
            }
            self.loops.extend(walk.own_loops.clone());
            self.own_loops.extend(walk.own_loops);
            self.undo.extend(walk.undo);
            results.push(failure.map_or(Ok(()), Err));
        }
        Failure::gather(results).map(drop)
    }

    /// Undoes completed steps, the last first. One that cannot be undone does not keep the others from it.
    async fn undo_all(&mut self, ctx: &Ctx) {
        if self.undo.is_empty() {
            return;
        }
        let group = ctx.open(COMPENSATION, GroupKind::Compensation);
        let mut undo = std::mem::take(&mut self.undo);
        undo.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
        for (_, undo) in undo {
            let state = &self.state;
            let undone = group
                .settle(undo.step.clone(), self.failure.as_ref(), |call| {
                    (undo.action)(Arc::clone(state), call)
                })
                .await;
            if let Ok(settled) = undone {
                self.apply(settled.value);
            }
        }
    }

    async fn cleanup(&mut self, ctx: &Ctx, name: &str, nodes: &'c [Node<S>]) -> Result<(), Failure> {
        if nodes.is_empty() {
            return Ok(());
        }
        let group = ctx.open(name, GroupKind::Cleanup);
        self.body(&group, nodes, name).await.map(drop)
    }

    fn apply(&mut self, update: S::Update) {
        if let Some(trail) = &mut self.trail {
            trail.push(update.clone());
        }
        // No step holds the state between nodes, so this changes it in place and copies nothing.
        Arc::make_mut(&mut self.state).apply(update);
    }

    fn at(&self) -> At<'_, S> {
        At { state: &self.state, loops: &self.loops }
    }

    fn policy(&self, phase: &str) -> Option<crate::run::Policy> {
        self.chart.policies.iter().rev().find(|(wanted, _)| wanted == phase).map(|(_, policy)| policy.clone())
    }
}
