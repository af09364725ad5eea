//! `redraft init`: a spec to begin with, one that runs as it is and needs no key.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::print;
use crate::examples::{EXAMPLES, Example};
use crate::live::say;
use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// Writes an example to begin with. It runs as it is, with scripted models and without a key.
#[derive(clap::Args)]
pub(crate) struct Init {
    /// The folder to put it into [default: the example's name]
    name: Option<PathBuf>,
    /// Which example; --list shows them
    #[arg(long, default_value = "blog-opening", value_name = "NAME")]
    example: String,
    /// Lists the examples
    #[arg(long)]
    list: bool,
}

impl Init {
    pub(crate) fn run(&self, _: &Settings) -> Result<ExitCode, Trouble> {
        if self.list {
            let lines: Vec<String> =
                EXAMPLES.iter().map(|example| format!("{:<18} {}", example.name, example.about)).collect();
            return Ok(print(&lines.join("\n")));
        }
        let Some(example) = EXAMPLES.iter().find(|example| example.name == self.example) else {
            let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
            return Err(Trouble::new(Exit::Usage, format!("there is no example `{}`", self.example))
                .hint(format!("there are: {}", names.join(", "))));
        };
        let folder = self.name.clone().unwrap_or_else(|| PathBuf::from(example.name));
        write(example, &folder)?;
        let spec = folder.join("spec.yaml");
        say(&format!("{} is there. Run it: redraft run {}", folder.display(), spec.display()));
        print(&spec.display().to_string());
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the files of an example. What is there already is never overwritten.
fn write(example: &Example, folder: &Path) -> Result<(), Trouble> {
    for (name, _) in example.files {
        let path = folder.join(name);
        if path.exists() {
            return Err(Trouble::new(Exit::Usage, format!("`{}` is there already", path.display()))
                .hint("name another folder: redraft init NAME"));
        }
    }
    for (name, text) in example.files {
        let path = folder.join(name);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| {
            Trouble::new(Exit::Configuration, format!("`{}` cannot be written: {error}", path.display()))
        })?;
    }
    Ok(())
}
