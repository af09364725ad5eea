//! Runs that go on, begin anew, or go another way.

use crate::exits::scripted;
use crate::program::{Folder, Gave};
use crate::server::{COUNTED, Reply, Server};

/// A folder with a run that made all the drafts it was allowed.
fn exhausted() -> (Server, Folder, String) {
    let server = Server::new(|n| Reply::Says(format!("draft number {n}")));
    let folder = server.folder();
    folder.write("spec.yaml", &COUNTED.replace("iterations: 5", "iterations: 3"));
    let run = folder.redraft(&["run", "spec.yaml"]).exits(1).run();
    (server, folder, run)
}

#[test]
fn an_exhausted_run_says_what_to_raise_and_goes_on_with_it() {
    let (server, folder, run) = exhausted();
    let gave = folder.redraft(&["resume", &run]).exits(2);
    assert!(gave.err.contains(&format!("redraft resume {run} --max-iterations")), "{}", gave.err);
    let gave = folder.redraft(&["resume", &run, "--max-iterations", "6", "--json"]).exits(0);
    assert_eq!(gave.json()["run_id"], run.as_str());
    assert_eq!(gave.json()["iterations"].as_array().unwrap().len(), 5);
    assert_eq!(server.asked().len(), 5);
}

#[test]
fn a_run_that_was_killed_goes_on_under_limits_that_were_raised() {
    let server =
        Server::new(|n| if n == 2 { Reply::Holds } else { Reply::Says(format!("draft number {n}")) });
    let folder = server.folder();
    folder.write("spec.yaml", &COUNTED.replace("iterations: 5", "iterations: 2"));
    let mut child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(2);
    child.kill().unwrap();
    child.wait().unwrap();
    let gave = folder.redraft(&["resume", "last", "--max-iterations", "9", "--json"]).exits(0);
    assert_eq!(gave.json()["iterations"].as_array().unwrap().len(), 4);
}

#[test]
fn an_accepted_run_cannot_be_resumed() {
    let folder = Folder::new();
    folder.write("spec.yaml", &scripted(&["good"], ""));
    let run = folder.redraft(&["run", "spec.yaml"]).exits(0).run();
    let gave = folder.redraft(&["resume", &run]).exits(2);
    assert!(gave.err.contains("redraft rerun"), "{}", gave.err);
}

#[test]
fn a_rerun_is_a_new_run_that_pays_for_everything() {
    let (server, folder, run) = exhausted();
    let object = folder.redraft(&["rerun", &run, "--json"]).exits(0).json();
    assert_ne!(object["run_id"], run.as_str());
    assert_eq!(object["iterations"][0]["text"], "draft number 4");
    assert_eq!(server.asked().len(), 5);
}

#[test]
fn a_fork_says_what_is_paid_for_again_and_wants_a_yes() {
    let (server, folder, run) = exhausted();
    let refused = folder.redraft(&["fork", &run, "--at", "iteration", "3"]).exits(2);
    assert!(refused.err.contains("3/revise") && refused.err.contains("--yes"), "{}", refused.err);
    assert!(!refused.err.contains("2/revise"), "{}", refused.err);
    assert_eq!(server.asked().len(), 3);
    let object = folder.redraft(&["fork", &run, "--at", "iteration 3", "--yes", "--json"]).exits(1).json();
    assert_ne!(object["run_id"], run.as_str());
    assert_eq!(object["iterations"][1]["text"], "draft number 2");
    assert_eq!(object["iterations"][2]["text"], "draft number 4");
    assert_eq!(server.asked().len(), 4);
    folder.redraft(&["fork", &run, "--at", "iteration 9", "--yes"]).exits(2);
}

#[test]
fn a_run_that_nobody_drives_can_be_cancelled() {
    let server = Server::new(|_| Reply::Holds);
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let mut child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(1);
    child.kill().unwrap();
    child.wait().unwrap();
    folder.redraft(&["cancel", "last"]).exits(0);
    let listed = folder.redraft(&["list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["status"], "cancelled");
    folder.redraft(&["resume", "last"]).exits(2);
}

#[test]
fn a_run_that_somebody_drives_is_told_to_stop() {
    let server = Server::new(|_| Reply::Holds);
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(1);
    folder.redraft(&["cancel", "last"]).exits(0);
    let gave = Gave::from(child.wait_with_output().unwrap()).exits(1);
    assert!(gave.err.contains("cancelled"), "{}", gave.err);
}
