//! The methods of an update are named after the fields, and here they have no names.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay(String, f64);

fn main() {}
