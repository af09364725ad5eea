//! A derive is missing.

use redraft::State;
use serde::Serialize;

#[derive(Clone, Serialize, State)]
struct Essay {
    topic: String,
}

fn main() {}
