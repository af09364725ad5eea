//! A reducer is a word, not a text.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state("append")]
    critiques: Vec<String>,
}

fn main() {}
