//! An option cannot grow at its end.

use redraft::State;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, State)]
struct Essay {
    #[state(append)]
    draft: Option<String>,
}

fn main() {}
