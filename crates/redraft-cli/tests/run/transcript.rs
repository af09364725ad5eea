//! Every command that works on runs, word for word, as somebody sees it who types them one after the other.
//!
//! To write the transcript anew: `REDRAFT_WRITE=1 cargo test -p redraft-cli --test run transcript`.

use std::path::Path;

use crate::program::Folder;

const HUMAN: &str = "name: human
models: { author: { scripted: [one, two, three] } }
draft: { model: author, prompt: Write. }
verify:
  - { name: editor, human: { question: \"May this go out?\" } }
";

const TYPED: &[&[&str]] = &[
    &["init", "--list"],
    &["init", "--example", "blog-opening"],
    &["check", "blog-opening/spec.yaml"],
    &["check", "broken.yaml"],
    &["run", "blog-opening/spec.yaml", "--dry-run"],
    &["run", "blog-opening/spec.yaml"],
    &["rerun", "last"],
    &["fork", "last", "--at", "blog-opening/2/revise"],
    &["fork", "last", "--at", "blog-opening/2/revise", "--yes"],
    &["resume", "last"],
    &["cancel", "last"],
    &["run", "human.yaml"],
    &["reject", "last", "--note", "too short"],
    &["edit", "last", "--file", "mine.txt"],
    &["approve", "last"],
    &["run", "human.yaml"],
    &["cancel", "last", "--reason", "no longer needed"],
    &["run", "blog-opening/spec.yaml", "--max-iterations", "1"],
    &["resume", "last", "--max-iterations", "2"],
];

#[test]
fn every_command_says_what_it_said_when_somebody_last_looked() {
    let folder = Folder::new();
    folder.write("human.yaml", HUMAN);
    folder.write("broken.yaml", &HUMAN.replace("draft:", "drfat:"));
    folder.write("mine.txt", "by hand\n");
    let mut transcript = String::new();
    for args in TYPED {
        let gave = folder.redraft(args);
        transcript.push_str(&format!("$ redraft {}\n", args.join(" ")));
        for (sign, text) in [("  ", &gave.out), ("! ", &gave.err)] {
            for line in text.lines() {
                transcript.push_str(format!("{sign}{}", tamed(line)).trim_end());
                transcript.push('\n');
            }
        }
        transcript.push_str(&format!("= {}\n\n", gave.code.unwrap()));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/transcript.txt");
    if std::env::var_os("REDRAFT_WRITE").is_some() {
        std::fs::write(&file, &transcript).unwrap();
    }
    let wanted = std::fs::read_to_string(file).unwrap_or_default();
    for (at, (found, wanted)) in transcript.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "line {} of the transcript; REDRAFT_WRITE=1 writes it anew", at + 1);
    }
    assert_eq!(transcript.lines().count(), wanted.lines().count());
}

/// Takes out what differs from time to time: ids and durations.
fn tamed(line: &str) -> String {
    let is_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '…';
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("run_") {
        text.push_str(&rest[..at]);
        text.push_str("RUN");
        let id = &rest[at..];
        rest = &id[id.find(|c| !is_id(c)).unwrap_or(id.len())..];
    }
    text.push_str(rest);
    let seconds = |word: &str| word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
    text.split(' ').map(|word| if seconds(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
}
