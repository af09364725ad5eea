//! The commands that work: run, resume, rerun, fork, cancel, answers, check, init; as people and programs meet them.
//!
//! `program` starts redraft in a folder of its own, `server` is a provider on loopback that counts what it is asked.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod program;
mod server;
mod transcript;

mod answers;
mod batch;
mod configuration;
mod crash;
mod examples;
mod exits;
mod going_on;
mod output;
