//! What goes where: data to standard output, everything else to standard error.

use crate::exits::scripted;
use crate::program::Folder;
use crate::server::{COUNTED, Reply, Server};

#[test]
fn json_is_one_object_of_the_documented_shape() {
    let server = Server::new(|n| Reply::Says(format!("draft number {}", n + 3)));
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let gave = folder.redraft(&["run", "spec.yaml", "--json"]).exits(0);
    assert_eq!(gave.out.lines().count(), 1);
    let object = gave.json();
    assert!(object["run_id"].as_str().unwrap().starts_with("run_"));
    assert_eq!(object["status"], "accepted");
    assert_eq!(object["stop"], "accepted");
    assert_eq!(object["best"]["iteration"], 2);
    assert_eq!(object["best"]["score"], 1.0);
    assert_eq!(object["best"]["text"], "draft number 5");
    assert!(object["best"]["findings"].as_array().unwrap().is_empty());
    let first = &object["iterations"][0];
    assert_eq!((first["n"].as_u64(), first["accepted"].as_bool()), (Some(1), Some(false)));
    assert!(first["score"].is_number() && first["text"].is_string() && first["verdicts"].is_array());
    let finding = &first["findings"][0];
    for key in ["id", "verifier", "message", "status"] {
        assert!(finding[key].is_string(), "{key} in {finding}");
    }
    let spend = &object["spend"];
    assert_eq!(spend["calls"], 2);
    assert_eq!((spend["input_tokens"].as_u64(), spend["output_tokens"].as_u64()), (Some(200), Some(100)));
    assert!(spend["usd"].is_string(), "{spend}");
}

#[test]
fn a_spend_without_a_known_price_is_null_and_not_nothing() {
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", &COUNTED.replace("gpt-5-mini", "made-up"));
    let object = folder.redraft(&["run", "spec.yaml", "--json"]).exits(0).json();
    assert!(object["spend"]["usd"].is_null(), "{object}");
}

#[test]
fn standard_output_is_the_draft_byte_for_byte_and_nothing_else() {
    let folder = Folder::new();
    let draft = "good\u{1b}[31m \u{7} tabs\tand\n\nlines";
    folder.write("spec.yaml", &scripted(&[draft], "output: { file: deep/out.md }"));
    let gave = folder.redraft(&["run", "spec.yaml"]).exits(0);
    assert_eq!(gave.out, format!("{draft}\n"));
    assert_eq!(folder.read("deep/out.md"), format!("{draft}\n"));
    assert!(!gave.err.contains('\u{7}') && !gave.err.contains('\u{1b}'), "{:?}", gave.err);
    let quiet = folder.redraft(&["run", "spec.yaml", "--quiet"]).exits(0);
    assert_eq!((quiet.out, quiet.err.as_str()), (gave.out, ""));
}

#[test]
fn what_models_write_never_gives_the_terminal_orders() {
    let folder = Folder::new();
    folder.write(
        "spec.yaml",
        &scripted(&["\u{1b}[2Jbad", "good"], "")
            .replace("contains: good", "first_sentence_words: { max: 0 }"),
    );
    for args in [&["run", "spec.yaml"][..], &["run", "spec.yaml", "--stream"]] {
        let gave = folder.redraft(args);
        assert!(!gave.err.contains('\u{1b}'), "{:?}", gave.err);
    }
}

#[test]
fn colours_come_when_they_are_wanted_and_meaning_never_needs_them() {
    let folder = Folder::new().with("CLICOLOR_FORCE", "1");
    folder.write("spec.yaml", &scripted(&["bad", "good"], ""));
    let colored = folder.redraft(&["run", "spec.yaml"]).exits(0).err;
    assert!(colored.contains("\u{1b}[33m△"), "{colored:?}");
    for plain in [
        folder.redraft(&["run", "spec.yaml", "--color", "never"]),
        folder.with("NO_COLOR", "1").redraft(&["run", "spec.yaml"]),
    ] {
        assert!(!plain.err.contains('\u{1b}'), "{:?}", plain.err);
        assert!(
            plain.err.contains("△ iteration 1   score") && plain.err.contains("✓ iteration 2"),
            "{}",
            plain.err
        );
    }
}

