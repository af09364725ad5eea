//! Typed workflows: a state, updates to it, and a chart of named nodes that is checked before it runs.
//!
//! ```
//! use redraft::workflow::{State, Workflow};
//! use redraft::{Engine, Failure, store::MemoryStore};
//! use serde::{Deserialize, Serialize};
//! use std::sync::Arc;
//!
//! #[derive(Clone, Serialize, Deserialize, State)]
//! struct Essay {
//!     topic: String,
//!     draft: String,
//!     score: f64,
//!     #[state(append)]
//!     critiques: Vec<String>,
//! }
//!
//! async fn draft(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
//!     Ok(Essay::update().draft(format!("On {}.", essay.topic)))
//! }
//! async fn critique(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
//!     Ok(Essay::update().score(essay.score + 0.5).append_critiques("be bolder".to_owned()))
//! }
//! async fn refine(essay: Arc<Essay>) -> Result<EssayUpdate, Failure> {
//!     Ok(Essay::update().draft(essay.draft.replace('.', "!")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let workflow = Workflow::<Essay>::named("essay")
//!     .start_with("draft", draft)
//!     .repeat_until("refinement", 5, |essay| essay.score >= 0.9, |body| {
//!         // The exit stands between critique and refine: what comes out has been judged.
//!         body.then("critique", critique).exit_when("good-enough", |essay| essay.score >= 0.9).then("refine", refine)
//!     })
//!     .build()?;
//!
//! let engine = Engine::on(MemoryStore::new()).workflow(workflow.clone()).open().await?;
//! let essay = Essay { topic: "tides".into(), draft: String::new(), score: 0.0, critiques: vec![] };
//! let essay = engine.start(&workflow, essay).await?.outcome().await?.into_output()?;
//! assert_eq!(essay.critiques.len(), 2);
//! assert_eq!(workflow.phases(), ["draft", "refinement/critique", "refinement/good-enough", "refinement/refine"]);
//! # Ok(())
//! # }
//! ```
//!
//! The state itself is never written down, only what each step changes of it: a run costs as much in its thousandth
//! iteration as in its first. Nothing here knows of stores; a workflow runs through the same
//! [`Ctx`](crate::Ctx) as an imperative one.
//!
//! Reading order: `node` says what a chart is made of, `builder` how it is written, `validate` what is refused,
//! `execute` how it runs, `diagram` how it is drawn.

mod builder;
mod diagram;
mod error;
mod execute;
mod node;
mod state;
mod validate;

pub use self::builder::{Body, Branches, Paths, Workflow, WorkflowBuilder};
pub use self::error::{DefinitionError, Problem};
pub use self::node::{Action, At, WithCall, with_call};
pub use self::state::{Append, Change, Merge, State};
