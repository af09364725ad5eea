//! The only door for user code: everything a workflow does that must be remembered goes through a [`Ctx`].

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Faults;
use super::error::Error;
use super::live::{Live, lock};
use super::replay::{Found, Recorded};
use super::step::{Policy, describe};
use crate::clock::{Clock, Timestamp};
use crate::failure::Failure;
use crate::gate::{Answer, Question};
use crate::id::RunId;
use crate::journal::state::{Body, GateState};
use crate::journal::{Event, GateClosed, GroupKind};
use crate::outcome::Conclusion;
use crate::path::{Path, check_name};
use crate::spend::Spend;

/// What a workflow is handed to work with. Cheap to clone; clones share their place in the tree.
///
/// A workflow must ask for the same things in the same order every time it is given the same answers: no clock, no
/// dice, no I/O outside of steps. [`now`](Self::now) and [`random`](Self::random) give what replays the same.
/// For things at the same time there is [`parallel`](Self::parallel), which gives each item a scope of its own.
#[derive(Clone)]
pub struct Ctx {
    live: Arc<Live>,
    scope: Arc<Scope>,
    /// Cleanup goes on when the run is cancelled.
    shielded: bool,
    /// What a layer above wants to have at hand wherever this goes.
    carried: Option<Arc<dyn Any + Send + Sync>>,
}

/// A place in the tree in which things are asked for one after the other.
struct Scope {
    path: Path,
    /// The scope's name was refused; everything asked for in it fails with this.
    flaw: Option<Failure>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// How often each name was used here.
    names: HashMap<Box<str>, u32>,
    /// How many entries of the journal were asked for here.
    position: usize,
}

/// What came of asking for something with a name.
pub(super) enum Entered {
    New(Path),
    Known(Path, Box<Recorded>),
    /// The run was asked to stop, and the journal does not hold this.
    Cancelled(Path, Arc<str>),
    Diverged(Divergence),
    /// The run was broken off already; nothing more may be done for it.
    Over,
}

/// Where and how a workflow is not the one that wrote the journal.
pub(super) struct Divergence {
    path: Path,
    reason: String,
    /// The place in the journal before which the two agree.
    fork_at: Path,
}

impl Divergence {
    pub(super) fn at(path: Path, reason: impl Into<String>) -> Self {
        Self { fork_at: path.clone(), path, reason: reason.into() }
    }
}

/// How a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopEnd {
    /// How many times its body was run.
    pub iterations: u32,
    /// Why it ended.
    pub by: LoopEnded,
}

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopEnded {
    /// Its condition held after a body.
    Condition,
    /// An exit inside its body was taken.
    Exit,
    /// Its body was run as often as allowed. Not an error.
    Cap,
}

impl Ctx {
    pub(super) fn root(live: Arc<Live>) -> Self {
        Self { live, scope: Scope::at(Path::root(), None), shielded: false, carried: None }
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.live.run
    }

