//! A program as judge: its exit code decides, and what it says is the critique.
//!
//! The draft becomes a file, standard input, or files laid over a copy of a folder; the program runs on it in the
//! sandbox. What compilers and test runners say is turned into findings with a place. A program that could not be run
//! gives no verdict.

mod config;
mod scratch;

use std::collections::HashSet;

use serde_json::{Value, json};

pub use self::config::{CommandConfig, Held, Line, Switch};
use self::scratch::Scratch;
use super::files::{self, Files};
use super::output;
use super::{Case, Cost, Evidence, Finding, Place, Position, Severity, Verdict, Verifier, Verifying};
use crate::failure::Failure;
use crate::run::{Ctx, Step};
use crate::sandbox::{Containment, Environment, Exit, Job, Ran, Sandbox};

/// Runs a program on drafts.
#[derive(Clone, Debug)]
pub struct Command {
    config: CommandConfig,
    sandbox: Sandbox,
    path: Option<std::ffi::OsString>,
    /// Files of ours that are laid over everything: tests, a manifest. A draft may not write them.
    fixed: Vec<(String, String)>,
    demand: Option<String>,
    /// What shows that tests were run, and run to their end: an exit code can be had for less.
    proof: Option<fn(&str) -> bool>,
}

impl Command {
    /// Makes a verifier of a program, on the machine that `environment` describes.
    #[must_use]
    pub fn new(config: CommandConfig, environment: &Environment) -> Self {
        let sandbox = config.held.sandbox(environment);
        let path = environment.get("PATH").map(ToOwned::to_owned);
        Self { config, sandbox, path, fixed: Vec::new(), demand: None, proof: None }
    }

    /// Lays a file of its own over everything else; a draft may not write it.
    pub(super) fn fixed(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.fixed.push((path.into(), text.into()));
        self
    }

    pub(super) fn demanding(mut self, words: impl Into<String>) -> Self {
        self.demand = Some(words.into());
        self
    }

    /// Counts success only if the output shows that the tests were run.
    pub(super) fn proven_by(mut self, proof: fn(&str) -> bool) -> Self {
        self.proof = Some(proof);
        self
    }

    async fn judge(&self, case: &Case) -> Result<Verdict, Failure> {
        let laid = match self.lay_out(&case.draft) {
            Ok(laid) => laid,
            Err(findings) => return Ok(Verdict::of(findings)),
        };
        self.look_for_program()?;
        let scratch =
            Scratch::new(self.config.folder.as_deref(), &laid, &self.fixed, &self.config.protected).await?;
        let scratch = match scratch {
            Ok(scratch) => scratch,
            Err(finding) => return Ok(Verdict::of([finding])),
        };
        let mut job = match &self.config.run {
            Line::Shell(line) => Job::shell(line, scratch.path()),
            Line::Program(words) => {
                let (program, arguments) = words.split_first().ok_or_else(nothing_to_run)?;
                Job::new(program, scratch.path()).arguments(arguments)
            }
        };
        if self.config.stdin {
            job = job.stdin(case.draft.as_bytes());
        }
        let ran = self.sandbox.run(&job).await?;
        let mut found = self.found(&ran, &laid, &scratch);
        found.extend(scratch.tampered().await?.into_iter().map(|path| {
            let words = format!("`{path}` was changed while the draft ran, and it is protected");
            Finding::new("protected-file", words).about(path)
        }));
        let verdict = Verdict::of(found);
        Ok(match ran.contained {
            Containment::Off => verdict.warning("the program ran without a sandbox, as the spec says"),
            _ => verdict,
        })
    }

    fn lay_out(&self, draft: &str) -> Result<Files, Vec<Finding>> {
        if self.config.stdin && self.config.file.is_none() && self.config.folder.is_none() {
            return Ok(Files::default());
        }
        files::lay_out(draft, self.config.file.as_deref().or(Some(DEFAULT_FILE)), &self.config.protected)
    }

