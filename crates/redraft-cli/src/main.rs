//! The command line. `commands` has one file per command; `settings` is what they all go by, `trouble` what they say
//! when something goes wrong, `terminal` how they look. `bench` holds what `redraft bench` measures.
//!
//! Standard output is data, standard error is for people.

mod bench;
mod chosen;
mod commands;
mod draw;
mod ending;
mod findings;
mod keys;
mod settings;
mod terminal;
mod text;
mod trouble;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

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
    #[command(visible_alias = "ls")]
    List(commands::list::List),
    Show(commands::show::Show),
    Diff(commands::diff::Diff),
    Watch(commands::watch::Watch),
    Explain(commands::explain::Explain),
    Models(commands::models::Models),
    Doctor(commands::doctor::Doctor),
    Completions(commands::completions::Completions),
    #[command(hide = true)]
    Man(commands::completions::Man),
    /// Measures this machine's disk and the engine on it; prints one JSON line
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let Cli { globals, command } = Cli::parse();
    let done = Settings::load(&globals).and_then(|settings| match command {
        Command::List(list) => list.run(&settings),
        Command::Show(show) => show.run(&settings),
        Command::Diff(diff) => diff.run(&settings),
        Command::Watch(watch) => watch.run(&settings),
        Command::Explain(explain) => explain.run(&settings),
        Command::Models(models) => models.run(&settings),
        Command::Doctor(doctor) => doctor.run(&settings),
        Command::Completions(completions) => Ok(completions.run(Cli::command())),
        Command::Man(man) => man.run(Cli::command()),
        Command::Bench(bench) => Ok(bench.run()),
    });
    done.unwrap_or_else(Trouble::report)
}
