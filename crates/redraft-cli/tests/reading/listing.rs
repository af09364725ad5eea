//! `redraft list`

use serde_json::json;

use crate::support::{GOOD, HOSTILE, Store, settled, stderr, stdout};

#[test]
fn the_newest_run_comes_first_with_what_it_came_to() {
    let store = Store::new();
    store.refined(&GOOD);
    let run = store.refined(&HOSTILE);
    let text = settled(&store.text(&["list"]), run);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        rows[0].split_whitespace().collect::<Vec<_>>(),
        ["STATUS", "RUN", "WORKFLOW", "BEST", "ITER", "SPENT", "TOOK", "STARTED"]
    );
    assert_eq!(
        rows[1].split_whitespace().collect::<Vec<_>>()[..6],
        ["△", "exhausted", "RUN", "essay", "0.75", "2"]
    );
    assert!(rows[1].ends_with("just now"), "{text}");
    assert!(rows[2].starts_with("✓ accepted"), "{text}");

    let listed = store.json(&["ls"]);
    assert_eq!(listed["runs"][0]["run_id"], json!(run));
    assert_eq!(listed["runs"][0]["stop"], "iterations_spent");
    assert_eq!(listed["runs"][1]["best_score"], 1.0);
    assert_eq!(listed["runs"][1]["iterations"], 3);
    assert_eq!(listed["runs"][1]["spend"]["calls"], 3);
    assert!(listed["runs"][1]["started_at"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn filters_leave_out_what_is_not_asked_for() {
    let store = Store::new();
    store.refined(&GOOD);
    store.refined(&HOSTILE);
    store.waiting(&GOOD);
    let count = |args: &[&str]| store.json(args)["runs"].as_array().unwrap().len();
    assert_eq!(count(&["list", "--status", "accepted"]), 1);
    assert_eq!(count(&["list", "--status", "accepted", "--status", "waiting"]), 2);
    assert_eq!(count(&["list", "--workflow", "essay", "--limit", "2"]), 2);
    assert_eq!(count(&["list", "--workflow", "poem"]), 0);
    let output = store.redraft(&["list", "--status", "done"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("it is one of: queued, running, waiting"), "{}", stderr(&output));
}

#[test]
fn an_empty_list_says_how_to_begin() {
    let store = Store::new();
    let output = store.redraft(&["list"]);
    assert!(output.status.success());
    assert_eq!(stdout(&output), "");
    assert_eq!(stderr(&output), "there is no run yet\n  next: redraft init\n");
    assert_eq!(store.json(&["list"]), json!({ "runs": [] }));
    assert!(!store.file().exists(), "looking makes nothing");
    store.refined(&GOOD);
    assert_eq!(
        stderr(&store.redraft(&["list", "--status", "failed"])),
        "no run is like that\n  next: redraft list\n"
    );
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_never_a_wider_line() {
    let store = Store::new();
    store.refined(&GOOD);
    for columns in ["20", "40", "60", "80"] {
        let text = stdout(&store.with(&["list"], &[("COLUMNS", columns)]));
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{columns}:\n{text}");
    }
    let text = stdout(&store.with(&["list"], &[("COLUMNS", "40")]));
    assert_eq!(text.lines().next(), Some("STATUS      RUN            WORKFLOW"));
}

#[test]
fn colour_is_there_when_it_is_wanted_and_not_when_it_is_refused() {
    let store = Store::new();
    store.refined(&GOOD);
    let colored =
        |args: &[&str], variables: &[(&str, &str)]| stdout(&store.with(args, variables)).contains('\u{1b}');
    assert!(!colored(&["list"], &[]));
    assert!(colored(&["list"], &[("CLICOLOR_FORCE", "1")]));
    assert!(colored(&["list", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!colored(&["list"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    for command in [&["list"][..], &["show", "last"], &["diff", "last"], &["models"], &["doctor"]] {
        assert!(colored(command, &[("CLICOLOR_FORCE", "1")]), "{command:?}");
        assert!(!colored(command, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), "{command:?}");
    }
}