    /// A shell says by an exit code that there is no such program, and so does a draft that calls one. To tell the two
    /// apart, the program is looked for before.
    fn look_for_program(&self) -> Result<(), Failure> {
        let Line::Shell(line) = &self.config.run else { return Ok(()) };
        let Some(word) = line.split_whitespace().next() else { return Err(nothing_to_run()) };
        let plain = word.chars().all(|c| c.is_alphanumeric() || "._-+".contains(c));
        let is_builtin = BUILTINS.contains(&word);
        let found = || {
            let path = self.path.as_deref().unwrap_or_default();
            std::env::split_paths(path).any(|folder| folder.join(word).is_file())
        };
        if plain && !is_builtin && !found() {
            let message = format!("there is no program `{word}` in PATH");
            return Err(Failure::terminal("program-not-found", message)
                .with_hint(format!("install `{word}`, or correct the command")));
        }
        Ok(())
    }

    /// What the program says is wrong.
    fn found(&self, ran: &Ran, laid: &Files, scratch: &Scratch) -> Vec<Finding> {
        let (out, err) = (ran.stdout.text(), ran.stderr.text());
        let mut found = match ran.exit {
            exit if exit.success() && self.proof.is_some_and(|proves| !proves(&out)) => {
                let message =
                    "the program ended well, but nothing shows that the tests were run to their end";
                vec![
                    Finding::new("tests-not-run", message)
                        .about("tests")
                        .evidence(output::tail(&out, &err).evidence.unwrap_or_default())
                        .suggest("leave the end of the program to the tests: do not exit"),
                ]
            }
            exit if exit.success() => {
                let mut minor = output::findings(self.config.format, &out, &err);
                // It says itself that all is well: what else it says is a remark, and the rest of its words are none.
                minor.retain(|finding| finding.rule != "output");
                minor.into_iter().map(|finding| finding.severity(Severity::Minor)).collect()
            }
            Exit::Code { .. } | Exit::Signal { .. } => {
                let mut found = output::findings(self.config.format, &out, &err);
                if !found.iter().any(Finding::is_blocking) {
                    found.push(output::tail(&out, &err));
                }
                found
            }
            ended => vec![
                Finding::new("ended", ended.to_string())
                    .about("ended")
                    .evidence(output::tail(&out, &err).evidence.unwrap_or_default()),
            ],
        };
        output::relative_to(scratch.path(), &mut found);
        place_in_draft(laid, &mut found);
        // A compiler that builds the same file twice says everything twice.
        let mut seen = HashSet::new();
        found.retain(|finding| seen.insert((finding.rule.clone(), finding.to_string())));
        found
    }
}

/// The file that a draft becomes if nothing is said.
const DEFAULT_FILE: &str = "draft.txt";

/// Words that every shell knows by itself.
const BUILTINS: &[&str] = &[
    ".", "[", "cd", "command", "echo", "eval", "exec", "exit", "export", "for", "if", "printf", "set",
    "test", "true", "false", "until", "while",
];

fn nothing_to_run() -> Failure {
    Failure::terminal("program-not-found", "the command is empty")
}

/// If the draft is one file, its findings are at the lines of the draft itself.
fn place_in_draft(laid: &Files, findings: &mut [Finding]) {
    let mut files = laid.iter();
    let (Some(only), None) = (files.next(), files.next()) else { return };
    for finding in findings {
        if let Some(Place::Span { file, start, end }) = &mut finding.place
            && file.as_deref().is_some_and(|file| std::path::Path::new(file) == only.path)
        {
            *file = None;
            for position in [Some(start), end.as_mut()].into_iter().flatten() {
                let line = laid.line_in_draft(&only.path, position.line).unwrap_or(position.line);
                *position = Position { line, ..*position };
            }
        }
    }
}

impl Verifier for Command {
    fn evidence(&self) -> Evidence {
        Evidence::Sound
    }

    fn cost(&self) -> Cost {
        Cost::Program
    }

    fn describe(&self) -> Value {
        json!({ "command": self.config, "fixed": self.fixed })
    }

    fn demand(&self) -> String {
        self.demand.clone().unwrap_or_else(|| match &self.config.run {
            Line::Shell(line) => format!("`{line}` succeeds on it"),
            Line::Program(words) => format!("`{}` succeeds on it", words.join(" ")),
        })
    }

    fn verify<'a>(&'a self, ctx: &'a Ctx, case: &'a Case) -> Verifying<'a> {
        Box::pin(async move {
            let step = Step::named("run").input(&Verifier::describe(self)).input(&case.draft);
            ctx.step(step, || self.judge(case)).await
        })
    }
}
