//! What the engine promises to workflows and to those who run them.

mod bad_input;
mod cancel;
mod fork;
mod gates;
mod parallel;
mod races;
mod resume;
mod steps;
mod support;
mod time;
mod views;
