//! A reducer belongs to one field.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
#[state(append)]
struct Essay {
    critiques: Vec<String>,
}

fn main() {}
