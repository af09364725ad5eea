//! A reducer has no options.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append = true)]
    critiques: Vec<String>,
    #[state(append(10))]
    scores: Vec<f64>,
}

fn main() {}
