//! What is refused before anything runs, and the outline by which a changed definition is recognised.

use std::collections::HashSet;

use super::State;
use super::builder::Chart;
use super::error::Problem;
use super::node::{Node, phase};
use crate::path::check_name;
use crate::suggest;

/// Groups that the engine opens itself.
pub(super) const COMPENSATION: &str = "compensation";
pub(super) const ON_FAILURE: &str = "on-failure";
pub(super) const FINALLY: &str = "finally";

/// Finds everything that is wrong with a chart.
pub(super) fn problems<S: State>(chart: &Chart<S>) -> Vec<Problem> {
    let mut check = Check { problems: Vec::new() };
    check.name(&chart.name, "");
    if chart.body.is_empty() {
        check
            .say(Problem::new("empty-body", "", "the workflow has no steps").hint("begin with `start_with`"));
    }
    check.body(&chart.body, "", Around::TOP);
    check.body(&chart.on_failure, ON_FAILURE, Around::default());
    check.body(&chart.finally, FINALLY, Around::default());
    let mut steps = Vec::new();
    walk_chart(chart, &mut |word, path, _| {
        if word == "step" {
            steps.push(path.to_owned());
        }
    });
    for (wanted, policy) in &chart.policies {
        if !steps.contains(wanted) {
            let problem =
                Problem::new("unknown-phase", wanted, "a policy is set for a step that does not exist");
            check.say(match suggest::nearest(wanted, steps.iter().map(String::as_str)) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem.hint(format!("there are {}", steps.join(", "))),
            });
        }
        if policy.attempts == 0 {
            check.say(Problem::new("zero-cap", wanted, "a step may fail 0 times; the least is 1"));
        }
    }
    check.problems
}

struct Check {
    problems: Vec<Problem>,
}

/// What stands around a body.
#[derive(Clone, Copy, Default)]
struct Around {
    in_loop: bool,
    top: bool,
}

impl Around {
    const TOP: Self = Self { in_loop: false, top: true };
}

