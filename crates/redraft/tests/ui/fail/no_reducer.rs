//! The attribute without a word in it.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state]
    topic: String,
    #[state()]
    draft: String,
    #[state(,)]
    score: f64,
}

fn main() {}
