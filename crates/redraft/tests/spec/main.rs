//! Specs: what is refused and how it is said, what runs, and what a run carries.
//!
//! `broken/` holds a file per mistake with what is said about it. After a change of words, write them anew with
//! `REDRAFT_WRITE=1 cargo test -p redraft --test spec`, and read the difference.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod broken;
mod flags;
mod good;
mod input;
mod resume;
mod schema;

use std::path::PathBuf;

/// The files of one of the folders beside this one.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/spec").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// Compares a text with a file, or writes the file where that is asked for.
fn same_as(path: &std::path::Path, text: &str) -> Result<(), String> {
    if std::env::var_os("REDRAFT_WRITE").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    if kept == text {
        return Ok(());
    }
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Err(format!("{name} is out of date. It says:\n{kept}\nand should say:\n{text}"))
}
