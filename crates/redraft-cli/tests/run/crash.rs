//! Whatever ends the process, nothing is lost and nothing is paid for twice.

use std::collections::BTreeMap;

use crate::program::{Folder, Gave, signal};
use crate::server::{COUNTED, Reply, Server};

/// Counts how often each request was made.
fn counts(server: &Server) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in server.asked() {
        *counts.entry(request["messages"].to_string()).or_default() += 1;
    }
    counts
}

fn holding(at: usize) -> Server {
    // The request under way when the process dies is the one that is made again.
    Server::new(move |n| match n {
        _ if n == at => Reply::Holds,
        _ if n > at => Reply::Says(format!("draft number {}", n - 1)),
        _ => Reply::Says(format!("draft number {n}")),
    })
}

#[test]
fn after_kill_9_no_request_is_made_twice_but_the_one_under_way() {
    let server = holding(3);
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let mut child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(3);
    child.kill().unwrap();
    child.wait().unwrap();
    // The spec is not needed any more.
    std::fs::remove_file(folder.path().join("spec.yaml")).unwrap();

    let gave = folder.redraft(&["resume", "last", "--json"]).exits(0);
    assert_eq!(gave.json()["best"]["text"], "draft number 5");
    assert_eq!(gave.json()["iterations"].as_array().unwrap().len(), 5);
    let counts = counts(&server);
    assert_eq!(counts.len(), 5, "five drafts, five requests");
    assert_eq!(counts.values().filter(|count| **count == 2).count(), 1, "{counts:?}");
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn ctrl_c_stops_cleanly_and_says_how_to_go_on() {
    let server = holding(2);
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(2);
    signal(&child, "INT");
    let gave = Gave::from(child.wait_with_output().unwrap()).exits(130);
    let run = gave.run();
    assert!(
        gave.err.contains(&format!("stopped; nothing is lost. Continue with: redraft resume {run}")),
        "{}",
        gave.err
    );
    assert_eq!(gave.out, "", "there is no draft to hand over");

    let gave = folder.redraft(&["resume", &run]).exits(0);
    assert_eq!(gave.out, "draft number 5\n");
    assert!(gave.err.contains('↺'), "{}", gave.err);
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn two_runs_in_one_folder_at_the_same_time_do_not_disturb_each_other() {
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let children: Vec<_> = (0..4).map(|_| folder.start(&["run", "spec.yaml", "--json"])).collect();
    let mut runs = Vec::new();
    for child in children {
        let gave = Gave::from(child.wait_with_output().unwrap()).exits(0);
        runs.push(gave.json()["run_id"].as_str().unwrap().to_owned());
    }
    runs.sort();
    runs.dedup();
    assert_eq!(runs.len(), 4);
    assert_eq!(server.asked().len(), 4);
    let listed = folder.redraft(&["list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn a_run_leaves_the_unfinished_ones_of_others_alone() {
    let server = holding(1);
    let folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let mut child = folder.start(&["run", "spec.yaml"]);
    server.wait_for(1);
    child.kill().unwrap();
    child.wait().unwrap();
    folder.write("short.yaml", &COUNTED.replace("iterations: 5", "iterations: 1"));
    folder.redraft(&["run", "short.yaml"]).exits(1);
    assert_eq!(server.asked().len(), 2, "the first run was not taken up on the side");
}

#[test]
fn the_same_key_starts_one_run() {
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder: Folder = server.folder();
    folder.write("spec.yaml", COUNTED);
    let first = folder.redraft(&["run", "spec.yaml", "--json", "--key", "k"]).exits(0).json();
    let second = folder.redraft(&["run", "spec.yaml", "--json", "--key", "k"]).exits(0).json();
    assert_eq!(first["run_id"], second["run_id"]);
    assert_eq!(server.asked().len(), 1);
}
