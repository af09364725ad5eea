//! The one name that is taken.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Gate {
    and: bool,
}

fn main() {}
