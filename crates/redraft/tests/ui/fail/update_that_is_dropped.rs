//! An update changes nothing by itself.

#![deny(unused_must_use)]

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    topic: String,
}

fn main() {
    Essay::update().topic("tides");
}
