//! The command line. `commands` has one file per command; `settings` is what they all go by, `trouble` what they say
//! when something goes wrong, `terminal` how they look. `bench` holds what `redraft bench` measures.
//!
//! Standard output is data, standard error is for people.

mod bench;
mod commands;
mod settings;
mod terminal;
mod trouble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::settings::{Globals, Settings};
use self::trouble::Trouble;

/// Refines what models write until it is proven good enough: draft, verify, revise, with a journal that survives
/// everything.
#[derive(Parser)]
#[command(name = "redraft", version, arg_required_else_help = true, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists runs, the newest first
    #[command(visible_alias = "ls")]
    List(commands::list::List),
    /// Explains an error code
    Explain(commands::explain::Explain),
    /// Measures this machine's disk and the engine on it; prints one JSON line
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let Cli { globals, command } = Cli::parse();
    let done = Settings::load(&globals).and_then(|settings| match command {
        Command::List(list) => list.run(&settings),
        Command::Explain(explain) => Ok(explain.run()),
        Command::Bench(bench) => Ok(bench.run()),
    });
    done.unwrap_or_else(Trouble::report)
}
