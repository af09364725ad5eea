//! The program as a person meets it.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::process::{Command, Output};

use serde_json::Value;

fn redraft(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redraft")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn it_says_its_version() {
    let output = redraft(&["--version"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), concat!("redraft ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn it_explains_every_code_and_says_so_when_there_is_none() {
    let codes = text(&redraft(&["explain"]).stdout);
    assert!(codes.lines().count() > 50);
    for code in codes.lines() {
        let output = redraft(&["explain", code]);
        assert!(
            output.status.success() && text(&output.stdout).starts_with(&format!("# {code}\n")),
            "{code}"
        );
    }
    let output = redraft(&["explain", "no-such-code"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: there is no error code `no-such-code`\n  next: redraft explain\n"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn a_wrong_command_is_a_usage_error() {
    let output = redraft(&["bnech"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("'bench'"), "{}", text(&output.stderr));
}

/// Small sizes: that the figures are there, not how good they are.
#[test]
fn every_bench_prints_one_line_of_json_with_its_figures() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["steps", "--runs", "20", "--seconds", "0.3"], &["steps_per_s", "fdatasync_per_s"]),
        (&["latency", "--steps", "50"], &["step_us_p50", "fdatasync_us_p50", "ratio"]),
        (&["waiting", "--runs", "50", "--steps", "1"], &["rss_mib", "wall_over_ideal"]),
        (&["growth", "--iterations", "50"], &["time_ratio", "bytes_ratio"]),
        (&["reopen", "--runs", "50"], &["seconds"]),
    ];
    for (args, figures) in cases {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().to_str().unwrap();
        let output = redraft(&[&["bench"], args, &["--dir", dir]].concat());
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        let line: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        for figure in figures {
            assert!(line[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure} in {line}");
        }
        assert_eq!(line["durability"], "sqlite-wal-fsync");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{args:?} left something behind");
    }
}

#[test]
fn a_bench_in_a_place_that_cannot_be_written_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = redraft(&["bench", "latency", "--dir", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).starts_with("error: cannot make the folder"), "{}", text(&output.stderr));
}
