//! A union has no fields that an update could change.

use redraft::State;

#[derive(State)]
union Bits {
    whole: u32,
    real: f32,
}

fn main() {}
