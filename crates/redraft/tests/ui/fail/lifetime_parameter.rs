//! A state outlives every borrow.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay<'a> {
    topic: &'a str,
}

fn main() {}
