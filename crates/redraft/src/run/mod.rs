//! Running: the engine that starts, drives, resumes, cancels and forks runs, and [`Ctx`], the only door for user code.
//!
//! Reading order: [`ctx`] is what a workflow sees, [`step`] and its neighbours what each call does, `live` the run
//! while it is being driven, `replay` how a journal answers instead of the world, `engine` who drives and when.
//!
//! Invariants: only this module appends to a journal; a step's result reaches the workflow only after it is on disk;
//! user code never sees a half-broken engine (when the store fails or the journal diverges, the workflow's future is
//! dropped where it stands, and the run can be resumed).

mod ctx;
mod definition;
mod drive;
mod engine;
mod error;
mod faults;
mod fork;
mod handle;
mod live;
mod look;
mod mail;
mod parallel;
mod replay;
mod resume;
mod step;
mod turns;

pub use self::ctx::{Ctx, LoopEnd, LoopEnded};
pub(crate) use self::definition::Boxed;
pub use self::definition::{Definition, Flow, flow};
pub use self::engine::{Engine, EngineBuilder, Start};
pub use self::error::Error;
pub use self::faults::{Faults, When};
pub use self::fork::{ForkAt, ForkPlan};
pub use self::handle::{Events, RunHandle};
pub use self::mail::Delivered;
pub use self::step::{Backoff, Call, Policy, Step};
