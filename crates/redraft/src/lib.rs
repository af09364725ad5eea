//! Iterative refinement made real: a model drafts, evidence judges, the draft is revised where it is wrong, until it is
//! proven good enough or a limit is reached. Every step is journaled, so nothing is lost and nothing is paid for twice.
//!
//! The loop is [`refine`]; what judges drafts is [`verify`]; what writes them is [`llm`]. Below them is a durable core, in
//! which any workflow survives `kill -9` at any point, resumes at the exact step and shows itself as a tree.
//!
//! ```
//! use redraft::{Ctx, Engine, Failure, flow, store::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let report = flow("report", |ctx: Ctx, topic: String| async move {
//!     // Each step runs once. After a crash its result comes from the journal.
//!     let draft = ctx.step("draft", || async { Ok::<_, Failure>(format!("On {topic}.")) }).await?;
//!     ctx.group("polish").step("proofread", || async { Ok::<_, Failure>(draft.to_uppercase()) }).await
//! });
//!
//! let engine = Engine::on(MemoryStore::new()).workflow(report.clone()).open().await?;
//! let run = engine.start(&report, "tides".to_owned()).await?;
//! assert_eq!(run.outcome().await?.into_output()?, "ON TIDES.");
//! println!("{}", engine.tree(run.run()).await?);
//! # Ok(())
//! # }
//! ```
//!
//! Where to go on: [`Ctx`] is all a workflow sees; [`workflow::Workflow`] is the typed builder with loops, branches and
//! gates; [`Engine`] starts, resumes, cancels and forks; [`store::SqliteStore`] is the store for real work; [`llm`] has
//! the models.

pub mod llm;
pub mod refine;
pub mod sandbox;
pub mod spec;
pub mod store;
pub mod verify;
pub mod view;
pub mod workflow;

mod clock;
mod explain;
mod failure;
mod fingerprint;
mod gate;
mod id;
mod journal;
mod money;
mod outcome;
mod path;
mod run;
mod spend;
mod suggest;

pub use self::clock::{BadTimestamp, Clock, ManualClock, Pause, SystemClock, Timestamp};
pub use self::explain::{codes, explain};
pub use self::failure::{Failure, Fault, Retry};
pub use self::fingerprint::Fingerprint;
pub use self::gate::{Answer, Question};
pub use self::id::{BadId, DriverId, MessageId, RunId};
pub use self::journal::Error as JournalError;
pub use self::outcome::{Conclusion, Ending, Outcome, Status, Stop};
pub use self::path::{BadName, MAX_NAME, Path, check_name};
pub use self::run::{
    Backoff, Call, Ctx, Definition, Delivered, Engine, EngineBuilder, Error, Events, Faults, Flow, ForkAt,
    ForkPlan, LoopEnd, LoopEnded, Policy, RunHandle, Start, Step, When, flow,
};
pub use self::workflow::State;

/// The README's examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So do those of the guides.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/library.md")]
#[doc = include_str!("../../../docs/guides/verifiers.md")]
struct Guides;

/// For the code that derives write.
#[doc(hidden)]
pub mod __private {
    pub use serde;
}
