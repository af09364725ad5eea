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

/// The picture in the README: what the program shows of a run that it made just now.
#[test]
fn the_picture_is_of_a_real_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redraft"));
        command.args(args).current_dir(folder.path()).env("NO_COLOR", "1").env("COLUMNS", "116");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    here(&["init", "--example", "blog-opening"]);
    here(&["run", "blog-opening/spec.yaml"]);
    let shown = here(&["show", "last"]);
    let tree = shown.split("\n\n").next().unwrap();
    check("../run.svg", &picture(&tamed(tree)));
}

/// Takes out what differs from run to run: the id, and how long it took.
fn tamed(tree: &str) -> Vec<String> {
    let id = |line: &str| match line.find("run_") {
        Some(at) => {
            let end = line[at..].find(' ').map_or(line.len(), |length| at + length);
            format!("{}run_01JB…Q4{}", &line[..at], &line[end..])
        }
        None => line.to_owned(),
    };
    let times = |line: &str| {
        line.split(' ')
            .map(|word| {
                let seconds = word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok());
                if seconds { "0.0s".to_owned() } else { word.to_owned() }
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    tree.lines().map(|line| times(&id(line))).collect()
}

fn picture(lines: &[String]) -> String {
    let escaped = |line: &str| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default() * 8 + 32;
    let height = lines.len() * 19 + 30;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"A run of redraft: two iterations, the second accepted\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d7dae0\" \
         xml:space=\"preserve\">\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let fill = match line {
            line if line.contains('✗') => " fill=\"#f47067\"",
            line if line.contains('△') => " fill=\"#e0b341\"",
            line if line.contains("─ ✓ iteration") => " fill=\"#6bc46d\"",
            _ => "",
        };
        svg.push_str(&format!("<text x=\"16\" y=\"{}\"{fill}>{}</text>\n", 28 + at * 19, escaped(line)));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
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
