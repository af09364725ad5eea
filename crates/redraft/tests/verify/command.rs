//! Programs as judges: exit codes, output, places, protected files, and what the sandbox keeps from them.

use redraft::Failure;
use redraft::sandbox::Environment;
use redraft::verify::command::{CommandConfig, Line, Switch};
use redraft::verify::files::Globs;
use redraft::verify::{Case, CodeConfig, Command, Gate, Language, Place, Verdict};
use serde_json::json;

use crate::support::judged;

fn environment() -> Environment {
    Environment::new(std::env::vars_os())
}

async fn run(config: CommandConfig, draft: &str) -> Result<Verdict, Failure> {
    judged(Command::new(config, &environment()), &Case::new("", draft)).await
}

fn line(line: &str) -> CommandConfig {
    CommandConfig::shell(line)
}

#[tokio::test]
async fn the_exit_code_decides_and_the_output_is_the_critique() {
    let passes = run(CommandConfig { stdin: true, ..line("grep -q moon") }, "the moon").await.unwrap();
    assert_eq!((passes.gate, passes.findings.len()), (Gate::Pass, 0));

    let fails = run(line("echo 'no moon in it' >&2; exit 3"), "the sea").await.unwrap();
    assert_eq!(fails.gate, Gate::Fail);
    assert!(fails.findings[0].message.contains("no moon in it"), "{:?}", fails.findings);

    let config = CommandConfig {
        file: Some("draft.c".to_owned()),
        ..line("echo draft.c:2:5: error: no semicolon; exit 1")
    };
    let placed = run(config, "int x;\nint y\n").await.unwrap();
    match &placed.findings[0].place {
        Some(Place::Span { file: None, start, .. }) => assert_eq!((start.line, start.column), (2, Some(5))),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_gives_no_verdict() {
    for run_it in [
        line("no-such-program --now"),
        CommandConfig { run: Line::Program(vec!["no-such-program".to_owned()]), ..line("") },
        line(" "),
    ] {
        let failure = run(run_it, "x").await.unwrap_err();
        assert_eq!(failure.code, "program-not-found", "{failure}");
    }
    // A draft that calls one is another matter: it ran, and failed.
    let config = CommandConfig { file: Some("draft.sh".to_owned()), ..line("sh draft.sh") };
    assert_eq!(run(config, "no-such-program").await.unwrap().gate, Gate::Fail);
}

#[tokio::test]
async fn files_are_laid_over_a_copy_of_a_folder_and_the_tests_stay_ours() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tests")).unwrap();
    std::fs::write(folder.path().join("tests/check.sh"), "grep -q moon text.txt").unwrap();
    let config = CommandConfig {
        folder: Some(folder.path().to_owned()),
        protected: Globs::new(["tests"]).unwrap(),
        ..line("sh tests/check.sh")
    };
    let good = "```text text.txt\nthe moon\n```";
    assert_eq!(run(config.clone(), good).await.unwrap().gate, Gate::Pass);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the folder itself is not touched");

    let cheat = "```text text.txt\nthe sea\n```\n\n```sh tests/check.sh\ntrue\n```";
    let caught = run(config.clone(), cheat).await.unwrap();
    assert_eq!((caught.gate, caught.findings[0].rule.as_str()), (Gate::Fail, "protected-file"));

    // Or by the back door, while it runs.
    let sneaky =
        CommandConfig { run: Line::Shell("sh text.txt; sh tests/check.sh".to_owned()), ..config.clone() };
    let caught = run(sneaky, "```text text.txt\necho true > tests/check.sh\n```").await.unwrap();
    assert_eq!((caught.gate, caught.findings[0].rule.as_str()), (Gate::Fail, "protected-file"));

    let gone = CommandConfig { folder: Some(folder.path().join("gone")), ..config };
    assert_eq!(run(gone, good).await.unwrap_err().code, "folder-missing");
}

#[tokio::test]
async fn a_program_is_held_and_without_walls_the_result_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "s3cret").unwrap();
    let reads = |off: bool| {
        let mut config = line(&format!("cat {}", secret.display()));
        config.held.sandbox = off.then_some(Switch::Off);
        config
    };
    assert_eq!(run(reads(false), "x").await.unwrap().gate, Gate::Fail);
    let free = run(reads(true), "x").await.unwrap();
    assert_eq!(free.gate, Gate::Pass);
    assert!(free.warnings[0].contains("without a sandbox"));

    let mut slow = line("sleep 60");
    slow.held.seconds = Some(1);
    let ended = run(slow, "x").await.unwrap();
    assert!(ended.findings[0].message.contains("out of time"), "{:?}", ended.findings);
}

