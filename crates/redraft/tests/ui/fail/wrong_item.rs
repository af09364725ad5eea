//! The item's type is said plainly.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Critique {
    text: String,
}

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append)]
    critiques: Vec<Critique>,
}

fn main() {
    let _ = Essay::update().append_critiques("too short");
}
