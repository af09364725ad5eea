//! Code that must compile and pass its tests, in Rust and Python; other languages through a command.
//!
//! The tests are ours: they are laid over the draft, a draft that writes them is refused, and one that changes them
//! while it runs is found out.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Error;
use super::command::{Command, CommandConfig, Held, Line};
use super::files::Globs;
use super::output::Format;
use crate::sandbox::Environment;

/// Code that must compile, and pass its tests if there are any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeConfig {
    /// The language.
    pub language: Language,
    /// The tests. In Rust they see the draft as the crate `draft`; in Python as the module `draft`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
    /// How the program is held.
    #[serde(flatten)]
    pub held: Held,
}

/// A language whose tools are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Language {
    /// With `cargo`, without dependencies.
    Rust,
    /// With `python3`; with `pytest` if the tests import it.
    Python,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
        })
    }
}

const MANIFEST: &str =
    "[package]\nname = \"draft\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";

/// Runs test functions and test cases without anything but Python itself.
const RUNNER: &str = include_str!("code/run_tests.py");

/// Runs `pytest` before anything of the draft can be found, and without settings from its folder.
const PYTEST: &str = "import sys\n\
    sys.path = [path for path in sys.path if path]\n\
    import pytest\n\
    sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-c', '/dev/null', '--rootdir', '.', 'test_draft.py']))\n";

/// Says whether every row of tests that began came to its end, and any passed.
fn libtest_ended(output: &str) -> bool {
    let began = output.lines().filter(|line| line.starts_with("running ")).count();
    let ended: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("test result: ok. ")).collect();
    began == ended.len() && ended.iter().any(|counts| !counts.starts_with("0 "))
}

/// Says whether the last line counts tests that passed.
fn some_passed_at_last(output: &str) -> bool {
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    let count = last.split_once(" passed").and_then(|(count, _)| count.rsplit([' ', ',']).next());
    count.and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 0)
}

impl CodeConfig {
    /// Makes the verifier that it describes.
    ///
    /// # Errors
    /// Never with the languages that are known now.
    pub fn verifier(&self, environment: &Environment) -> Result<Command, Error> {
        let config = self;
        let tested = config.tests.is_some();
        let command = match config.language {
            Language::Rust => {
                let verb = if tested { "test" } else { "build" };
                let line =
                    format!("cargo {verb} --quiet --offline --message-format=json --target-dir target");
                let command = Command::new(
                    CommandConfig {
                        file: Some("src/lib.rs".to_owned()),
                        protected: Globs::new([
                            "Cargo.toml",
                            "Cargo.lock",
                            "build.rs",
                            ".cargo",
                            "rust-toolchain",
                            "rust-toolchain.toml",
                            "tests",
                            "benches",
                        ])?,
                        format: Format::Cargo,
                        held: config.held.clone(),
                        ..CommandConfig::shell(line)
                    },
                    environment,
                );
                let command = command.fixed("Cargo.toml", MANIFEST);
                match &config.tests {
                    Some(tests) => command.fixed("tests/protected.rs", tests).proven_by(libtest_ended),
                    None => command,
                }
            }
            Language::Python => {
                let run = match &config.tests {
                    None => vec!["-m", "py_compile", "draft.py"],
                    Some(tests) if tests.contains("pytest") => vec!["-c", PYTEST],
                    // Isolated: the folder of the draft is searched last, so that it cannot stand in for Python's own.
                    Some(_) => vec!["-I", "run_tests.py", "test_draft"],
                };
                let words = ["python3"].into_iter().chain(run).map(str::to_owned).collect();
                let command = Command::new(
                    CommandConfig {
                        run: Line::Program(words),
                        file: Some("draft.py".to_owned()),
                        protected: Globs::new([
                            "test_*.py",
                            "*_test.py",
                            "tests",
                            "conftest.py",
                            "run_tests.py",
                            "pytest.py",
                            "pytest",
                            "_pytest",
                            "pytest.ini",
                            ".pytest.ini",
                            "pyproject.toml",
                            "setup.cfg",
                            "tox.ini",
                            "sitecustomize.py",
                            "usercustomize.py",
                        ])?,
                        format: Format::Auto,
                        held: config.held.clone(),
                        ..CommandConfig::shell("")
                    },
                    environment,
                );
                match &config.tests {
                    Some(tests) => command
                        .fixed("test_draft.py", tests)
                        .fixed("run_tests.py", RUNNER)
                        .proven_by(some_passed_at_last),
                    None => command,
                }
            }
        };
        let words = if tested { "compiles and passes its tests" } else { "compiles" };
        Ok(command.demanding(format!("{} code that {words}", config.language)))
    }
}