    /// Returns where in the tree this is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.scope.path
    }

    /// Opens a group: what is done through the returned `Ctx` stands below it in the tree.
    #[must_use]
    pub fn group(&self, name: &str) -> Self {
        self.open(name, GroupKind::Group)
    }

    /// Opens the `n`-th pass of a loop below this group; the first is 1.
    #[must_use]
    pub fn iteration(&self, n: u32) -> Self {
        self.open(&n.to_string(), GroupKind::Iteration { n })
    }

    /// Runs `body` at least once and at most `max` times, until `done` holds after it. `state` goes through the bodies.
    ///
    /// # Errors
    /// Gives the failure of a body; a cap of 0 is refused with the code `zero-cap`.
    pub async fn repeat_until<S, F, Fut>(
        &self,
        name: &str,
        max: u32,
        state: S,
        done: impl Fn(&S) -> bool + Send,
        mut body: F,
    ) -> Result<(S, LoopEnd), Failure>
    where
        S: Send,
        F: FnMut(Ctx, S) -> Fut + Send,
        Fut: Future<Output = Result<S, Failure>> + Send,
    {
        check_cap(name, max)?;
        let rounds = self.open(name, GroupKind::Loop { max });
        let mut state = state;
        let mut n = 1;
        loop {
            state = body(rounds.iteration(n), state).await?;
            if done(&state) {
                return Ok((state, LoopEnd { iterations: n, by: LoopEnded::Condition }));
            }
            if n == max {
                return Ok((state, LoopEnd { iterations: n, by: LoopEnded::Cap }));
            }
            n += 1;
        }
    }

    /// Waits, durably: a restart does not begin the wait anew.
    ///
    /// # Errors
    /// When the run is cancelled meanwhile.
    pub async fn sleep(&self, pause: Duration) -> Result<(), Failure> {
        let (path, until) = match self.enter("sleep")? {
            Entered::New(path) => {
                let until = self.clock().now().after(pause);
                self.live.commit(Event::SleepStarted { path: path.clone(), until }).await;
                (path, until)
            }
            Entered::Known(path, recorded) => match recorded.body {
                Body::Sleep { rang: true, .. } => return Ok(()),
                Body::Sleep { until, .. } => match self.cancelled_now(&path) {
                    Some(failure) => return Err(failure),
                    None => (path, until),
                },
                other => return self.expected("a sleep", path, &other).await,
            },
            Entered::Cancelled(path, reason) => return Err(Failure::cancelled(&reason).at(&path)),
            Entered::Diverged(divergence) => return self.diverge(divergence).await,
            Entered::Over => return std::future::pending().await,
        };
        self.unless_cancelled(&path, self.clock().sleep_until(until)).await?;
        self.live.commit(Event::SleepFinished { path }).await;
        Ok(())
    }

    /// Puts a question to people and waits for the answer, through restarts if need be.
    ///
    /// # Errors
    /// `gate-expired` when the deadline passes and there is no default, `bad-gate` for a question that cannot be
    /// answered, or the run is cancelled.
    pub async fn gate(&self, name: &str, question: Question) -> Result<Answer, Failure> {
        question.check()?;
        let (path, deadline, mut answer, asking) = match self.enter(name)? {
            Entered::New(path) => {
                let deadline = question.deadline().map(|within| self.clock().now().after(within));
                let asking = Asking { live: Arc::clone(&self.live), path: path.clone() };
                let answer = self.live.open_gate(&path, &question, deadline).await;
                (path, deadline, answer, asking)
            }
            Entered::Known(path, recorded) => match recorded.body {
                Body::Gate { question: asked, .. } if asked != question => {
                    return self
                        .diverge(Divergence::at(path, "another question was asked there before"))
                        .await;
                }
                Body::Gate { state: GateState::Answered(answer), .. } => return Ok(answer),
                Body::Gate { state: GateState::Closed(why), .. } => return self.unanswered(&path, why).await,
                Body::Gate { deadline, .. } => {
                    if let Some(failure) = self.cancelled_now(&path) {
                        self.live.close_gate_later(&path, GateClosed::Cancelled);
                        return Err(failure);
                    }
                    let asking = Asking { live: Arc::clone(&self.live), path: path.clone() };
                    let answer = self.live.await_answer(&path, &question);
                    (path, deadline, answer, asking)
                }
                other => return self.expected("a gate", path, &other).await,
            },
            Entered::Cancelled(path, reason) => return Err(Failure::cancelled(&reason).at(&path)),
            Entered::Diverged(divergence) => return self.diverge(divergence).await,
            Entered::Over => return std::future::pending().await,
        };
        let over = async {
            match deadline {
                Some(deadline) => self.clock().sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = tokio::select! {
            biased;
            answer = &mut answer => return self.answered(answer).await,
            () = over => false,
            _ = self.cancellation() => true,
        };
        if !self.live.shut_gate(&path) {
            // Somebody is answering at this very moment: that counts.
            return self.answered(answer.await).await;
        }
        drop(asking);
        if cancelled {
            self.live.close_gate_later(&path, GateClosed::Cancelled);
            return self.unanswered(&path, GateClosed::Cancelled).await;
        }
        if let Some(answer) = question.default_answer() {
            self.live.close_gate(Event::GateAnswered { path, answer: answer.clone() }).await;
            return Ok(answer);
        }
        self.live.close_gate(Event::GateClosed { path: path.clone(), why: GateClosed::Expired }).await;
        self.unanswered(&path, GateClosed::Expired).await
    }

    /// Leaves a remark in the tree, for whoever reads the run. Markdown.
    pub async fn note(&self, text: impl Into<String>) {
        match self.enter_even_if_cancelled("note") {
            Ok(Entered::New(path)) => self.live.ride(&Event::NoteWritten { path, text: text.into() }),
            Ok(Entered::Diverged(divergence)) => self.diverge(divergence).await,
            Ok(Entered::Known(path, recorded)) => match recorded.body {
                Body::Note(_) => {}
                other => self.expected("a note", path, &other).await,
            },
            // There is no place for it, and nobody waits for anything from a note.
            Ok(Entered::Over | Entered::Cancelled(..)) | Err(_) => {}
        }
    }

    /// Returns the time: the same on every replay.
    pub async fn now(&self) -> Timestamp {
        let clock = Arc::clone(&self.live.core.clock);
        self.record("now", move || clock.now()).await
    }

    /// Returns how long the run has been driven so far; while nobody drove it no time passed. The same on every replay.
    pub async fn elapsed(&self) -> Duration {
        let live = Arc::clone(&self.live);
        let millis = move || u64::try_from(live.driven().as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.record("elapsed", millis).await)
    }

    /// Returns a random number: the same on every replay.
    pub async fn random(&self) -> u64 {
        self.record("random", || fastrand::u64(..)).await
    }

    /// Returns what the steps from here on down have spent on models so far, in earlier lives of the run too.
    #[must_use]
    pub fn spent(&self) -> Spend {
        self.live.paid_inside(&self.scope.path)
    }

    /// Says how the run went, for its status: [`Conclusion::Completed`] unless said otherwise.
    pub fn conclude(&self, conclusion: Conclusion) {
        self.live.conclude(conclusion);
    }

    /// Says what lists shall show of this run, as a JSON object.
    pub fn summarize(&self, summary: &serde_json::Map<String, serde_json::Value>) {
        self.live.summarize(serde_json::to_string(summary).unwrap_or_default());
    }

    /// Returns a `Ctx` for the same place whose steps are run even after the run was cancelled: for undoing and
    /// tidying up.
    #[must_use]
    pub fn for_cleanup(&self) -> Self {
        Self { shielded: true, ..self.clone() }
    }

    pub(crate) fn open(&self, name: &str, kind: GroupKind) -> Self {
        let (path, flaw) = match self.enter_even_if_cancelled(name) {
            Ok(Entered::New(path)) => {
                self.live.ride(&Event::GroupOpened { path: path.clone(), kind });
                (path, None)
            }
            Ok(Entered::Known(path, recorded)) => {
                if !matches!(&recorded.body, Body::Group(known) if *known == kind) {
                    let reason = format!(
                        "the journal has {} there, or another kind of group",
                        describe(&recorded.body)
                    );
                    self.break_off(Divergence::at(path.clone(), reason));
                }
                (path, None)
            }
            Ok(Entered::Diverged(divergence)) => {
                let path = divergence.path.clone();
                self.break_off(divergence);
                (path, None)
            }
            Ok(Entered::Cancelled(path, _)) => (path, None),
            Ok(Entered::Over) => (self.scope.path.clone(), None),
            // A scope of its own, so that what is recorded in it does not get mixed up with the one around it.
            Err(flaw) => (self.scope.path.child(FLAWED, self.scope.count(FLAWED)), Some(flaw)),
        };
        self.in_scope(Scope::at(path, flaw))
    }

    /// Returns a scope below this one that has no entry of its own in the journal.
    pub(crate) fn item(&self, label: &str) -> Self {
        let path = self.scope.path.child(label, 1);
        self.in_scope(Scope::at(path, self.scope.flaw.clone()))
    }

    fn in_scope(&self, scope: Arc<Scope>) -> Self {
        Self { scope, ..self.clone() }
    }

    /// Returns a `Ctx` for the same place that carries something along, here and in everything opened from it.
    pub(crate) fn carrying(&self, thing: impl Any + Send + Sync) -> Self {
        Self { carried: Some(Arc::new(thing)), ..self.clone() }
    }

    /// Returns what is carried along, if it is of this type.
    pub(crate) fn carried<T: Any>(&self) -> Option<&T> {
        self.carried.as_deref()?.downcast_ref()
    }

    /// Returns a value that was recorded, or records the one that `make` makes.
    pub(super) async fn record<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl FnOnce() -> T,
    ) -> T {
        match self.enter_unnamed(name) {
            Entered::Known(path, recorded) => match recorded.body {
                Body::Value(value) => match serde_json::from_str(value.get()) {
                    Ok(value) => value,
                    Err(error) => {
                        let reason = format!("its value in the journal no longer fits: {error}");
                        self.diverge(Divergence::at(path, reason)).await
                    }
                },
                other => self.expected("a recorded value", path, &other).await,
            },
            Entered::Diverged(divergence) => self.diverge(divergence).await,
            Entered::Over => std::future::pending().await,
            Entered::New(path) | Entered::Cancelled(path, _) => {
                let value = make();
                match serde_json::value::to_raw_value(&value) {
                    Ok(written) => self.live.ride(&Event::ValueRecorded { path, value: written }),
                    Err(error) => {
                        self.diverge(Divergence::at(path, format!("its value cannot be written: {error}")))
                            .await
                    }
                }
                value
            }
        }
    }

    /// Looks for a value that was recorded under this name, without recording one.
    pub(super) fn recorded_ahead(&self, name: &str) -> bool {
        self.live.replaying.load(Ordering::Relaxed)
            && lock(&self.live.replay).holds(&self.scope.path.child(name, 1))
    }

    pub(super) fn abandon(&self, group: &Path, kept: &[Path]) {
        if self.live.is_replaying() {
            let mut replay = lock(&self.live.replay);
            let open = replay.abandon(group, kept);
            self.live.replaying.store(!replay.is_over(), Ordering::Relaxed);
            drop(replay);
            for gate in open {
                self.live.close_gate_later(&gate, GateClosed::Abandoned);
            }
        }
    }

    /// Asks for the next thing in this scope.
    pub(super) fn enter(&self, name: &str) -> Result<Entered, Failure> {
        let cancelled = if self.shielded { None } else { self.live.cancel_reason() };
        self.enter_checked(name, cancelled)
    }

    fn enter_even_if_cancelled(&self, name: &str) -> Result<Entered, Failure> {
        self.enter_checked(name, None)
    }

    fn enter_checked(&self, name: &str, cancelled: Option<&Arc<str>>) -> Result<Entered, Failure> {
        if let Some(flaw) = &self.scope.flaw {
            return Err(flaw.clone());
        }
        check_name(name).map_err(|bad| Failure::terminal("bad-name", bad.to_string()))?;
        Ok(self.enter_named(name, cancelled))
    }

    /// For the engine's own entries, whose names users cannot take.
    fn enter_unnamed(&self, name: &str) -> Entered {
        self.enter_named(name, None)
    }

    fn enter_named(&self, name: &str, cancelled: Option<&Arc<str>>) -> Entered {
        if !self.live.is_driven() {
            return Entered::Over;
        }
        let path = self.scope.path.child(name, self.scope.count(name));
        let mut seen = lock(&self.scope.seen);
        if self.live.replaying.load(Ordering::Relaxed) {
            let mut replay = lock(&self.live.replay);
            match replay.look_up(&self.scope.path, seen.position, &path) {
                Found::Known(recorded) => {
                    seen.position += 1;
                    if replay.is_over() {
                        self.live.replaying.store(false, Ordering::Relaxed);
                    }
                    return Entered::Known(path, recorded);
                }
                Found::Other(_) if cancelled.is_some() => {}
                Found::Other(expected) => {
                    let reason = format!("the journal has `{expected}` at this point");
                    return Entered::Diverged(Divergence { path, reason, fork_at: expected });
                }
                Found::New => {}
            }
        }
        match cancelled {
            // Not written down, so it takes no position either.
            Some(reason) => {
                self.live.cancel_seen.store(true, Ordering::Relaxed);
                Entered::Cancelled(path, Arc::clone(reason))
            }
            None => {
                seen.position += 1;
                Entered::New(path)
            }
        }
    }

    pub(super) fn cancelled_now(&self, path: &Path) -> Option<Failure> {
        let reason = if self.shielded { None } else { self.live.cancel_reason() }?;
        self.live.cancel_seen.store(true, Ordering::Relaxed);
        Some(Failure::cancelled(reason).at(path))
    }

    /// Waits for `work`, which ends by itself, but not longer than until the run is cancelled.
    pub(super) async fn unless_cancelled<T>(
        &self,
        path: &Path,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let _busy = self.live.busy();
        tokio::select! {
            biased;
            done = work => Ok(done),
            reason = self.cancellation() => Err(Failure::cancelled(reason).at(path)),
        }
    }

    async fn cancellation(&self) -> &Arc<str> {
        if self.shielded {
            return std::future::pending().await;
        }
        let reason = self.live.cancelled().await;
        self.live.cancel_seen.store(true, Ordering::Relaxed);
        reason
    }

    async fn answered<B, E>(&self, answer: Result<(Answer, B), E>) -> Result<Answer, Failure> {
        match answer {
            Ok((answer, _)) => Ok(answer),
            // Whoever was answering broke the run off.
            Err(_) => std::future::pending().await,
        }
    }

    async fn expected<T>(&self, what: &str, path: Path, found: &Body) -> T {
        let reason = format!("{what} was asked for, the journal has {} there", describe(found));
        self.diverge(Divergence::at(path, reason)).await
    }

    async fn unanswered(&self, path: &Path, why: GateClosed) -> Result<Answer, Failure> {
        match why {
            GateClosed::Expired => {
                Err(Failure::terminal("gate-expired", "nobody answered in time, and there is no default")
                    .at(path))
            }
            GateClosed::Cancelled => {
                self.live.cancel_seen.store(true, Ordering::Relaxed);
                Err(Failure::cancelled(self.live.cancel_reason().map_or("", |reason| reason)).at(path))
            }
            // Whoever asked lost interest in the answer before, and will again.
            GateClosed::Abandoned => Err(Failure::cancelled(self.cancellation().await).at(path)),
        }
    }

    /// Gives up driving: the workflow is not the one that wrote the journal.
    pub(super) async fn diverge<T>(&self, divergence: Divergence) -> T {
        self.break_off(divergence);
        std::future::pending().await
    }

    fn break_off(&self, divergence: Divergence) {
        let Divergence { path, reason, fork_at } = divergence;
        self.live.break_off(Error::Diverged { run: self.live.run, path, reason, fork_at });
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.live.core.clock
    }

    pub(super) fn faults(&self) -> Option<&Faults> {
        self.live.core.faults.as_ref()
    }

    pub(super) fn default_policy(&self) -> &Policy {
        &self.live.core.policy
    }

    pub(super) fn max_output(&self) -> usize {
        self.live.core.max_output
    }
}

