//! Every store keeps its promises, and the SQLite one survives what happens to files.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod conformance;
mod damage;
mod locks;
mod messages;
mod processes;
mod support;
