//! Crashes: at every prefix of a journal, and by `kill -9` at random moments.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod every_prefix;
mod kill;
mod refinement;
mod support;
mod unhappy_prefixes;
