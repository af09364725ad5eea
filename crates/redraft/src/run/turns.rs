//! One at a time: whoever creates or takes over a run waits its turn, so that an engine never drives a run twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

use super::live::lock;
use crate::id::RunId;

type Lock = Arc<tokio::sync::Mutex<()>>;

/// The runs that somebody is busy with.
#[derive(Clone, Default)]
pub(super) struct Turns {
    locks: Arc<Mutex<HashMap<RunId, Lock>>>,
}

/// Somebody's turn; the next begins when it is dropped.
pub(super) struct Turn {
    turns: Turns,
    run: RunId,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(super) async fn take(&self, run: RunId) -> Turn {
        let turn = Arc::clone(lock(&self.locks).entry(run).or_default());
        let held = turn.lock_owned().await;
        Turn { turns: self.clone(), run, held: Some(held) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut locks = lock(&self.turns.locks);
        drop(self.held.take());
        // Only the map holds it: nobody waits.
        if locks.get(&self.run).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            locks.remove(&self.run);
        }
    }
}
