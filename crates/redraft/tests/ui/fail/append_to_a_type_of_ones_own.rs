//! The type could learn it, and the message says how.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Critique {
    text: String,
}

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append)]
    critique: Critique,
}

fn main() {}
