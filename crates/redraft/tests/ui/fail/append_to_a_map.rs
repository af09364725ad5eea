//! A map is merged, not appended to.

use std::collections::BTreeMap;

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append)]
    facts: BTreeMap<String, String>,
}

fn main() {}
