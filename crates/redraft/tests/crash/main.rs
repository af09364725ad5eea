//! Crashes: at every prefix of a journal, and by `kill -9` at random moments.

mod every_prefix;
mod kill;