#[test]
fn off_is_off_however_yaml_reads_it() {
    for word in [json!("off"), json!(false)] {
        let config: CommandConfig =
            serde_json::from_value(json!({ "run": "true", "sandbox": word })).unwrap();
        assert_eq!(config.held.sandbox, Some(Switch::Off));
    }
    assert!(serde_json::from_value::<CommandConfig>(json!({ "run": "true", "sandbox": "of" })).is_err());
}

async fn code(language: Language, tests: Option<&str>, draft: &str) -> Verdict {
    let config = json!({ "language": language, "tests": tests });
    let config: CodeConfig = serde_json::from_value(config).unwrap();
    judged(config.verifier(&environment()).unwrap(), &Case::new("", draft)).await.unwrap()
}

#[tokio::test]
async fn rust_code_must_compile_and_pass_its_tests() {
    let tests = "#[test]\nfn adds() {\n    assert_eq!(draft::add(2, 2), 4);\n}\n";
    let good = code(Language::Rust, Some(tests), "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n").await;
    assert_eq!(good.gate, Gate::Pass, "{:?}", good.findings);

    let wrong =
        code(Language::Rust, Some(tests), "pub fn add(a: u32, b: u32) -> u32 {\n    a - b\n}\n").await;
    assert_eq!(wrong.gate, Gate::Fail);
    assert!(wrong.findings.iter().any(|finding| finding.message.contains("adds")), "{:?}", wrong.findings);

    let broken = code(Language::Rust, None, "```rust\npub fn add(a: u32) -> String {\n    a\n}\n```").await;
    let finding = broken.findings.iter().find(|finding| finding.rule == "E0308").unwrap();
    match &finding.place {
        Some(Place::Span { file: None, start, .. }) => {
            assert_eq!(start.line, 3, "of the draft, with its fence")
        }
        other => panic!("{other:?}"),
    }

    let cheat = "```rust src/lib.rs\npub fn add() {}\n```\n```rust tests/protected.rs\n\n```";
    let caught = code(Language::Rust, Some(tests), cheat).await;
    assert_eq!(caught.findings[0].rule, "protected-file");
}

#[tokio::test]
async fn python_code_must_compile_and_pass_its_tests() {
    let tests = "from draft import add\n\ndef test_adds():\n    assert add(2, 2) == 4\n";
    let good = code(Language::Python, Some(tests), "def add(a, b):\n    return a + b\n").await;
    assert_eq!(good.gate, Gate::Pass, "{:?}", good.findings);
    let wrong = code(Language::Python, Some(tests), "def add(a, b):\n    return a - b\n").await;
    assert_eq!(wrong.gate, Gate::Fail, "{:?}", wrong.findings);
    let cases = "import unittest\nfrom draft import add\n\nclass Adding(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(2, 2), 4)\n";
    assert_eq!(code(Language::Python, Some(cases), "def add(a, b):\n    return 5\n").await.gate, Gate::Fail);
    let broken = code(Language::Python, None, "def add(a, b)\n    return a\n").await;
    match &broken.findings[0].place {
        Some(Place::Span { start, .. }) => assert_eq!(start.line, 1),
        other => panic!("{other:?}: {:?}", broken.findings),
    }
}

