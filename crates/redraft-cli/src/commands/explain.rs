//! `redraft explain CODE`

use std::process::ExitCode;

use super::{USAGE, fail, print};

/// Explains an error code.
#[derive(clap::Args)]
pub(crate) struct Explain {
    /// The code, as an error message shows it; without one, all codes are listed
    code: Option<String>,
}

impl Explain {
    pub(crate) fn run(&self) -> ExitCode {
        let Some(code) = &self.code else {
            return print(&redraft::codes().collect::<Vec<_>>().join("\n"));
        };
        match redraft::explain(code) {
            Some(page) => print(page.trim_end()),
            None => fail(USAGE, &format!("there is no error code `{code}`"), Some("redraft explain")),
        }
    }
}
