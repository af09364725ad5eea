//! Models: every wire format, every way to fail, limits, and that no key is ever shown.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod budget;
mod cassettes;
mod failures;
mod journaled;
mod kill;
mod limits;
mod metered;
mod replies;
mod scripted;
mod server;
mod structured;
