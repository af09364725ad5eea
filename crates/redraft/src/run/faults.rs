//! Faults on demand, so that what must survive them can be tested: yours too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failure::Failure;
use crate::path::Path;
use crate::store;

/// A plan of faults, given to [`EngineBuilder::faults`](crate::EngineBuilder::faults).
///
/// A step is named by its path (`refinement/2/critique`) or by its name alone (`critique`), which means every step
/// of that name. Appends are counted over the whole engine, from 1.
#[derive(Debug, Default)]
pub struct Faults {
    failing: HashMap<String, (u64, Failure)>,
    delayed: HashMap<String, Duration>,
    repeated: Vec<String>,
    failing_appends: HashMap<u64, store::Error>,
    crash: Option<(u64, When)>,
    appends: AtomicU64,
    failed: Mutex<HashMap<Path, u64>>,
}

/// On which side of an append the crash falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The events do not reach the store.
    Before,
    /// They are on disk, but nobody is told.
    After,
}

/// What an append is to do.
pub(super) enum AppendFault {
    None,
    Fail(store::Error),
    Crash(When),
}

impl Faults {
    /// Makes a plan without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the first `times` attempts at each step called `step` fail with `failure`, without running it.
    #[must_use]
    pub fn fail_step(mut self, step: &str, times: u64, failure: impl Into<Failure>) -> Self {
        self.failing.insert(step.to_owned(), (times, failure.into()));
        self
    }

    /// Lets every attempt at `step` begin late.
    #[must_use]
    pub fn delay_step(mut self, step: &str, by: Duration) -> Self {
        self.delayed.insert(step.to_owned(), by);
        self
    }

    /// Runs `step` twice and keeps the second result, as after a crash between an answer and its commit.
    #[must_use]
    pub fn repeat_step(mut self, step: &str) -> Self {
        self.repeated.push(step.to_owned());
        self
    }

    /// Lets the `nth` append fail with `error`; the events do not reach the store.
    #[must_use]
    pub fn fail_append(mut self, nth: u64, error: store::Error) -> Self {
        self.failing_appends.insert(nth, error);
        self
    }

    /// Stops the whole engine at the `nth` append, as `kill -9` would.
    #[must_use]
    pub fn crash_at_append(mut self, nth: u64, when: When) -> Self {
        self.crash = Some((nth, when));
        self
    }

    pub(super) fn at_append(&self) -> AppendFault {
        let nth = self.appends.fetch_add(1, Ordering::Relaxed) + 1;
        match self.crash {
            Some((at, when)) if at == nth => return AppendFault::Crash(when),
            _ => {}
        }
        self.failing_appends.get(&nth).map_or(AppendFault::None, |error| AppendFault::Fail(error.clone()))
    }

    pub(super) fn failure_at(&self, path: &Path) -> Option<Failure> {
        let (times, failure) =
            self.failing.get(path.as_str()).or_else(|| self.failing.get(bare_name(path)))?;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let so_far = failed.entry(path.clone()).or_default();
        (*so_far < *times).then(|| {
            *so_far += 1;
            failure.clone()
        })
    }

    pub(super) fn delay_at(&self, path: &Path) -> Option<Duration> {
        self.delayed.get(path.as_str()).or_else(|| self.delayed.get(bare_name(path))).copied()
    }

    pub(super) fn repeats(&self, path: &Path) -> bool {
        self.repeated.iter().any(|step| step == path.as_str() || step == bare_name(path))
    }
}

/// The name without `#2`.
fn bare_name(path: &Path) -> &str {
    let name = path.name();
    name.split_once('#').map_or(name, |(bare, _)| bare)
}
