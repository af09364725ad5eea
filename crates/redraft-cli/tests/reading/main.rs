//! Looking at runs with the program, as a person or another program does.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod comparing;
mod exporting;
mod following;
mod listing;
mod machine;
mod naming;
mod shapes;
mod showing;
mod support;
