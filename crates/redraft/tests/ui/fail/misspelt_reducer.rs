//! A slip of the finger.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(apend)]
    critiques: Vec<String>,
    #[state(Merge)]
    facts: std::collections::BTreeMap<String, String>,
}

fn main() {}
