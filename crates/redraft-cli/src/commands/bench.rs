//! `redraft bench NAME`

use std::path::PathBuf;
use std::process::ExitCode;

use super::{FAILED, fail, print};
use crate::bench::{self, Bench as Measured};

/// Measures this machine's disk and the engine on it.
///
/// Every figure is measured with real flushes on the disk that holds --dir, and beside it the raw rate of
/// `fdatasync` in the same run: compare the two, not seconds across machines.
#[derive(clap::Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    name: Name,
    /// Where to put the databases; they are removed afterwards
    #[arg(long, global = true, default_value = ".redraft/bench")]
    dir: PathBuf,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Durable steps per second, many runs at once
    Steps {
        /// How many runs are in flight
        #[arg(long, default_value_t = 1000)]
        runs: usize,
        /// How long to measure
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
    },
    /// Time per durable step of one run alone, against a bare write and fdatasync
    Latency {
        /// How many steps
        #[arg(long, default_value_t = 3000)]
        steps: usize,
    },
    /// Memory and time of runs that wait on a slow model
    Waiting {
        /// How many runs
        #[arg(long, default_value_t = 10_000)]
        runs: usize,
        /// How many steps of one second each
        #[arg(long, default_value_t = 5)]
        steps: u32,
    },
    /// Whether the thousandth iteration costs what the first does
    Growth {
        /// How many iterations
        #[arg(long, default_value_t = 1000)]
        iterations: u32,
    },
    /// Recorded drafts through the loop: how often the last one passes, and how often what redraft returns does
    Traces {
        /// Lines of {"prompt", "rounds": [{"text", "passes"}]}
        file: PathBuf,
    },
    /// How long it takes until unfinished runs are driven again
    Reopen {
        /// How many runs
        #[arg(long, default_value_t = 10_000)]
        runs: usize,
    },
    /// How fast the model inside this binary reads and writes
    #[cfg(feature = "local")]
    Local {
        /// The model: `local:`, or `local:/path/to/model.gguf`
        #[arg(long, default_value = "local:")]
        model: String,
    },
}

impl Bench {
    pub(crate) fn run(&self) -> ExitCode {
        let measured = Measured::in_folder(&self.dir).and_then(|bench| match &self.name {
            Name::Steps { runs, seconds } => bench::steps::measure(&bench, *runs, *seconds),
            Name::Latency { steps } => bench::latency::measure(&bench, *steps),
            Name::Waiting { runs, steps } => bench::waiting::measure(&bench, *runs, *steps),
            Name::Growth { iterations } => bench::growth::measure(&bench, *iterations),
            Name::Traces { file } => bench::traces::measure(file),
            Name::Reopen { runs } => bench::reopen::measure(&bench, *runs),
            #[cfg(feature = "local")]
            Name::Local { model } => bench::local::measure(model),
        });
        match measured {
            Ok(line) => print(&line.to_string()),
            Err(error) => fail(FAILED, &error.to_string(), None),
        }
    }
}
