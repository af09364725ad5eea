//! Everything is said at once.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
#[state(merge)]
struct Essay<'a> {
    #[state(apend)]
    critiques: Vec<String>,
    #[state(append, merge)]
    scores: Vec<f64>,
    and: &'a str,
}

fn main() {}
