//! The loop: what comes out, when it stops, what it pays for, and what it is told by people.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod budget;
mod hostile_protocols;
mod kept_out;
mod people;
mod protocols;
mod reports;
mod resuming;
mod revising;
mod stalls;
mod stops;
mod support;
