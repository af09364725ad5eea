//! Runs that wait for a person, and what people say to them.

use crate::exits::scripted;
use crate::program::{Folder, Gave};
use crate::server::{Reply, Server};

/// A folder with a run that waits for a word on its draft.
fn waiting() -> (Folder, String) {
    let folder = Folder::new();
    let spec = scripted(&["one", "two"], "limits: { iterations: 3 }");
    folder
        .write("spec.yaml", &spec.replace("text: { contains: good }", "human: { question: 'Is it good?' }"));
    let run = {
        let gave = folder.redraft(&["run", "spec.yaml", "--json"]).exits(6);
        assert_eq!(gave.json()["status"], "waiting");
        assert_eq!(gave.json()["gates"][0]["options"][0], "approve");
        gave.json()["run_id"].as_str().unwrap().to_owned()
    };
    (folder, run)
}

#[test]
fn after_approve_the_run_goes_on_and_is_accepted() {
    let (folder, run) = waiting();
    let gave = folder.redraft(&["approve", &run, "--note", "fine"]).exits(0);
    assert_eq!(gave.out, "one\n");
    let gave = folder.redraft(&["approve", &run]).exits(2);
    assert!(gave.err.contains("asks nothing"), "{}", gave.err);
}

#[test]
fn after_reject_the_next_draft_is_made_and_asked_about() {
    let (folder, run) = waiting();
    let gave = folder.redraft(&["reject", &run, "--note", "too short"]).exits(6);
    assert!(gave.err.contains("two"), "{}", gave.err);
    assert_eq!(folder.redraft(&["approve", &run]).exits(0).out, "two\n");
}

#[test]
fn an_edited_draft_becomes_a_draft_of_its_own() {
    let (folder, run) = waiting();
    folder.write("mine.md", "my own words");
    folder.redraft(&["edit", &run, "--file", "mine.md"]).exits(6);
    let object = folder.redraft(&["approve", &run, "--json"]).exits(0).json();
    assert_eq!(object["best"]["text"], "my own words");
    assert_eq!(object["iterations"][1]["by"], "human");
}

#[test]
fn an_editor_opens_with_the_draft() {
    let (folder, run) = waiting();
    let editor = folder.write("editor.sh", "#!/bin/sh\nprintf ' and more' >> \"$1\"\n");
    let folder = folder.with("EDITOR", &format!("sh {}", editor.display()));
    let gave = folder.redraft(&["edit", &run]).exits(6);
    assert!(gave.err.contains("one and more"), "{}", gave.err);
}

#[test]
fn an_answer_can_be_left_for_later() {
    let (folder, run) = waiting();
    folder.redraft(&["approve", &run, "--no-wait"]).exits(0);
    assert_eq!(folder.redraft(&["resume", &run]).exits(0).out, "one\n");
}

#[test]
fn a_question_that_is_not_asked_is_named() {
    let (folder, run) = waiting();
    let gave = folder.redraft(&["approve", &run, "no-such-gate"]).exits(2);
    assert!(gave.err.contains("it asks `") && gave.err.contains("1/good/review`"), "{}", gave.err);
}

/// The first candidate waits for a word while the second is still being written.
#[test]
fn whoever_drives_the_run_gets_the_answer() {
    let server = Server::new(|n| if n == 1 { Reply::Says("one".to_owned()) } else { Reply::Holds });
    let folder = server.folder();
    folder.write(
        "spec.yaml",
        "name: driven\ndraft: { model: 'openai:gpt-5-mini', prompt: Write. }\ncandidates: 2\n\
         verify: [{ name: good, human: { question: 'Is it good?' } }]\n",
    );
    let child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(2);
    // The question may not be there yet.
    let told =
        std::iter::repeat_with(|| folder.redraft(&["approve", "last"])).find(|gave| gave.code == Some(0));
    assert!(told.unwrap().err.contains("was told"));
    let gave = Gave::from(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(gave.out, "one\n");
}
