//! How many requests may be under way, and how many may begin: shared by everything that asks one provider.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::clock::{Clock, SystemClock, Timestamp};

#[derive(Clone, Debug)]
pub(super) struct Limits {
    places: Arc<Semaphore>,
    pace: Option<Arc<Pace>>,
}

#[derive(Debug)]
struct Pace {
    apart: Duration,
    /// When the next request may begin.
    next: Mutex<Timestamp>,
}

impl Limits {
    pub(super) fn new(concurrency: usize, per_minute: Option<u32>) -> Self {
        let pace = per_minute.map(|requests| {
            let apart = Duration::from_secs(60) / requests.max(1);
            Arc::new(Pace { apart, next: Mutex::new(Timestamp::EPOCH) })
        });
        Self { places: Arc::new(Semaphore::new(concurrency.max(1))), pace }
    }

    /// Waits for a place, and for the moment; the place is held until the permit is dropped.
    pub(super) async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        if let Some(pace) = &self.pace {
            let begin = {
                let mut next = pace.next.lock().await;
                let begin = (*next).max(SystemClock.now());
                *next = begin.after(pace.apart);
                begin
            };
            SystemClock.sleep_until(begin).await;
        }
        place
    }
}
