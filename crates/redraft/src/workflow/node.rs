//! What a chart is made of.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use super::State;
use crate::Ctx;
use crate::failure::Failure;
use crate::gate::{Answer, Question};
use crate::run::{Boxed, Call, LoopEnd, Step};

/// The work of a step: from a state to an update of it.
///
/// An `async` function or closure of the state is one. Implement it for a struct when the step has things to hold
/// (a model, a client) or wants to know about the attempt it is in.
pub trait Action<S: State>: Send + Sync + 'static {
    /// Does the work. Called again for each attempt, so it must be safe to repeat.
    fn run(&self, state: Arc<S>, call: Call) -> impl Future<Output = Result<S::Update, Failure>> + Send;
}

impl<S, F, Fut, E> Action<S> for F
where
    S: State,
    F: Fn(Arc<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S::Update, E>> + Send + 'static,
    E: Into<Failure>,
{
    async fn run(&self, state: Arc<S>, _: Call) -> Result<S::Update, Failure> {
        self(state).await.map_err(Into::into)
    }
}

/// A closure that is told about its attempt; made by [`with_call`].
#[derive(Clone, Copy, Debug)]
pub struct WithCall<F>(F);

/// Makes an action from a closure of the state and the [`Call`].
pub fn with_call<F>(f: F) -> WithCall<F> {
    WithCall(f)
}

impl<S, F, Fut, E> Action<S> for WithCall<F>
where
    S: State,
    F: Fn(Arc<S>, Call) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S::Update, E>> + Send + 'static,
    E: Into<Failure>,
{
    async fn run(&self, state: Arc<S>, call: Call) -> Result<S::Update, Failure> {
        (self.0)(state, call).await.map_err(Into::into)
    }
}

/// The state at a point where something is decided, with how earlier loops ended.
///
/// It reads like the state itself: `|essay| essay.score >= 0.9`.
#[derive(Debug)]
pub struct At<'a, S> {
    pub(super) state: &'a S,
    pub(super) loops: &'a HashMap<String, LoopEnd>,
}

impl<S> At<'_, S> {
    /// Tells how the loop of that name ended the last time, so that a cap can be answered: escalate, ask.
    #[must_use]
    pub fn loop_end(&self, name: &str) -> Option<LoopEnd> {
        self.loops.get(name).copied()
    }
}

impl<S> Deref for At<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.state
    }
}

pub(super) type AnyAction<S> =
    Arc<dyn Fn(Arc<S>, Call) -> Boxed<Result<<S as State>::Update, Failure>> + Send + Sync>;
pub(super) type AnyFlow<S> =
    Arc<dyn Fn(Ctx, Arc<S>) -> Boxed<Result<<S as State>::Update, Failure>> + Send + Sync>;
pub(super) type Condition<S> = Arc<dyn Fn(&At<'_, S>) -> bool + Send + Sync>;
pub(super) type Ask<S> = Arc<dyn Fn(&S) -> Question + Send + Sync>;
pub(super) type Hear<S> = Arc<dyn Fn(&Answer) -> <S as State>::Update + Send + Sync>;

pub(super) fn erase<S: State>(action: impl Action<S>) -> AnyAction<S> {
    let action = Arc::new(action);
    Arc::new(move |state, call| {
        let action = Arc::clone(&action);
        Box::pin(async move { action.run(state, call).await })
    })
}

/// One place in a chart.
pub(super) enum Node<S: State> {
    Step {
        step: Step,
        action: AnyAction<S>,
        undo: Option<Box<Undo<S>>>,
        starts: bool,
    },
    Flow {
        name: String,
        body: AnyFlow<S>,
    },
    Loop {
        name: String,
        max: u32,
        until: Condition<S>,
        body: Vec<Node<S>>,
    },
    Exit {
        name: String,
        when: Condition<S>,
    },
    Branch {
        name: String,
        cases: Vec<Case<S>>,
    },
    Fork {
        name: String,
        paths: Vec<(String, Vec<Node<S>>)>,
    },
    Join {
        name: String,
    },
    Gate {
        name: String,
        ask: Ask<S>,
        hear: Hear<S>,
    },
    /// A compensation that followed something other than a step.
    StrayUndo {
        name: String,
    },
}

/// How a step is undone.
pub(super) struct Undo<S: State> {
    pub(super) step: Step,
    pub(super) action: AnyAction<S>,
}

/// One way at a branch; without a condition it is the one taken when no other is.
pub(super) struct Case<S: State> {
    pub(super) name: String,
    pub(super) when: Option<Condition<S>>,
    pub(super) body: Vec<Node<S>>,
}

impl<S: State> Node<S> {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Step { step, .. } => step.name(),
            Self::Flow { name, .. }
            | Self::Loop { name, .. }
            | Self::Exit { name, .. }
            | Self::Branch { name, .. }
            | Self::Fork { name, .. }
            | Self::Join { name }
            | Self::Gate { name, .. }
            | Self::StrayUndo { name } => name,
        }
    }
}

/// Joins names to the path of a phase.
pub(super) fn phase(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}/{name}") }
}