#[tokio::test]
async fn a_draft_that_ends_the_tests_before_they_are_over_does_not_pass_them() {
    let tests = "#[test]\nfn adds() {\n    assert_eq!(draft::add(2, 2), 4);\n}\n";
    let quits = "pub fn add(_: u32, _: u32) -> u32 {\n    std::process::exit(0)\n}\n";
    let caught = code(Language::Rust, Some(tests), quits).await;
    assert_eq!((caught.gate, caught.findings[0].rule.as_str()), (Gate::Fail, "tests-not-run"));

    let tests = "from draft import add\n\ndef test_adds():\n    assert add(2, 2) == 4\n";
    for quits in [
        "import os\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "def add(a, b):\n    import os\n    os._exit(0)\n",
    ] {
        let caught = code(Language::Python, Some(tests), quits).await;
        assert_eq!(caught.gate, Gate::Fail, "{quits}: {:?}", caught.findings);
    }
}

#[tokio::test]
async fn tests_of_which_there_are_none_are_not_passed() {
    let none = code(Language::Rust, Some("// later\n"), "pub fn f() {}\n").await;
    assert_eq!(none.findings[0].rule, "tests-not-run", "{:?}", none.findings);
    let none = code(Language::Python, Some("import draft\n"), "x = 1\n").await;
    assert_eq!(none.findings[0].rule, "tests-not-run", "{:?}", none.findings);
}

#[tokio::test]
async fn a_draft_cannot_put_itself_in_the_place_of_what_runs_the_tests() {
    let tests = "from draft import add\n\ndef test_adds():\n    assert add(2, 2) == 4\n";
    let draft = |file: &str, text: &str| {
        format!("```python draft.py\ndef add(a, b):\n    return 5\n```\n\n```python {file}\n{text}\n```\n")
    };
    for file in ["unittest.py", "traceback.py", "inspect.py"] {
        let cheat = draft(file, "import os\nprint('1 passed')\nos._exit(0)");
        assert_eq!(code(Language::Python, Some(tests), &cheat).await.gate, Gate::Fail, "{file}");
    }
    for file in [
        "conftest.py",
        "Conftest.py",
        "pytest.ini",
        "pyproject.toml",
        "setup.cfg",
        "sitecustomize.py",
        "pytest.py",
    ] {
        let caught = code(Language::Python, Some(tests), &draft(file, "")).await;
        assert_eq!(caught.findings[0].rule, "protected-file", "{file}");
    }
    for file in [".cargo/config.toml", "build.rs", "Build.rs", "rust-toolchain.toml", "cargo.toml"] {
        let cheat = format!("```rust src/lib.rs\n\n```\n```toml {file}\n\n```");
        assert_eq!(code(Language::Rust, None, &cheat).await.findings[0].rule, "protected-file", "{file}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_with_links_and_files_that_cannot_be_written_is_copied_without_following_anything() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(elsewhere.path().join("secret"), "s3cret").unwrap();
    symlink(elsewhere.path(), folder.path().join("out")).unwrap();
    symlink(elsewhere.path().join("secret"), folder.path().join("secret")).unwrap();
    let text = folder.path().join("text.txt");
    std::fs::write(&text, "old").unwrap();
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o444)).unwrap();
    let config = |run: &str| CommandConfig { folder: Some(folder.path().to_owned()), ..line(run) };
    let draft = "```text text.txt\nnew\n```\n```text out/secret\nmine\n```";
    let verdict = run(config("grep -q new text.txt && test ! -e secret"), draft).await.unwrap();
    assert_eq!(verdict.gate, Gate::Pass, "{:?}", verdict.findings);
    assert_eq!(std::fs::read_to_string(elsewhere.path().join("secret")).unwrap(), "s3cret");

    std::fs::create_dir(folder.path().join("src")).unwrap();
    for file in ["src", "text.txt/more"] {
        let clash = run(config("true"), &format!("```text path={file}\nx\n```")).await.unwrap();
        assert_eq!((clash.gate, clash.findings[0].rule.as_str()), (Gate::Fail, "unsafe-path"), "{file}");
    }
}
