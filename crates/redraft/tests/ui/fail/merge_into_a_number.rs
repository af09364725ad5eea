//! A number is replaced.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(merge)]
    score: f64,
}

fn main() {}
