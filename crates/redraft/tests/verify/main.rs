//! Verifiers: what they find, where, and what they give when they cannot judge.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod command;
mod facts;
mod human;
mod judge;
mod panel;
mod support;
