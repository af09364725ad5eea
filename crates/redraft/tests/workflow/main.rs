//! Typed workflows: what each node does, what is refused, and how it is drawn.

mod diagram;
mod failure;
mod nodes;
mod refused;
mod seed_page;
mod support;
