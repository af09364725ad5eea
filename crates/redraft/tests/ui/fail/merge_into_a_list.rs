//! A list is appended to, not merged.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(merge)]
    critiques: Vec<String>,
}

fn main() {}
