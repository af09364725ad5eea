//! The command line. `commands` has one file per command; `bench` holds what `redraft bench` measures.

mod bench;
mod commands;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "redraft",
    version,
    about = "Durable, iterative refinement of model output",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Explains an error code
    Explain(commands::explain::Explain),
    /// Measures this machine's disk and the engine on it; prints one JSON line
    Bench(commands::bench::Bench),
}

fn main() -> std::process::ExitCode {
    match Cli::parse().command {
        Command::Explain(explain) => explain.run(),
        Command::Bench(bench) => bench.run(),
    }
}
