//! How runs are called.

use crate::support::{GOOD, Store, stderr, stdout};

#[test]
fn a_run_is_called_by_its_id_either_end_of_it_both_or_last() {
    let store = Store::new();
    let first = store.refined(&GOOD).to_string();
    let second = store.refined(&GOOD).to_string();
    let called = |name: &str| store.json(&["show", name])["run_id"].as_str().unwrap().to_owned();
    let end = &first[first.len() - 6..];
    for name in
        [first.as_str(), end, &end.to_lowercase(), &first["run_".len()..], &format!("{}…{end}", &first[..8])]
    {
        assert_eq!(called(name), first, "{name}");
    }
    assert_eq!(called("last"), second);
}

#[test]
fn what_may_be_several_runs_is_refused_with_their_names() {
    let store = Store::new();
    let first = store.refined(&GOOD).to_string();
    let second = store.refined(&GOOD).to_string();
    for command in ["show", "diff", "watch", "export", "explain"] {
        let output = store.redraft(&[command, "run_0"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_eq!(stdout(&output), "");
        assert_eq!(
            stderr(&output),
            format!(
                "error: `run_0` may be any of 2:\n  {second}  essay\n  {first}  essay\n  next: type more of the id\n"
            )
        );
    }
}

#[test]
fn an_unknown_run_is_refused_with_what_to_type() {
    let store = Store::new();
    let nothing = store.redraft(&["show", "last"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("there is no store at"), "{}", stderr(&nothing));
    store.refined(&GOOD);
    for command in ["show", "diff", "watch", "export", "explain"] {
        let output = store.redraft(&[command, "run_00000000000000000000000000"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert_eq!(
            stderr(&output),
            "error [run-not-found]: there is no run `run_00000000000000000000000000`\n  next: redraft list\n"
        );
    }
    let orders = store.redraft(&["show", "run_\u{1b}[2J"]);
    assert!(!stderr(&orders).contains('\u{1b}'));
}
