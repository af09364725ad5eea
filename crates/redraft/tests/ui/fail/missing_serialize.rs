//! A derive is missing.

use redraft::State;
use serde::Deserialize;

#[derive(Clone, Deserialize, State)]
struct Essay {
    topic: String,
}

fn main() {}
