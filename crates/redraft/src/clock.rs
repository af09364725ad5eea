//! The one door to time.
//!
//! Everything in the crate that needs the time asks a [`Clock`]; a lint forbids the usual ways. Time is for showing
//! and for deadlines, never for deciding what a replay does.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::oneshot;

/// A moment, to the millisecond, printed and stored as RFC 3339 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// Returns the moment `millis` milliseconds after [`EPOCH`](Self::EPOCH), at the edge of what can be printed if
    /// it lies beyond.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        let edge = if millis < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_millisecond(millis).unwrap_or(edge))
    }

    /// Returns the milliseconds since [`EPOCH`](Self::EPOCH).
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the moment `pause` later, at most the last one that can be printed.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.as_millis().saturating_add(pause))
    }

    /// Returns how long after `earlier` this moment is; nothing if it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(
            u64::try_from(self.as_millis().saturating_sub(earlier.as_millis())).unwrap_or(0),
        )
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let millis = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        };
        Self::from_millis(millis)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self::from_millis(time.as_millisecond()))
            .map_err(|_| BadTimestamp(text.chars().take(60).collect()))
    }
}

/// A text that is not a moment in RFC 3339.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as `2026-01-31T12:00:00Z`")]
pub struct BadTimestamp(String);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A pause that somebody waits for.
pub type Pause<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Where the engine gets the time from.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;

    /// Waits until `deadline`; returns at once when it has passed.
    fn sleep_until(&self, deadline: Timestamp) -> Pause<'_>;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// A clock that is set forward while we wait (a laptop that slept, a corrected time) is noticed at least this often.
const LONGEST_NAP: Duration = Duration::from_secs(30);

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }

    fn sleep_until(&self, deadline: Timestamp) -> Pause<'_> {
        Box::pin(async move {
            loop {
                let left = deadline.since(self.now());
                if left.is_zero() {
                    return;
                }
                nap(left.min(LONGEST_NAP)).await;
            }
        })
    }
}

/// Waits in real time, whatever the engine's clock says: for housekeeping that no replay can see.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
pub(crate) async fn nap(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// A clock that stands still until it is moved: for tests.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<Manual>,
}

#[derive(Debug)]
struct Manual {
    now: Timestamp,
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
    next: u64,
}

impl ManualClock {
    /// Makes a clock that stands at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { state: Mutex::new(Manual { now, sleepers: BTreeMap::new(), next: 0 }) }
    }

    /// Moves the clock forward and wakes whoever waited for a moment that has now passed.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        let now = state.now.after(by);
        state.now = now;
        let later = state.sleepers.split_off(&(now, u64::MAX));
        for (_, sleeper) in std::mem::replace(&mut state.sleepers, later) {
            // A sleeper that is gone was cancelled; nobody is left to tell.
            let _ = sleeper.send(());
        }
    }

    /// Sets the clock to `now`, backwards too; nobody is woken. For tests of clock jumps.
    pub fn jump(&self, now: Timestamp) {
        self.state().now = now;
    }

    /// Returns how many are waiting for this clock.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        let mut state = self.state();
        state.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        state.sleepers.len()
    }

    fn state(&self) -> MutexGuard<'_, Manual> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Timestamp::from_millis(1_767_225_600_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.state().now
    }

    fn sleep_until(&self, deadline: Timestamp) -> Pause<'_> {
        let waiting = {
            let mut state = self.state();
            if deadline <= state.now {
                return Box::pin(std::future::ready(()));
            }
            let (wake, waiting) = oneshot::channel();
            let key = (deadline, state.next);
            state.next += 1;
            state.sleepers.insert(key, wake);
            waiting
        };
        Box::pin(async move {
            let _ = waiting.await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_printed_and_read_as_rfc_3339() {
        let time = Timestamp::from_millis(1_767_225_600_123);
        assert_eq!(time.to_string(), "2026-01-01T00:00:00.123Z");
        assert_eq!(time.to_string().parse(), Ok(time));
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert_eq!(Timestamp::EPOCH.since(time), Duration::ZERO);
        assert!(Timestamp::from_millis(i64::MAX).after(Duration::MAX) > time);
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_those_whose_time_has_come() {
        let clock = ManualClock::default();
        let soon = clock.sleep_until(clock.now().after(Duration::from_secs(1)));
        let late = clock.sleep_until(clock.now().after(Duration::from_secs(3)));
        assert_eq!(clock.sleepers(), 2);
        clock.advance(Duration::from_secs(1));
        soon.await;
        assert_eq!(clock.sleepers(), 1);
        clock.advance(Duration::from_secs(2));
        late.await;
        clock.sleep_until(clock.now()).await;
    }
}
