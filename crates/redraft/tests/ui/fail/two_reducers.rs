//! A field cannot be changed in two ways.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append, merge)]
    critiques: Vec<String>,
    #[state(append)]
    #[state(append)]
    scores: Vec<f64>,
}

fn main() {}
