//! A word from another library.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(operator_add)]
    critiques: Vec<String>,
}

fn main() {}
