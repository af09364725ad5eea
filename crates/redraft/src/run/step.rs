//! One step: tried until it succeeds or its policy says enough, and remembered.

use std::borrow::Cow;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::ctx::{Ctx, Divergence, Entered};
use super::live::Live;
use super::replay::Recorded;
use crate::clock::Timestamp;
use crate::failure::{Failure, Retry};
use crate::fingerprint::{Fingerprint, canonical};
use crate::id::RunId;
use crate::journal::Event;
use crate::journal::state::{Body, StepResult};
use crate::path::Path;
use crate::spend::{Meter, Spend};

/// A step to be run: its name, what it depends on, and how patient to be with it.
///
/// A bare name is enough (`ctx.step("draft", …)`). Name the inputs too, and a journal that was written for other
/// inputs is noticed instead of reused:
///
/// ```
/// use redraft::Step;
/// use std::time::Duration;
///
/// let prompt = "Write the opening paragraph.";
/// let step = Step::named("draft").input(&prompt).attempts(5).timeout(Duration::from_secs(60));
/// # let _ = step;
/// ```
#[derive(Clone, Debug)]
pub struct Step {
    name: Cow<'static, str>,
    inputs: Result<Vec<Vec<u8>>, String>,
    version: u32,
    policy: Option<Policy>,
    attempts: Option<u32>,
    timeout: Option<Duration>,
}

impl Step {
    /// Names a step.
    #[must_use]
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            inputs: Ok(Vec::new()),
            version: 1,
            policy: None,
            attempts: None,
            timeout: None,
        }
    }

    /// Adds something the result depends on; may be called several times.
    #[must_use]
    pub fn input(mut self, input: &(impl Serialize + ?Sized)) -> Self {
        if let Ok(inputs) = &mut self.inputs {
            match serde_json::to_value(input) {
                Ok(input) => inputs.push(canonical(&input)),
                Err(error) => self.inputs = Err(error.to_string()),
            }
        }
        self
    }

    /// Sets the version of the step's code (1 unless said otherwise): raise it when what it does changes.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Sets how patient to be, in full; otherwise the engine's policy holds.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy: Some(policy), attempts: None, timeout: None, ..self }
    }

    /// Sets how often the step may fail before it has failed for good, and leaves the rest of the policy as it is.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Sets how long an attempt may take, and leaves the rest of the policy as it is.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the policy that holds for this step, given the engine's.
    fn patience(&self, default: &Policy) -> Policy {
        let policy = self.policy.as_ref().unwrap_or(default);
        Policy {
            attempts: self.attempts.unwrap_or(policy.attempts),
            backoff: policy.backoff.clone(),
            timeout: self.timeout.or(policy.timeout),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn allows_no_attempt(&self) -> bool {
        self.attempts.or(self.policy.as_ref().map(|policy| policy.attempts)) == Some(0)
    }

    pub(crate) fn code_version(&self) -> u32 {
        self.version
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let inputs = self.inputs.as_ref().map_err(|error| {
            Failure::terminal(
                "input-not-serializable",
                format!("an input cannot be written as JSON: {error}"),
            )
        })?;
        let version = self.version.to_le_bytes();
        Ok(Fingerprint::of(std::iter::once(version.as_slice()).chain(inputs.iter().map(Vec::as_slice))))
    }
}

impl From<&'static str> for Step {
    fn from(name: &'static str) -> Self {
        Self::named(name)
    }
}

impl From<String> for Step {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

/// How patient to be with a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// How often it may fail before it has failed for good; at least 1. Only failures whose type says that trying
    /// again can help are tried again at all.
    pub attempts: u32,
    /// How long to pause between attempts.
    pub backoff: Backoff,
    /// How long an attempt may take; then it counts as failed with the code `timeout`, and is tried again.
    pub timeout: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { attempts: 3, backoff: Backoff::default(), timeout: None }
    }
}

/// Pauses that grow with each failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub first: Duration,
    /// By how much each pause is longer than the one before.
    pub factor: f64,
    /// The longest pause.
    pub most: Duration,
    /// How much of a pause is left to chance, 0.0 to 1.0, so that many runs do not come back at the same moment.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), factor: 2.0, most: Duration::from_secs(30), jitter: 0.5 }
    }
}

