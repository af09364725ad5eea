//! The derive itself is missing.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Essay {
    topic: String,
}

fn run<S: State>(_: S) {}

fn main() {
    run(Essay { topic: "tides".to_owned() });
}
