//! An enum has no fields that an update could change.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
enum Phase {
    Drafting,
    Judging,
}

fn main() {}
