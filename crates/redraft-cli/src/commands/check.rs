//! `redraft check SPEC`: every mistake at once, before anything is paid.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use redraft::Fault;
use redraft::spec::{Error, Registry, Spec};
use serde_json::json;

use super::print;
use crate::live::say;
use crate::settings::Settings;
use crate::terminal::tame_painted;
use crate::trouble::{Exit, Trouble};

/// Looks at spec files and shows every mistake with its place. Nobody is asked and nothing is paid.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The spec files; - is standard input
    #[arg(required = true)]
    specs: Vec<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(&self, settings: &Settings) -> Result<ExitCode, Trouble> {
        let colored = settings.color.wanted(&std::io::stderr());
        let mut specs = Vec::new();
        let mut good = true;
        for path in &self.specs {
            let shown = path.display().to_string();
            match read(path) {
                Ok(spec) => {
                    specs.push(
                        json!({ "file": shown, "valid": true, "name": spec.name(), "diagnostics": [] }),
                    );
                    if !self.json {
                        say(&format!("✓ {shown}: `{}` can be run", spec.name()));
                    }
                }
                Err(error) => {
                    good = false;
                    let code = error.code().to_owned();
                    let message = error.to_string();
                    specs.push(json!({
                        "file": shown,
                        "valid": false,
                        "code": code,
                        "message": message,
                        "diagnostics": error.diagnostics(),
                    }));
                    if !self.json {
                        say(tame_painted(&error.render(colored)).trim_end());
                        let count = error.diagnostics().len().max(1);
                        let word = if count == 1 { "mistake" } else { "mistakes" };
                        say(&format!("✗ {shown}: {count} {word}"));
                    }
                }
            }
        }
        if self.json {
            print(&json!({ "valid": good, "specs": specs }).to_string());
        }
        Ok(if good { ExitCode::SUCCESS } else { Exit::Configuration.into() })
    }
}

fn read(path: &Path) -> Result<Spec, Error> {
    let registry = Registry::builtin();
    if path.as_os_str() != "-" {
        return Spec::read(path, &registry);
    }
    let mut text = Vec::new();
    std::io::stdin()
        .read_to_end(&mut text)
        .map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    Spec::parse("<stdin>", &text, Some(Path::new(".")), &registry)
}
