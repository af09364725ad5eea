//! Every exit code, reached.

use crate::program::Folder;
use crate::server::{COUNTED, Reply, Server};

/// A spec with drafts that are known in advance.
pub(crate) fn scripted(drafts: &[&str], more: &str) -> String {
    format!(
        "name: scripted\nmodels: {{ author: {{ scripted: {} }} }}\ndraft: {{ model: author, prompt: Write. }}\n\
         verify: [{{ name: good, text: {{ contains: good }} }}]\n{more}\n",
        serde_json::to_string(drafts).unwrap()
    )
}

fn exit_of(spec: &str, args: &[&str]) -> i32 {
    let folder = Folder::new();
    folder.write("spec.yaml", spec);
    folder.redraft(&[&["run", "spec.yaml"], args].concat()).code.unwrap()
}

#[test]
fn accepted_is_0_and_not_accepted_is_1_with_the_best_draft_on_standard_output() {
    let folder = Folder::new();
    folder.write("spec.yaml", &scripted(&["bad", "good"], ""));
    assert_eq!(folder.redraft(&["run", "spec.yaml"]).exits(0).out, "good\n");
    folder.write("spec.yaml", &scripted(&["bad", "worse"], "limits: { iterations: 2 }"));
    let gave = folder.redraft(&["run", "spec.yaml"]).exits(1);
    assert_eq!(gave.out, "bad\n");
    assert!(gave.err.contains("--max-iterations"), "{}", gave.err);
}

#[test]
fn a_wrong_command_is_2() {
    assert_eq!(exit_of("", &["--no-such-flag"]), 2);
    assert_eq!(exit_of(&scripted(&["good"], ""), &["--set", "novalue"]), 2);
    assert_eq!(exit_of(&scripted(&["good"], ""), &["--report", "pdf=x"]), 2);
    let folder = Folder::new();
    for args in [&["resume", "last"][..], &["approve", "run_none"], &["run", "--prompt", "Hello"]] {
        folder.redraft(args).exits(2);
    }
}

#[test]
fn a_wrong_spec_a_missing_key_and_a_missing_price_are_3() {
    assert_eq!(exit_of("name: x", &[]), 3);
    assert_eq!(exit_of(&scripted(&["good"], ""), &["--set", "unknown=1"]), 3);
    let folder = Folder::new();
    folder.write("spec.yaml", COUNTED);
    let gave = folder.redraft(&["run", "spec.yaml"]).exits(3);
    assert!(gave.err.contains("OPENAI_API_KEY"), "{}", gave.err);
    assert!(!folder.path().join(".redraft").exists(), "nothing was started");
    folder.write("spec.yaml", &COUNTED.replace("openai:gpt-5-mini", "local:/no/such.gguf"));
    folder.redraft(&["run", "spec.yaml"]).exits(3);
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", &COUNTED.replace("gpt-5-mini", "made-up"));
    folder.redraft(&["run", "spec.yaml", "--max-cost", "$1"]).exits(3);
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_provider_that_fails_is_4_and_the_run_can_be_resumed() {
    let server =
        Server::new(|n| if n == 1 { Reply::Fails(400) } else { Reply::Says("draft number 5".to_owned()) });
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let gave = folder.redraft(&["run", "spec.yaml"]).exits(4);
    assert_eq!(gave.out, "");
    let run = gave.run();
    assert_eq!(folder.redraft(&["resume", &run]).exits(0).out, "draft number 5\n");
}

#[test]
fn a_spent_budget_is_5_and_raising_it_lets_the_run_go_on() {
    let server = Server::new(|n| Reply::Says(format!("draft number {n}")));
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    // A call may cost about 0.9 cents at most, and costs 0.0125 cents.
    let gave = folder.redraft(&["run", "spec.yaml", "--max-cost", "$0.0084"]).exits(5);
    let made = server.asked().len();
    assert!((1..5).contains(&made), "{made}");
    assert_eq!(gave.out, "draft number 1\n", "{}", gave.err);
    let run = gave.run();
    let gave = folder.redraft(&["resume", &run]).exits(2);
    assert!(gave.err.contains("--max-cost"), "{}", gave.err);
    let gave = folder.redraft(&["resume", &run, "--max-cost", "$1"]).exits(0);
    assert_eq!(gave.out, "draft number 5\n");
    assert_eq!(server.asked().len(), 5, "what was paid for is not paid for again");
}

#[test]
fn waiting_for_a_person_is_6() {
    let folder = Folder::new();
    folder.write(
        "spec.yaml",
        &scripted(&["good"], "").replace("text: { contains: good }", "human: { question: 'Good?' }"),
    );
    let gave = folder.redraft(&["run", "spec.yaml"]).exits(6);
    assert!(gave.err.contains("redraft approve run_"), "{}", gave.err);
    assert_eq!(gave.out, "");
}

/// A journal that its spec no longer agrees with: the store is opened by hand and the spec in it changed.
#[test]
fn a_journal_that_cannot_be_replayed_is_7() {
    let server =
        Server::new(|n| if n == 2 { Reply::Fails(400) } else { Reply::Says(format!("draft number {n}")) });
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let run = folder.redraft(&["run", "spec.yaml"]).exits(4).run();
    let store = rusqlite::Connection::open(folder.path().join(".redraft/redraft.db")).unwrap();
    let changed = store
        .execute("UPDATE log SET events = replace(events, 'prompt\":\"Count.', 'prompt\":\"Sing.')", [])
        .unwrap();
    assert!(changed > 0);
    drop(store);
    let gave = folder.redraft(&["resume", &run]).exits(7);
    assert!(gave.err.contains("diverged"), "{}", gave.err);
    assert!(gave.err.contains("redraft rerun"), "{}", gave.err);
}

#[test]
fn a_bug_is_70() {
    let folder = Folder::new().with("REDRAFT_TEST_PANIC", "1");
    let gave = folder.redraft(&["list"]).exits(70);
    assert!(gave.err.contains("a bug in redraft"), "{}", gave.err);
}
