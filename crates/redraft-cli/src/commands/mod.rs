//! One file per command: its flags, and what it prints.

pub(crate) mod answer;
mod batch;
pub(crate) mod bench;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
mod dry_run;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod models;
mod prices;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod watch;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use crate::trouble::{Exit, Trouble};

/// Exit codes that mean the same for every command.
pub(crate) const USAGE: u8 = 2;
pub(crate) const FAILED: u8 = 4;

/// Writes data for programs, and for people who read it: to standard output.
pub(crate) fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read us has gone away; there is nobody left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes one JSON object on a line: to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> ExitCode {
    json(value).map_or_else(Trouble::report, |text| print(&text))
}

/// Returns JSON that gives no orders to a terminal: what JSON itself lets pass is escaped too.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Trouble> {
    let text = serde_json::to_string(value).map_err(|error| {
        Trouble::new(Exit::Bug, format!("what was found could not be written as JSON: {error}"))
    })?;
    let obeyed =
        |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(obeyed) {
        return Ok(text);
    }
    let shown = text.chars().map(|c| if obeyed(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() });
    Ok(shown.collect())
}

/// Writes a text as it is, with a line break at its end: to standard output. A terminal is given no orders by it.
pub(crate) fn print_raw(words: &str) -> ExitCode {
    if std::io::stdout().is_terminal() {
        return print(&crate::text::lines(words).collect::<Vec<_>>().join("\n"));
    }
    print(words.strip_suffix('\n').unwrap_or(words))
}

/// Tells people something: to standard error.
pub(crate) fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Says what went wrong and what to do next: to standard error.
pub(crate) fn fail(exit: u8, message: &str, hint: Option<&str>) -> ExitCode {
    let mut err = std::io::stderr();
    let _ = writeln!(err, "error: {message}");
    if let Some(hint) = hint {
        let _ = writeln!(err, "  next: {hint}");
    }
    ExitCode::from(exit)
}

/// Runs what a command does until it is done.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|error| Trouble::new(Exit::Bug, format!("no runtime could be made: {error}")))?;
    runtime.block_on(work)
}