impl Backoff {
    /// Returns the pause after the `failures`-th failure; `chance` is a number from 0.0 to 1.0.
    #[must_use]
    pub fn pause(&self, failures: u32, chance: f64) -> Duration {
        let most = self.most.as_secs_f64();
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let full = (self.first.as_secs_f64() * self.factor.max(1.0).powi(exponent)).min(most);
        let jitter = self.jitter.clamp(0.0, 1.0) * chance.clamp(0.0, 1.0);
        Duration::try_from_secs_f64(full * (1.0 - jitter)).unwrap_or(self.most)
    }
}

/// What a step may know about the attempt it is in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The run.
    pub run: RunId,
    /// Where the step stands.
    pub path: Path,
    /// Which attempt this is, counted from 1.
    pub attempt: u32,
    /// What a workflow's cleanup is told about why it runs; nothing for an ordinary step.
    pub failure: Option<Failure>,
}

impl Call {
    /// Returns a key that is the same for every attempt at this step: send it to services that take one.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.run, self.path)
    }
}

/// The result of a step with the number of the event that holds it.
pub(crate) struct Settled<T> {
    pub(crate) value: T,
    pub(crate) seq: u64,
}

impl Ctx {
    /// Runs a step, or returns what it returned before.
    ///
    /// The result is handed over only after it is on disk. On replay `f` is not called. Live too, the value that
    /// comes out has been through its JSON form, so that life and replay cannot differ.
    ///
    /// # Errors
    /// Gives the failure of the last attempt when the step has failed for good, the same on every replay; a value
    /// that cannot be written as JSON and read back, or is too large, is such a failure. When the run was cancelled
    /// and the step has no result yet, the code is [`Failure::CANCELLED`].
    pub async fn step<T, E, F, Fut>(&self, step: impl Into<Step>, f: F) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<Failure>,
        F: FnMut() -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        let mut f = f;
        self.step_with(step, move |_| f()).await
    }

    /// Runs a step that wants to know about the attempt it is in.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub async fn step_with<T, E, F, Fut>(&self, step: impl Into<Step>, f: F) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<Failure>,
        F: FnMut(Call) -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        self.settle(step.into(), None, f).await.map(|settled| settled.value)
    }

    /// Runs a step and says which event holds its result.
    pub(crate) async fn settle<T, E, F, Fut>(
        &self,
        step: Step,
        failure: Option<&Failure>,
        mut f: F,
    ) -> Result<Settled<T>, Failure>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<Failure>,
        F: FnMut(Call) -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        // Before it takes its place in the scope: a step that cannot be identified leaves no trace.
        let fingerprint =
            step.fingerprint().map_err(|failure| failure.at(&self.path().child(&step.name, 1)))?;
        let (path, recorded) = match self.enter(&step.name)? {
            Entered::New(path) => (path, None),
            Entered::Known(path, recorded) => (path, Some(*recorded)),
            Entered::Cancelled(path, reason) => return Err(Failure::cancelled(&reason).at(&path)),
            Entered::Diverged(divergence) => return self.diverge(divergence).await,
            Entered::Over => return std::future::pending().await,
        };
        let progress = match recorded {
            None => Progress::default(),
            Some(recorded) => match self.replay_step(&path, fingerprint, recorded).await {
                Replayed::Settled(result) => return result,
                Replayed::Unfinished(progress) => progress,
            },
        };
        if let Some(failure) = self.cancelled_now(&path) {
            return Err(failure);
        }
        let policy = step.patience(self.default_policy());
        let attempting = Attempting { path: &path, fingerprint, policy: &policy, failure };
        self.attempt(attempting, progress, &mut f).await
    }

    async fn replay_step<T: DeserializeOwned>(
        &self,
        path: &Path,
        fingerprint: Fingerprint,
        recorded: Recorded,
    ) -> Replayed<T> {
        let (known, attempts, forgiven, result) = match recorded.body {
            Body::Step { fingerprint, attempts, forgiven, result } => {
                (fingerprint, attempts, forgiven, result)
            }
            other => {
                let reason = format!("the journal has {} there", describe(&other));
                return self.diverge(Divergence::at(path.clone(), reason)).await;
            }
        };
        if known != fingerprint {
            let reason = "its inputs or its version are not the ones in the journal";
            return self.diverge(Divergence::at(path.clone(), reason)).await;
        }
        match result {
            StepResult::Done(output) => match serde_json::from_str(output.get()) {
                Ok(value) => {
                    let seq = recorded.closed_seq.unwrap_or(recorded.opened_seq);
                    Replayed::Settled(Ok(Settled { value, seq }))
                }
                Err(error) => {
                    let reason = format!("its output in the journal no longer fits: {error}");
                    self.diverge(Divergence::at(path.clone(), reason)).await
                }
            },
            StepResult::Failed(failure) => Replayed::Settled(Err(failure.at(path))),
            StepResult::Pending { retry_at } => Replayed::Unfinished(Progress {
                begun: attempts.last().map_or(0, |last| last.n),
                failed: u32::try_from(
                    attempts.iter().skip(forgiven).filter(|attempt| attempt.failure.is_some()).count(),
                )
                .unwrap_or(u32::MAX),
                retry_at,
            }),
        }
    }

    async fn attempt<T, E, F, Fut>(
        &self,
        attempting: Attempting<'_>,
        mut progress: Progress,
        f: &mut F,
    ) -> Result<Settled<T>, Failure>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<Failure>,
        F: FnMut(Call) -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        let Attempting { path, fingerprint, policy, failure } = attempting;
        loop {
            if let Some(retry_at) = progress.retry_at.take() {
                self.unless_cancelled(path, self.clock().sleep_until(retry_at)).await?;
            }
            progress.begun += 1;
            self.live().ride(&Event::StepStarted {
                path: path.clone(),
                fingerprint,
                attempt: progress.begun,
            });
            let call = Call {
                run: self.run(),
                path: path.clone(),
                attempt: progress.begun,
                failure: failure.cloned(),
            };
            // Before the call, so that it is dropped after it.
            let tab = Tab { live: self.live(), path, meter: Meter::default(), is_open: true };
            let work = tab.meter.over(self.call_once(path, policy.timeout, call, f));
            let result = self.unless_cancelled(path, work).await?;
            let spend = tab.close();
            match result.and_then(|value| self.write_down(&value)) {
                Ok((output, value)) => {
                    let event = Event::StepSucceeded { path: path.clone(), output, spend };
                    let seq = self.live().commit(event).await;
                    return Ok(Settled { value, seq });
                }
                Err(failure) => {
                    progress.failed += 1;
                    let retry_at = self.next_try(policy, progress.failed, failure.retry);
                    let failure = failure.settled();
                    let event =
                        Event::StepFailed { path: path.clone(), failure: failure.clone(), retry_at, spend };
                    self.live().commit(event).await;
                    if retry_at.is_none() {
                        return Err(failure.at(path));
                    }
                    progress.retry_at = retry_at;
                }
            }
        }
    }

    /// Makes one attempt, with the faults that were asked for.
    async fn call_once<T, E, F, Fut>(
        &self,
        path: &Path,
        timeout: Option<Duration>,
        call: Call,
        f: &mut F,
    ) -> Result<T, Failure>
    where
        E: Into<Failure>,
        F: FnMut(Call) -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        if let Some(faults) = self.faults() {
            if let Some(delay) = faults.delay_at(path) {
                self.clock().sleep_until(self.clock().now().after(delay)).await;
            }
            if let Some(failure) = faults.failure_at(path) {
                return Err(failure);
            }
            if faults.repeats(path) {
                let call = call.clone();
                drop(self.guarded(timeout, async { f(call).await }).await);
            }
        }
        // Called inside the guard: a closure may panic before it has made its future.
        self.guarded(timeout, async { f(call).await }).await
    }

    /// Keeps a panic or an endless wait of the step's code from becoming ours.
    async fn guarded<T, E: Into<Failure>>(
        &self,
        timeout: Option<Duration>,
        work: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, Failure> {
        let work = AssertUnwindSafe(work).catch_unwind();
        let ended = match timeout {
            None => work.await,
            Some(timeout) => {
                let deadline = self.clock().now().after(timeout);
                tokio::select! {
                    biased;
                    ended = work => ended,
                    () = self.clock().sleep_until(deadline) => {
                        return Err(Failure::passing("timeout", format!("no result within {timeout:?}")));
                    }
                }
            }
        };
        match ended {
            Ok(result) => result.map_err(Into::into),
            Err(panic) => {
                Err(Failure::terminal("panicked", format!("the step panicked: {}", words_of(&*panic))))
            }
        }
    }

    /// Puts a value into its JSON form, and back.
    fn write_down<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<(Box<RawValue>, T), Failure> {
        let output = serde_json::value::to_raw_value(value).map_err(|error| {
            Failure::terminal(
                "output-not-serializable",
                format!("the output cannot be written as JSON: {error}"),
            )
        })?;
        let most = self.max_output();
        if output.get().len() > most {
            return Err(Failure::terminal(
                "output-too-large",
                format!("the output has {} bytes; a step may return {most}", output.get().len()),
            )
            .with_hint(
                "keep large data in a file and return its name, or raise `max_output` of the engine",
            ));
        }
        let value = serde_json::from_str(output.get()).map_err(|error| {
            Failure::terminal(
                "output-not-readable",
                format!("the output, written as JSON, cannot be read back into its type: {error}"),
            )
        })?;
        Ok((output, value))
    }

    fn next_try(&self, policy: &Policy, failures: u32, retry: Retry) -> Option<Timestamp> {
        if failures >= policy.attempts.max(1) {
            return None;
        }
        let pause = match retry {
            Retry::Never => return None,
            Retry::Backoff => policy.backoff.pause(failures, fastrand::f64()),
            Retry::After(pause) => pause.max(policy.backoff.pause(failures, fastrand::f64())),
        };
        Some(self.clock().now().after(pause))
    }
}

