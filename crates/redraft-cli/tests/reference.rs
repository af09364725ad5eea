//! The reference pages are made from the program, and say what it does now.
//!
//! To write them anew: `REDRAFT_WRITE=1 cargo test -p redraft-cli --test reference`.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn redraft(args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_redraft")).args(args).env("NO_COLOR", "1").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

fn check(name: &str, wanted: &str) {
    if std::env::var_os("REDRAFT_WRITE").is_some() {
        std::fs::write(page(name), wanted).unwrap();
    }
    let found = std::fs::read_to_string(page(name)).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/reference/{name} is stale: REDRAFT_WRITE=1 cargo test -p redraft-cli --test reference"
    );
}

/// The names of the commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = redraft(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_of_commands_is_what_the_program_says() {
    let mut text = String::from("# Commands\n\nWhat `redraft help` says, on one page.\n");
    let whole = redraft(&["--help"]);
    text.push_str(&format!("\n```text\n{}\n```\n", whole.trim_end()));
    for name in commands() {
        let help = redraft(&[&name, "--help"]);
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        text.push_str(&format!("\n## redraft {name}\n\n```text\n{}\n```\n", help.join("\n")));
    }
    check("cli.md", &text);
}

#[test]
fn the_page_of_errors_has_every_code() {
    let codes = redraft(&["explain"]);
    let mut text = String::from(
        "# Error codes\n\n`redraft explain CODE` shows the page of a code.\n\n| code | what happened |\n|---|---|\n",
    );
    for code in codes.lines() {
        let page = redraft(&["explain", code]);
        let first = page.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        text.push_str(&format!("| `{code}` | {} |\n", first.replace('|', "\\|")));
    }
    check("errors.md", &text);
}

#[test]
fn the_page_of_the_environment_has_every_variable_of_ours() {
    let page = std::fs::read_to_string(page("environment.md")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![sources];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for piece in source.split("\"REDRAFT_").skip(1) {
                let name = format!("REDRAFT_{}", piece.split('"').next().unwrap());
                // These are for tests.
                if name.starts_with("REDRAFT_TEST_") || name == "REDRAFT_WRITE" {
                    continue;
                }
                assert!(
                    page.contains(&format!("`{name}`")),
                    "{name}, used in {}, is not on the page",
                    path.display()
                );
            }
        }
    }
}
