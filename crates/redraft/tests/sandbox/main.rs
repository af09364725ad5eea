//! Hostile programs, and honest ones, behind every kind of walls that this machine has, as root and as an ordinary user.
//!
//! The programs limit themselves, so that a sandbox that fails does no harm: a thousand processes that end by
//! themselves, two gigabytes of memory, a network that ends at loopback.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod honest;
mod intruders;
mod limits;
mod refusals;
mod support;
mod survivors;
mod users;
