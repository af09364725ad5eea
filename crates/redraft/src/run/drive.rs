//! Driving one run: its workflow is polled to the end, or dropped where it stands when the run is broken off.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use serde_json::value::RawValue;

use super::ctx::Ctx;
use super::definition::Erased;
use super::engine::Core;
use super::error::Error;
use super::live::{Live, Phase, Standpoint, lock};
use super::step::words_of;
use crate::failure::Failure;
use crate::journal::RunEnding;
use crate::outcome::{Status, Stop};

impl Core {
    /// Makes a run live and sets its workflow going.
    pub(super) fn drive(self: &Arc<Self>, at: Standpoint, definition: Arc<dyn Erased>) -> Arc<Live> {
        let input = at.state.header.as_ref().map(|header| header.input.clone()).unwrap_or_default();
        let live = Live::new(Arc::clone(self), at);
        lock(&self.runs).insert(live.run, Arc::clone(&live));
        lock(&self.refused).remove(&live.run);
        if let Some(error) = self.halted.get() {
            live.break_off(error.clone().about(live.run));
        }
        tokio::spawn(work(Arc::clone(&live), definition, input));
        live
    }
}

/// Runs a workflow to its end, or until it is broken off.
async fn work(live: Arc<Live>, definition: Arc<dyn Erased>, input: Box<RawValue>) {
    let phase = tokio::select! {
        biased;
        error = live.interrupted() => Phase::Broken(error.clone()),
        ending = run_to_end(&live, &*definition, &input) => match live.finish(ending.clone()).await {
            Ok(_) => Phase::Ended(Arc::new(ending)),
            Err(error) => Phase::Broken(error),
        },
    };
    live.core.forget(&live);
    if let Phase::Broken(error) = &phase {
        live.core.remember_trouble(live.run, error);
        // So that somebody else, or we later, can take it over. If it is fenced already, this changes nothing.
        let _ = live.core.store.release(vec![live.claim()]).await;
    }
    live.publish_end(phase);
}

async fn run_to_end(live: &Arc<Live>, definition: &dyn Erased, input: &RawValue) -> RunEnding {
    let running =
        AssertUnwindSafe(async { definition.run(Ctx::root(Arc::clone(live)), input).await }).catch_unwind();
    let mut running = pin!(running);
    let result = std::future::poll_fn(|cx| {
        let polled = running.as_mut().poll(cx);
        if polled.is_pending() {
            live.publish_waiting();
        }
        polled
    })
    .await;
    let result = result.unwrap_or_else(|panic| {
        Err(Failure::terminal("panicked", format!("the workflow panicked: {}", words_of(&*panic))))
    });
    let left_over = lock(&live.replay).left_over().cloned();
    if let Some(path) = left_over {
        let reason = "the journal has it, but the workflow no longer asks for it".to_owned();
        live.break_off(Error::Diverged { run: live.run, fork_at: path.clone(), path, reason });
        return std::future::pending().await;
    }
    ending_of(live, result)
}

fn ending_of(live: &Live, result: Result<Box<RawValue>, Failure>) -> RunEnding {
    let conclusion = live.conclusion();
    let cancelled = live.cancel_reason().filter(|_| live.cancel_seen.load(Ordering::Relaxed));
    let end = |status, stop, output, failure| RunEnding { status, stop, output, failure, reason: None };
    match (cancelled, result) {
        (Some(reason), result) => RunEnding {
            reason: Some(reason.to_string()),
            ..end(Status::Cancelled, Some(Stop::Cancelled), result.ok(), None)
        },
        (None, Ok(output)) => end(conclusion.status(), conclusion.stop(), Some(output), None),
        (None, Err(failure)) => end(Status::Failed, Some(Stop::Failed), None, Some(failure.settled())),
    }
}
