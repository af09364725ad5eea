//! Drafts as files: what is named, and what is refused.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(draft: &str, default_file: Option<&str>, expected: &[(&str, &str)]) {
    let files = lay_out(draft, default_file, &Globs::default()).expect(draft);
    let found: Vec<_> = files.iter().map(|file| (file.path.to_str().unwrap(), file.text.as_str())).collect();
    assert_eq!(found, expected, "{draft}");
}

#[track_caller]
fn check_refused(draft: &str, default_file: Option<&str>, protected: &[&str], expected: &[(&str, u32)]) {
    let protected = Globs::new(protected.iter().copied()).unwrap();
    let findings = lay_out(draft, default_file, &protected).expect_err(draft);
    let found: Vec<_> = findings
        .iter()
        .map(|finding| match &finding.place {
            Some(crate::verify::Place::Span { start, .. }) => (finding.rule.as_str(), start.line),
            _ => (finding.rule.as_str(), 0),
        })
        .collect();
    assert_eq!(found, expected, "{draft}");
    assert!(findings.iter().all(Finding::is_blocking));
}

#[test]
fn a_block_is_named_behind_its_fence() {
    for info in [
        "rust src/lib.rs",
        "src/lib.rs",
        "./src/lib.rs",
        "rust:src/lib.rs",
        "rust path=src/lib.rs",
        "rust title=\"src/lib.rs\"",
        "rust file='src/lib.rs' linenums=1",
        "{rust filename=\"src/lib.rs\"}",
        "rust, name=src/lib.rs",
    ] {
        check(&format!("Here:\n```{info}\na\n```\nDone."), None, &[("src/lib.rs", "a\n")]);
    }
}

#[test]
fn a_block_is_named_by_the_line_before_it() {
    for line in [
        "`src/lib.rs`",
        "`src/lib.rs`:",
        "**src/lib.rs**",
        "**`src/lib.rs`:**",
        "### src/lib.rs",
        "#### `src/lib.rs`",
        "File: src/lib.rs",
        "**File:** `src/lib.rs`",
        "file path: src/lib.rs",
        "1. `src/lib.rs`",
        "src/lib.rs:",
        "`src/lib.rs`\n",
    ] {
        check(&format!("Here:\n\n{line}\n```rust\na\n```"), None, &[("src/lib.rs", "a\n")]);
    }
}

#[test]
fn several_named_blocks_are_several_files_and_the_unnamed_ones_are_left_out() {
    let draft = "```toml Cargo.toml\n[package]\n```\nRun it:\n```sh\ncargo run\n```\n~~~~rust src/main.rs\n~~~\nfn main() {}\n~~~~\n";
    check(draft, Some("x"), &[("Cargo.toml", "[package]\n"), ("src/main.rs", "~~~\nfn main() {}\n")]);
    let files = lay_out(draft, None, &Globs::default()).unwrap();
    assert_eq!(files.line_in_draft(Path::new("src/main.rs"), 2), Some(10));
    assert_eq!(files.line_in_draft(Path::new("nowhere"), 2), None);
}

#[test]
fn a_draft_without_names_is_the_default_file() {
    check("print(1)\n", Some("app.py"), &[("app.py", "print(1)\n")]);
    check("Sure!\n```python\nprint(1)\n```\nEnjoy.", Some("app.py"), &[("app.py", "print(1)\n")]);
    check("```python linenums\nprint(1)", Some("app.py"), &[("app.py", "print(1)")]);
    check("```python title=\"The answer\"\nx\n```", Some("app.py"), &[("app.py", "x\n")]);
    check("```vb.net\nx\n```", Some("app.vb"), &[("app.vb", "x\n")]);
    check("See https://a.b/c.d\n```\nx\n```", Some("app.py"), &[("app.py", "x\n")]);
}

#[test]
fn the_blocks_of_a_markdown_file_are_its_own() {
    let text = "# Title\n\n```sh src/run.sh\ncargo run\n```\n\n```sh\nls\n```\n";
    check(text, Some("README.md"), &[("README.md", text)]);
    check(
        "````md\n# Title\n```\na\n```\n````\n",
        Some("README.md"),
        &[("README.md", "# Title\n```\na\n```\n")],
    );
}

#[test]
fn what_has_no_name_is_refused() {
    check_refused("print(1)", None, &[], &[("no-file", 0)]);
    check_refused("```\na\n```\n\n```\nb\n```\n", Some("app.py"), &[], &[("unnamed-files", 5)]);
}

#[test]
fn a_path_that_could_lead_elsewhere_is_refused() {
    for path in [
        "/etc/passwd",
        "../up.rs",
        "src/../../up.rs",
        "src/./a.rs",
        "src//a.rs",
        "src/",
        "a\\b.rs",
        "C:/a.rs",
        "~/a.rs",
        "a\u{7f}/b.rs",
        "path=\"\"",
        "path=\" a.rs\"",
        "path=\"nul\0.rs\"",
    ] {
        check_refused(&format!("text\n```rust {path}\na\n```\n"), None, &[], &[("unsafe-path", 2)]);
    }
}

#[test]
fn a_path_is_given_once_and_is_a_file_or_a_folder() {
    check_refused("```a.rs\n1\n```\n```./a.rs\n2\n```", None, &[], &[("duplicate-file", 4)]);
    check_refused("```src/a.rs\n1\n```\n```src/a.rs/b\n2\n```", None, &[], &[("unsafe-path", 4)]);
    check_refused("```src/a.rs/b\n1\n```\n```src/a.rs\n2\n```", None, &[], &[("unsafe-path", 4)]);
}

#[test]
fn a_protected_file_is_refused_however_it_is_written() {
    for (pattern, path) in [
        ("tests/**", "tests/a.rs"),
        ("tests/**", "./tests/deep/a.rs"),
        ("tests", "tests/a.rs"),
        ("tests/", "sub/tests/a.rs"),
        ("/tests", "tests/a.rs"),
        ("tests/**", "Tests/A.rs"),
        ("*_test.py", "deep/down/app_test.py"),
        ("tests/*.rs", "tests/a.rs"),
        ("Cargo.{toml,lock}", "Cargo.lock"),
    ] {
        check_refused(&format!("```{path}\na\n```\n"), None, &[pattern], &[("protected-file", 1)]);
    }
    let protected = Globs::new(["tests/**", "/build.rs"]).unwrap();
    assert!(!protected.holds(Path::new("src/tests.rs")));
    assert!(!protected.holds(Path::new("sub/build.rs")));
    check_refused("a", Some("tests/a.rs"), &["tests"], &[("protected-file", 1)]);
}

#[test]
fn patterns_are_read_from_a_list_and_a_bad_one_is_named() {
    let globs: Globs = serde_json::from_str(r#"["tests/**"]"#).unwrap();
    assert!(globs.holds(Path::new("tests/a.rs")));
    assert_eq!(serde_json::to_string(&globs).unwrap(), r#"["tests/**"]"#);
    for bad in ["a[", "", "/"] {
        let error = Globs::new([bad]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{bad}` is not a pattern")), "{error}");
    }
}

proptest! {
    #[test]
    fn every_file_that_is_laid_out_stays_in_its_folder(
        draft in "((```|~~~~|`a.b`\n|\\.\\./|[ab/.\\\\]|path=|\n|\"| |é|\0){0,12}\n){0,6}",
    ) {
        if let Ok(files) = lay_out(&draft, Some("main.rs"), &Globs::default()) {
            for file in &files {
                prop_assert!(file.path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
                prop_assert!(draft.contains(&file.text));
            }
        }
    }
}
