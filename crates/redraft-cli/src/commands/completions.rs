//! `redraft completions` and `redraft man`

use std::process::ExitCode;

use clap::Command;

use super::print_raw;
use crate::trouble::{Exit, Trouble};

/// Prints what a shell needs to complete commands.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  redraft completions bash > ~/.local/share/bash-completion/completions/redraft
  redraft completions zsh  > ~/.zfunc/_redraft
  redraft completions fish > ~/.config/fish/completions/redraft.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut command: Command) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "redraft", &mut script);
        print_raw(&String::from_utf8_lossy(&script))
    }
}

/// Prints the manual page of the program, or of one of its commands.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// The command; without one, the program itself
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(&self, mut program: Command) -> Result<ExitCode, Trouble> {
        program.build();
        let command = match &self.command {
            None => program,
            Some(name) => {
                let found = program.get_subcommands().find(|command| command.get_name() == name).cloned();
                let found = found.ok_or_else(|| {
                    Trouble::new(Exit::Usage, format!("there is no command `{name}`")).hint("redraft --help")
                })?;
                let title: &'static str = Box::leak(format!("redraft-{name}").into_boxed_str());
                found.name(title)
            }
        };
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|error| {
            Trouble::new(Exit::Bug, format!("the manual page could not be written: {error}"))
        })?;
        Ok(print_raw(&String::from_utf8_lossy(&page)))
    }
}
