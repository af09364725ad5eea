//! What the engine promises to workflows and to those who run them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod bad_input;
mod cancel;
mod fork;
mod gates;
mod parallel;
mod races;
mod resume;
mod steps;
mod support;
mod time;
mod views;
