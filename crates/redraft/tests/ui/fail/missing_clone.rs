//! A derive is missing.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, State)]
struct Essay {
    topic: String,
}

fn main() {}