#[test]
fn jsonl_is_every_event_and_the_result() {
    let folder = Folder::new();
    folder.write("spec.yaml", &scripted(&["bad", "good"], ""));
    let gave = folder.redraft(&["run", "spec.yaml", "--jsonl"]).exits(0);
    let events: Vec<serde_json::Value> =
        gave.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = events.split_last().unwrap();
    assert_eq!(last["type"], "result");
    assert_eq!(last["best"]["text"], "good");
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event["seq"], seq);
    }
    assert_eq!(events.first().unwrap()["type"], "run_started");
    assert_eq!(events.last().unwrap()["type"], "run_finished");
}

#[test]
fn a_spec_may_come_from_standard_input() {
    let folder = Folder::new();
    assert_eq!(folder.fed(&["run", "-"], &scripted(&["good"], "")).exits(0).out, "good\n");
    let gave = folder.fed(&["check", "-"], "name: x").exits(3);
    assert!(gave.err.contains("<stdin>"), "{}", gave.err);
}

#[test]
fn a_dry_run_shows_the_prompt_and_asks_nobody() {
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let gave = folder.redraft(&["run", "spec.yaml", "--dry-run", "--max-cost", "$0.25"]).exits(0);
    assert!(gave.out.contains("Count.") && gave.out.contains("draft number 5"), "{}", gave.out);
    assert!(gave.out.contains("never more than $0.25"), "{}", gave.out);
    assert_eq!(server.asked().len(), 0);
    assert!(!folder.path().join(".redraft").exists());
}

#[test]
fn check_shows_every_mistake_with_its_place() {
    let folder = Folder::new();
    folder.write("bad.yaml", "name: bad\ndraft: { modle: x, prompt: hi }\nverify: []\n");
    let gave = folder.redraft(&["check", "bad.yaml"]).exits(3);
    assert!(
        gave.err.contains("bad.yaml:2:10") && gave.err.contains("did you mean: `model`?"),
        "{}",
        gave.err
    );
    assert_eq!(gave.out, "");
    let object = folder.redraft(&["check", "bad.yaml", "--json"]).exits(3).json();
    assert_eq!(object["valid"], false);
    assert!(object["specs"][0]["diagnostics"].as_array().unwrap().len() >= 2, "{object}");
    folder.write("good.yaml", &scripted(&["good"], ""));
    let object = folder.redraft(&["check", "good.yaml", "--json"]).exits(0).json();
    assert_eq!(object["valid"], true);
}

#[test]
fn junit_and_github_are_told() {
    let folder = Folder::new().with("GITHUB_ACTIONS", "true").with("GITHUB_STEP_SUMMARY", "summary.md");
    folder.write("spec.yaml", &scripted(&["<bad> & \"worse\""], "limits: { iterations: 1 }"));
    let gave = folder.redraft(&["run", "spec.yaml", "--report", "junit=report.xml"]).exits(1);
    let report = folder.read("report.xml");
    assert!(report.contains("<testsuites tests=\"2\" failures=\"2\""), "{report}");
    assert!(report.contains("<testcase classname=\"scripted\" name=\"good\">\n      <failure"), "{report}");
    assert!(gave.err.contains("::error title=scripted%3A good::"), "{}", gave.err);
    assert!(folder.read("summary.md").contains("| exhausted |"), "{}", folder.read("summary.md"));
}

#[test]
fn a_command_judges_in_a_copy_of_the_project_and_its_tests_stay_as_they_are() {
    let folder = Folder::new();
    folder.write(
        "tests/check.sh",
        "grep -q moon draft.txt || { echo 'say something of the moon' >&2; exit 1; }",
    );
    let cheat = "```text draft.txt\nsea\n```\n```sh tests/check.sh\ntrue\n```";
    let spec = serde_json::json!({
        "name": "tides",
        "models": { "author": { "scripted": ["the sea", cheat, "the moon"] } },
        "draft": { "model": "author", "prompt": "Write." },
        "verify": [{ "name": "short", "text": { "characters": { "max": 200 } } }],
    });
    folder.write("spec.yaml", &spec.to_string());
    let gave = folder.redraft(&["run", "spec.yaml", "--verify", "sh tests/check.sh"]).exits(0);
    assert_eq!(gave.out, "the moon\n");
    assert!(gave.err.contains("say something of the moon"), "{}", gave.err);
    assert!(gave.err.contains("protected"), "the draft that writes the test is refused: {}", gave.err);
    assert!(folder.read("tests/check.sh").contains("grep"), "the project itself is not touched");
}
