//! The generated code passes every lint a careful user may deny.

#![deny(
    future_incompatible,
    let_underscore,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    nonstandard_style,
    rust_2018_idioms,
    rust_2021_compatibility,
    rust_2024_compatibility,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    unsafe_code,
    unused,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    warnings
)]
#![forbid(unsafe_op_in_unsafe_fn)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A log of its own kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log(Vec<String>);

impl redraft::workflow::Append for Log {
    type Item = String;

    fn append_item(&mut self, item: String) {
        self.0.push(item);
    }

    fn append_all(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }
}

/// An essay.
#[derive(Clone, Debug, Serialize, Deserialize, redraft::State)]
pub struct Essay<T> {
    /// What it is about.
    pub topic: T,
    /// How good it is.
    pub score: f64,
    /// What was said about it.
    #[state(append)]
    pub critiques: Vec<String>,
    /// What happened to it.
    #[state(append)]
    pub log: Log,
    /// What is known.
    #[state(merge)]
    pub facts: BTreeMap<String, T>,
    #[deprecated]
    #[state(append)]
    unread: Vec<String>,
    r#type: u8,
}

/// Small enough to be copied.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, redraft::State)]
pub struct Small {
    /// A number.
    pub number: u8,
}

#[derive(Clone, Debug, Serialize, Deserialize, redraft::State)]
struct Hidden {
    secret: String,
    #[state(append)]
    log: Log,
}

fn main() {
    let hidden = Hidden { secret: String::new(), log: Log::default() };
    println!("{hidden:?}");
}
