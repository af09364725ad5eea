//! The syntax of `#[doc = "..."]`.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state = "append"]
    critiques: Vec<String>,
    #[state = 3]
    score: f64,
}

fn main() {}
