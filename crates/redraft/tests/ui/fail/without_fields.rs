//! Nothing could ever change.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {}

#[derive(Clone, Serialize, Deserialize, State)]
struct Draft();

fn main() {}