struct Attempting<'a> {
    path: &'a Path,
    fingerprint: Fingerprint,
    policy: &'a Policy,
    failure: Option<&'a Failure>,
}

/// What an attempt spends, until the event that ends it takes it over.
struct Tab<'a> {
    live: &'a Arc<Live>,
    path: &'a Path,
    meter: Meter,
    is_open: bool,
}

impl Tab<'_> {
    fn close(mut self) -> Option<Spend> {
        self.is_open = false;
        let spend = self.meter.read();
        if let Some(spend) = spend {
            self.live.pay(self.path, spend);
        }
        spend
    }
}

/// Nobody waits for the attempt any more; what it has spent is written down all the same.
impl Drop for Tab<'_> {
    fn drop(&mut self) {
        if let Some(spend) = self.meter.read().filter(|_| self.is_open && self.live.is_driven()) {
            self.live.pay(self.path, spend);
            self.live.ride(&Event::StepAbandoned { path: self.path.clone(), spend });
        }
    }
}

/// How far a step has come.
#[derive(Default)]
struct Progress {
    /// Attempts begun, the ones that a crash cut off included.
    begun: u32,
    /// Attempts that failed by themselves.
    failed: u32,
    retry_at: Option<Timestamp>,
}

enum Replayed<T> {
    Settled(Result<Settled<T>, Failure>),
    Unfinished(Progress),
}

pub(super) fn describe(body: &Body) -> &'static str {
    match body {
        Body::Group(_) => "a group",
        Body::Step { .. } => "a step",
        Body::Sleep { .. } => "a sleep",
        Body::Gate { .. } => "a gate",
        Body::Value(_) => "a recorded value",
        Body::Note(_) => "a note",
    }
}

/// What a panic said.
pub(super) fn words_of(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it left no words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_chance_only_shortens_them() {
        let backoff =
            Backoff { first: Duration::from_secs(1), factor: 2.0, most: Duration::from_secs(5), jitter: 0.5 };
        let seconds: Vec<f64> = (1..=4).map(|n| backoff.pause(n, 0.0).as_secs_f64()).collect();
        assert_eq!(seconds, [1.0, 2.0, 4.0, 5.0]);
        assert_eq!(backoff.pause(1, 1.0), Duration::from_millis(500));
        assert_eq!(backoff.pause(u32::MAX, 0.0), Duration::from_secs(5));
    }
}
