//! `redraft diff`

use serde_json::json;

use crate::support::{GOOD, HOSTILE, Store, stderr, stdout};

#[test]
fn the_best_draft_is_compared_with_its_parent() {
    let store = Store::new();
    store.refined(&GOOD);
    assert_eq!(
        store.text(&["diff", "last"]),
        "\
iteration 2 (0.75) → iteration 3 (1.00)
+1 −1 words, +1 −1 lines
@@ −1 +1 @@
− Tides are made by the [−wind−].
\\ no line break at the end
+ Tides are made by the [+moon+].
\\ no line break at the end
findings: ✓ fixed 1 · ● open 0 · ✚ new 0 · ↓ regressed 0
  ✓ fixed      moon: the moon is missing <b>&
"
    );
}

#[test]
fn drafts_can_be_named_in_every_usual_way() {
    let store = Store::new();
    store.refined(&GOOD);
    let sides = |args: &[&str]| {
        let args: Vec<&str> = ["diff", "last"].iter().chain(args).copied().collect();
        let json = store.json(&args);
        (json["from"]["iteration"].as_u64().unwrap(), json["to"]["iteration"].as_u64().unwrap())
    };
    let cases: [(&[&str], (u64, u64)); 9] = [
        (&[], (2, 3)),
        (&["1..3"], (1, 3)),
        (&["1", "3"], (1, 3)),
        (&["3..1"], (3, 1)),
        (&["first..best"], (1, 3)),
        (&["first", "last"], (1, 3)),
        (&["2"], (1, 2)),
        (&["1.."], (1, 3)),
        (&["..2"], (1, 2)),
    ];
    for (args, expected) in cases {
        assert_eq!(sides(args), expected, "{args:?}");
    }
}

#[test]
fn findings_are_followed_from_one_draft_to_the_other() {
    let store = Store::new();
    store.refined(&GOOD);
    let statuses = |range: &str| -> Vec<(String, String)> {
        let json = store.json(&["diff", "last", range]);
        let found = json["findings"].as_array().unwrap().iter().map(|it| {
            let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            (word(&it["finding"]["verifier"]), word(&it["status"]))
        });
        found.collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(statuses("1..2"), pairs(&[("short", "fixed"), ("moon", "open")]));
    assert_eq!(statuses("1..3"), pairs(&[("short", "fixed"), ("moon", "fixed")]));
    assert_eq!(statuses("3..1"), pairs(&[("short", "new"), ("moon", "new")]));
}

#[test]
fn only_the_count_is_shown_when_only_that_is_wanted() {
    let store = Store::new();
    store.refined(&GOOD);
    assert_eq!(
        store.text(&["diff", "last", "1..2", "--stat"]),
        "\
iteration 1 (0.25) → iteration 2 (0.75)
+0 −6 words, +1 −1 lines
findings: ✓ fixed 1 · ● open 1 · ✚ new 0 · ↓ regressed 0
"
    );
    let json = store.json(&["diff", "last", "1..2"]);
    assert_eq!(
        json["stat"],
        json!({ "words_added": 0, "words_removed": 6, "lines_added": 1, "lines_removed": 1 })
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_type() {
    let store = Store::new();
    store.refined(&HOSTILE);
    let cases: [(&[&str], &str); 4] = [
        (&[], "was made from the task alone"),
        (&["1..9"], "there is no judged draft of iteration 9; it has iterations 1 to 2"),
        (&["one..two"], "`two` is no draft; name a number, `first`, `last` or `best`"),
        (&["1..-2"], "`-2` is no draft"),
    ];
    for (args, message) in cases {
        let args: Vec<&str> = ["diff", "last"].iter().chain(args).copied().collect();
        let output = store.redraft(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains(message) && stderr(&output).contains("  next: redraft "),
            "{}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
}
