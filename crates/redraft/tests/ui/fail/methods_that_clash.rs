//! Two fields would get a method of the same name.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    append_critiques: bool,
    #[state(append)]
    critiques: Vec<String>,
}

fn main() {}
