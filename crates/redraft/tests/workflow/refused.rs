//! Definitions that are refused: every mistake at once, each with its code, its place and what to write instead.

use redraft::workflow::{Body, State, Workflow, WorkflowBuilder};
use redraft::{Policy, Question};

use crate::support::{Trace, mark};

fn check(builder: WorkflowBuilder<Trace>, wanted: &[&str]) {
    let error = builder.build().unwrap_err();
    let found: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, wanted);
    for problem in &error.problems {
        assert!(redraft::explain(problem.code).is_some(), "there is no page about `{}`", problem.code);
    }
    assert!(error.to_string().starts_with("the workflow `"), "{error}");
}

fn named() -> WorkflowBuilder<Trace> {
    Workflow::named("w")
}

fn one(body: Body<Trace>) -> Body<Trace> {
    body.then("a", mark())
}

#[test]
fn a_workflow_without_steps() {
    check(named(), &["the workflow has no steps (empty-body); begin with `start_with`"]);
}

#[test]
fn names_that_are_bad_taken_or_reserved() {
    check(
        Workflow::named("a/b").start_with("x#1", mark()),
        &[
            "`a/b` cannot be a name: `/` and `#` are the separators of paths (bad-name)",
            "`x#1` cannot be a name: `/` and `#` are the separators of paths (bad-name)",
        ],
    );
    check(
        named().start_with("a", mark()).repeat_until("l", 1, |_| true, |b| one(one(b))).then("a", mark()),
        &[
            "at `l/a`: the name `a` is used twice in the same body (duplicate-name); call the second one `a-2`, or what it does differently",
            "at `a`: the name `a` is used twice in the same body (duplicate-name); call the second one `a-2`, or what it does differently",
        ],
    );
    check(
        named().start_with("finally", mark()),
        &[
            "at `finally`: `finally` is the name of a group that the engine opens itself (reserved-name); choose another name",
        ],
    );
    check(
        named()
            .branch("b", |ways| ways.when("x", |_| true, one).when("x", |_| true, one))
            .fork("f", |paths| paths.path("y", one).path("y", one))
            .join("j"),
        &[
            "at `b/x`: two ways of the branch are called `x` (duplicate-name)",
            "at `f/y`: two paths of the fork are called `y` (duplicate-name)",
        ],
    );
}

#[test]
fn loops_that_cannot_run() {
    check(
        named().repeat_until("l", 0, |_| true, |body| body),
        &[
            "at `l`: the loop may run 0 times; the least is 1 (zero-cap); a loop runs its body at least once",
            "at `l`: the loop has nothing in it (empty-body)",
        ],
    );
}

#[test]
fn exits_with_nothing_to_leave() {
    let hint = "put it into the body of `repeat_until`; it cannot leave a fork's path";
    check(
        named().start_with("a", mark()).exit_when("e", |_| true),
        &[&format!("at `e`: there is no loop to leave here (exit-outside-loop); {hint}")],
    );
    check(
        named().repeat_until(
            "l",
            2,
            |_| true,
            |body| body.fork("f", |paths| paths.path("p", |body| body.exit_when("e", |_| true))).join("j"),
        ),
        &[&format!("at `l/f/p/e`: there is no loop to leave here (exit-outside-loop); {hint}")],
    );
}

#[test]
fn forks_and_joins_that_do_not_match() {
    check(
        named().fork("f", |paths| paths.path("p", one)).then("b", mark()),
        &["at `f`: the fork is not followed by a join (missing-join); add `.join(\"…\")` right after it"],
    );
    check(
        named().start_with("a", mark()).join("j"),
        &["at `j`: there is no fork before this join (join-without-fork); put it right after `fork`"],
    );
    check(
        named().fork("f", |paths| paths).join("j"),
        &["at `f`: the fork has no paths (empty-body); add some with `path`"],
    );
    check(
        named().fork("f", |paths| paths.path("p", |body| body)).join("j"),
        &["at `f/p`: the path has nothing in it (empty-body)"],
    );
}

#[test]
fn ways_that_nobody_can_take() {
    check(
        named().branch("b", |ways| ways.otherwise("x", one).when("y", |_| true, one)),
        &["at `b/y`: it stands after `otherwise` (unreachable-node); put `otherwise` last"],
    );
    check(
        named().branch("b", |ways| ways),
        &["at `b`: the branch has no ways (empty-body); add one with `when` or `otherwise`"],
    );
}

#[test]
fn things_in_the_wrong_place() {
    check(
        named().then("a", mark()).start_with("b", mark()),
        &[
            "at `b`: the first step stands after others (late-start); use `then` for a step that is not the first",
        ],
    );
    check(
        named().gate("g", |_| Question::new("?"), |_| Trace::update()).compensate("u", mark()),
        &[
            "at `u`: there is no step before it to undo (nothing-to-compensate); put `compensate` right after the step it undoes, once",
        ],
    );
    check(
        named().start_with("a", mark()).compensate("u", mark()).compensate("v", mark()),
        &[
            "at `v`: there is no step before it to undo (nothing-to-compensate); put `compensate` right after the step it undoes, once",
        ],
    );
}

#[test]
fn a_policy_for_a_phase_that_does_not_exist() {
    check(
        named()
            .repeat_until("refinement", 2, |_| true, |body| body.then("critique", mark()))
            .policy_for("refinement/critic", Policy::default())
            .policy_for("refinement/critique", Policy { attempts: 0, ..Policy::default() }),
        &[
            "at `refinement/critic`: a policy is set for a step that does not exist (unknown-phase); did you mean `refinement/critique`?",
            "at `refinement/critique`: a step may fail 0 times; the least is 1 (zero-cap)",
        ],
    );
}

#[test]
fn mistakes_in_cleanup_are_found_too() {
    check(
        named()
            .start_with("a", mark())
            .on_failure(|body| body.exit_when("e", |_| true))
            .finally(|body| body.then("x", mark()).then("x", mark())),
        &[
            "at `on-failure/e`: there is no loop to leave here (exit-outside-loop); put it into the body of `repeat_until`; it cannot leave a fork's path",
            "at `finally/x`: the name `x` is used twice in the same body (duplicate-name); call the second one `x-2`, or what it does differently",
        ],
    );
}
