//! The command line. `commands` has one file per command; `settings` is what they all go by, `trouble` what they say
//! when something goes wrong, `terminal` how they look. `bench` holds what `redraft bench` measures.
//!
//! Standard output is data, standard error is for people.

mod bench;
mod chosen;
mod commands;
mod config;
mod document;
mod draw;
mod driving;
mod ended;
mod ending;
mod environment;
mod examples;
mod findings;
mod github;
mod interrupt;
mod keys;
mod live;
mod local;
mod makers;
mod report;
mod settings;
#[cfg(test)]
mod shapes;
mod terminal;
mod text;
mod trouble;
mod weights;
mod work;

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
    /// Runs a spec: drafts, judges and revises until a draft is good enough
    Run(Box<commands::run::Run>),
    /// Takes a run up where it stopped; only what has not finished is paid for
    Resume(commands::resume::Resume),
    /// Starts a new run with the spec and input of another
    Rerun(commands::rerun::Rerun),
    /// Starts a new run that keeps what another had done before a step
    Fork(commands::fork::Fork),
    /// Asks a run to stop for good
    Cancel(commands::cancel::Cancel),
    /// Says yes to a run that waits for you
    Approve(commands::answer::Approve),
    /// Says no to a run that waits for you
    Reject(commands::answer::Reject),
    /// Hands a draft of your own to a run that waits for you
    Edit(commands::answer::Edit),
    /// Looks at spec files and shows every mistake
    Check(commands::check::Check),
    /// Writes an example to begin with
    Init(commands::init::Init),
    #[command(visible_alias = "ls")]
    List(commands::list::List),
    Show(commands::show::Show),
    Diff(commands::diff::Diff),
    Watch(commands::watch::Watch),
    Export(commands::export::Export),
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
    trouble::on_panic();
    let Cli { globals, command } = Cli::parse();
    let done = Settings::load(&globals).and_then(|settings| match command {
        Command::Run(run) => run.run(&settings),
        Command::Resume(resume) => resume.run(&settings),
        Command::Rerun(rerun) => rerun.run(&settings),
        Command::Fork(fork) => fork.run(&settings),
        Command::Cancel(cancel) => cancel.run(&settings),
        Command::Approve(approve) => approve.run(&settings),
        Command::Reject(reject) => reject.run(&settings),
        Command::Edit(edit) => edit.run(&settings),
        Command::Check(check) => check.run(&settings),
        Command::Init(init) => init.run(&settings),
        Command::List(list) => list.run(&settings),
        Command::Show(show) => show.run(&settings),
        Command::Diff(diff) => diff.run(&settings),
        Command::Watch(watch) => watch.run(&settings),
        Command::Export(export) => export.run(&settings),
        Command::Explain(explain) => explain.run(&settings),
        Command::Models(models) => models.run(&settings),
        Command::Doctor(doctor) => doctor.run(&settings),
        Command::Completions(completions) => Ok(completions.run(Cli::command())),
        Command::Man(man) => man.run(Cli::command()),
        Command::Bench(bench) => Ok(bench.run()),
    });
    done.unwrap_or_else(Trouble::report)
}