/// The path of a scope whose name was refused. Users cannot take this name.
const FLAWED: &str = "#flawed";

impl Scope {
    fn at(path: Path, flaw: Option<Failure>) -> Arc<Self> {
        Arc::new(Self { path, flaw, seen: Mutex::default() })
    }

    /// Counts how often a name was used here, this time included.
    fn count(&self, name: &str) -> u32 {
        let mut seen = lock(&self.seen);
        match seen.names.get_mut(name) {
            Some(count) => {
                *count += 1;
                *count
            }
            None => {
                seen.names.insert(name.into(), 1);
                1
            }
        }
    }
}

/// A gate that somebody waits at. If that somebody is dropped, the gate is not left open behind it.
struct Asking {
    live: Arc<Live>,
    path: Path,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.live.is_driven() && self.live.shut_gate(&self.path) {
            self.live.close_gate_later(&self.path, GateClosed::Abandoned);
        }
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx")
            .field("run", &self.live.run)
            .field("path", &self.scope.path)
            .finish_non_exhaustive()
    }
}

fn check_cap(name: &str, max: u32) -> Result<(), Failure> {
    if max == 0 {
        return Err(Failure::terminal(
            "zero-cap",
            format!("the loop `{name}` may run 0 times; the least is 1"),
        ));
    }
    Ok(())
}
