//! Typed workflows: what each node does, what is refused, and how it is drawn.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod diagram;
mod failure;
mod nodes;
mod refused;
mod seed_page;
mod support;