impl Check {
    fn say(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn name(&mut self, name: &str, at: &str) {
        if let Err(bad) = check_name(name) {
            self.say(Problem::new("bad-name", at, bad.to_string()));
        }
    }

    fn body<S: State>(&mut self, nodes: &[Node<S>], scope: &str, around: Around) {
        let mut taken = HashSet::new();
        for (at, node) in nodes.iter().enumerate() {
            let place = phase(scope, node.name());
            self.name(node.name(), scope);
            if around.top && [COMPENSATION, ON_FAILURE, FINALLY].contains(&node.name()) {
                let message =
                    format!("`{}` is the name of a group that the engine opens itself", node.name());
                self.say(Problem::new("reserved-name", &place, message).hint("choose another name"));
            }
            if !taken.insert(node.name()) && !matches!(node, Node::StrayUndo { .. }) {
                let message = format!("the name `{}` is used twice in the same body", node.name());
                let hint = format!("call the second one `{}-2`, or what it does differently", node.name());
                self.say(Problem::new("duplicate-name", &place, message).hint(hint));
            }
            let next = nodes.get(at + 1);
            let before = at.checked_sub(1).and_then(|before| nodes.get(before));
            self.node(node, before, next, &place, around);
            if let Node::Step { starts: true, .. } = node
                && at > 0
            {
                let problem = Problem::new("late-start", &place, "the first step stands after others");
                self.say(problem.hint("use `then` for a step that is not the first"));
            }
        }
    }

    fn node<S: State>(
        &mut self,
        node: &Node<S>,
        before: Option<&Node<S>>,
        next: Option<&Node<S>>,
        place: &str,
        around: Around,
    ) {
        let inner = Around { top: false, ..around };
        match node {
            Node::Step { step, undo, .. } => {
                if step.allows_no_attempt() {
                    self.say(Problem::new("zero-cap", place, "a step may fail 0 times; the least is 1"));
                }
                if let Some(undo) = undo {
                    self.name(undo.step.name(), place);
                }
            }
            Node::Flow { .. } | Node::Gate { .. } => {}
            Node::Loop { max, body, .. } => {
                if *max == 0 {
                    let problem = Problem::new("zero-cap", place, "the loop may run 0 times; the least is 1");
                    self.say(problem.hint("a loop runs its body at least once"));
                }
                self.not_empty(body, place, "the loop");
                self.body(body, place, Around { in_loop: true, ..inner });
            }
            Node::Exit { .. } => {
                if !around.in_loop {
                    let problem = Problem::new("exit-outside-loop", place, "there is no loop to leave here");
                    self.say(
                        problem.hint("put it into the body of `repeat_until`; it cannot leave a fork's path"),
                    );
                }
            }
            Node::Branch { cases, .. } => {
                if cases.is_empty() {
                    let problem = Problem::new("empty-body", place, "the branch has no ways");
                    self.say(problem.hint("add one with `when` or `otherwise`"));
                }
                let mut closed = false;
                let mut taken = HashSet::new();
                for case in cases {
                    let inside = phase(place, &case.name);
                    self.name(&case.name, place);
                    if closed {
                        let problem =
                            Problem::new("unreachable-node", &inside, "it stands after `otherwise`");
                        self.say(problem.hint("put `otherwise` last"));
                    }
                    closed |= case.when.is_none();
                    if !taken.insert(&case.name) {
                        let message = format!("two ways of the branch are called `{}`", case.name);
                        self.say(Problem::new("duplicate-name", &inside, message));
                    }
                    self.body(&case.body, &inside, inner);
                }
            }
            Node::Fork { paths, .. } => {
                if paths.is_empty() {
                    let problem = Problem::new("empty-body", place, "the fork has no paths");
                    self.say(problem.hint("add some with `path`"));
                }
                if !matches!(next, Some(Node::Join { .. })) {
                    let problem = Problem::new("missing-join", place, "the fork is not followed by a join");
                    self.say(problem.hint("add `.join(\"…\")` right after it"));
                }
                let mut taken = HashSet::new();
                for (name, body) in paths {
                    let inside = phase(place, name);
                    self.name(name, place);
                    if !taken.insert(name) {
                        let message = format!("two paths of the fork are called `{name}`");
                        self.say(Problem::new("duplicate-name", &inside, message));
                    }
                    self.not_empty(body, &inside, "the path");
                    self.body(body, &inside, Around { in_loop: false, ..inner });
                }
            }
            Node::Join { .. } => {
                if !matches!(before, Some(Node::Fork { .. })) {
                    let problem =
                        Problem::new("join-without-fork", place, "there is no fork before this join");
                    self.say(problem.hint("put it right after `fork`"));
                }
            }
            Node::StrayUndo { .. } => {
                let problem =
                    Problem::new("nothing-to-compensate", place, "there is no step before it to undo");
                self.say(problem.hint("put `compensate` right after the step it undoes, once"));
            }
        }
    }

    fn not_empty<S: State>(&mut self, body: &[Node<S>], place: &str, what: &str) {
        if body.is_empty() {
            self.say(Problem::new("empty-body", place, format!("{what} has nothing in it")));
        }
    }
}

/// Returns the paths of the phases: everything but the folders they stand in.
pub(super) fn phases<S: State>(chart: &Chart<S>) -> Vec<String> {
    let mut lines = Vec::new();
    walk_chart(chart, &mut |word, path, _| {
        if !["loop", "branch", "fork"].contains(&word) {
            lines.push(path.to_owned());
        }
    });
    lines
}

/// Returns a line for everything in the chart that a resumed run depends on. Part of the journal: what is written
/// here for a chart of today must be written for the same chart tomorrow.
pub(super) fn outline<S: State>(chart: &Chart<S>) -> Vec<String> {
    let mut lines = Vec::new();
    walk_chart(chart, &mut |word, path, settings| {
        lines.push(if settings.is_empty() {
            format!("{word} {path}")
        } else {
            format!("{word} {path} {settings}")
        });
    });
    lines
}

fn walk_chart<S: State>(chart: &Chart<S>, visit: &mut dyn FnMut(&str, &str, &str)) {
    walk(&chart.body, "", visit);
    walk(&chart.on_failure, ON_FAILURE, visit);
    walk(&chart.finally, FINALLY, visit);
}

fn walk<S: State>(nodes: &[Node<S>], scope: &str, visit: &mut dyn FnMut(&str, &str, &str)) {
    for node in nodes {
        let place = phase(scope, node.name());
        match node {
            Node::Step { step, undo, .. } => {
                let undone =
                    undo.as_ref().map(|undo| format!(" undone by {}", undo.step.name())).unwrap_or_default();
                visit("step", &place, &format!("v{}{undone}", step.code_version()));
            }
            Node::Flow { .. } => visit("flow", &place, ""),
            Node::Loop { max, body, .. } => {
                visit("loop", &place, &format!("max {max}"));
                walk(body, &place, visit);
            }
            Node::Exit { .. } => visit("exit", &place, ""),
            Node::Branch { cases, .. } => {
                let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
                visit("branch", &place, &names.join(" | "));
                for case in cases {
                    walk(&case.body, &phase(&place, &case.name), visit);
                }
            }
            Node::Fork { paths, .. } => {
                let names: Vec<&str> = paths.iter().map(|(name, _)| name.as_str()).collect();
                visit("fork", &place, &names.join(" & "));
                for (name, body) in paths {
                    walk(body, &phase(&place, name), visit);
                }
            }
            Node::Join { .. } => visit("join", &place, ""),
            Node::Gate { .. } => visit("gate", &place, ""),
            Node::StrayUndo { .. } => {}
        }
    }
}
