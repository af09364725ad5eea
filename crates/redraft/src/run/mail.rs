//! Telling a run something from outside: an answer to a gate, a wish to stop.
//!
//! If this engine drives the run, it is told at once. If another one does, or nobody, a message is left in the store;
//! whoever drives the run finds it there, and it is gone in the same act in which it is written into the journal.

use serde::{Deserialize, Serialize};

use super::engine::{Core, Engine};
use super::error::Error;
use super::live::Live;
use crate::clock::nap;
use crate::failure::is_deep;
use crate::gate::{Answer, Question};
use crate::id::{MessageId, RunId};
use crate::journal::state::{Body, GateState, Run};
use crate::path::Path;
use crate::store::Message;
use crate::suggest;
use std::sync::Arc;
use std::time::Duration;

/// How often an engine looks for messages.
const READ_EVERY: Duration = Duration::from_millis(100);

/// What became of a message to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivered {
    /// It is in the journal, and the workflow knows.
    Now,
    /// It waits in the store for the engine that drives the run, or for the next one that does.
    Left,
}

/// The body of a message in the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Letter {
    Answer { gate: String, answer: Answer },
    Cancel { reason: String, by: String },
}

impl Engine {
    /// Answers an open gate of a run.
    ///
    /// # Errors
    /// If there is no such open gate, it does not offer the choice, or the store fails.
    pub async fn answer(&self, run: RunId, gate: &str, answer: Answer) -> Result<Delivered, Error> {
        if let Some(live) = self.core.live(run) {
            let (gate, answer) = (gate.to_owned(), answer.clone());
            // On a task of its own: once an answer is on its way it must arrive, even if the caller walks off.
            let told = tokio::spawn(async move { live.answer(&gate, answer, None).await });
            match told.await.unwrap_or(Err(Error::ShutDown { run })) {
                Ok(()) => return Ok(Delivered::Now),
                // The journal knows more: a workflow that was just resumed may be on its way to the gate.
                Err(Error::NoSuchGate { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let state = self.core.load(run).await?;
        check_open(run, &state, gate, &answer)?;
        self.leave(run, &Letter::Answer { gate: gate.to_owned(), answer }).await
    }

    /// Asks a run to stop. It stops at its next step; what it has done stays, and its cleanup is still run.
    ///
    /// # Errors
    /// If the run has ended, or the store fails.
    pub async fn cancel(&self, run: RunId, reason: &str, by: &str) -> Result<Delivered, Error> {
        if let Some(live) = self.core.live(run) {
            let (reason, by) = (reason.to_owned(), by.to_owned());
            let told = tokio::spawn(async move { live.request_cancel(&reason, &by, None).await });
            told.await.unwrap_or(Err(Error::ShutDown { run }))?;
            return Ok(Delivered::Now);
        }
        let state = self.core.load(run).await?;
        if let Some(ending) = &state.ending {
            return Err(Error::Ended { run, status: ending.status, verb: "cancelled" });
        }
        self.leave(run, &Letter::Cancel { reason: reason.to_owned(), by: by.to_owned() }).await
    }

    async fn leave(&self, run: RunId, letter: &Letter) -> Result<Delivered, Error> {
        let body = serde_json::to_string(letter).map_err(|error| Error::DoesNotFit {
            what: "answer",
            of: run.to_string(),
            reason: error.to_string(),
        })?;
        self.core.store.post(Message { id: MessageId::new(), run, body }).await?;
        Ok(Delivered::Left)
    }
}

impl Core {
    pub(super) async fn read_mail_forever(&self) {
        loop {
            nap(READ_EVERY).await;
            // A store that cannot be read now will be asked again.
            let Ok(messages) = self.store.inbox(self.driver).await else { continue };
            futures_util::future::join_all(messages.into_iter().filter_map(|message| {
                let live = self.live(message.run)?;
                Some(self.deliver(live, message))
            }))
            .await;
        }
    }

    async fn deliver(&self, live: Arc<Live>, message: Message) {
        let undeliverable = match serde_json::from_str(&message.body) {
            Ok(Letter::Answer { gate, answer }) => {
                match live.answer(&gate, answer.clone(), Some(message.id)).await {
                    // A workflow that was just resumed first has to come to the gate; the letter waits. If it has
                    // come by already, the journal says that the gate was closed.
                    Err(Error::NoSuchGate { .. }) if !live.is_replaying() => {
                        match self.load(live.run).await {
                            Ok(state) => check_open(live.run, &state, &gate, &answer).is_err(),
                            Err(_) => false,
                        }
                    }
                    Err(Error::NoSuchGate { .. }) | Ok(()) => false,
                    Err(_) => true,
                }
            }
            Ok(Letter::Cancel { reason, by }) => {
                live.request_cancel(&reason, &by, Some(message.id)).await.is_err()
            }
            // Not a letter of ours; nobody will ever understand it.
            Err(_) => true,
        };
        if undeliverable {
            live.consume(message.id);
        }
    }
}

/// Checks an answer against a journal.
fn check_open(run: RunId, state: &Run, gate: &str, answer: &Answer) -> Result<(), Error> {
    if let Some(ending) = &state.ending {
        return Err(Error::Ended { run, status: ending.status, verb: "answered" });
    }
    match state.entry(gate).map(|entry| (&entry.path, &entry.body)) {
        Some((path, Body::Gate { question, state: GateState::Open, .. })) => {
            check_choice(path, question, answer)
        }
        Some((path, Body::Gate { .. })) => Err(Error::GateClosed { run, gate: path.clone() }),
        _ => {
            let open = state
                .entries
                .iter()
                .filter(|entry| matches!(entry.body, Body::Gate { state: GateState::Open, .. }));
            let did_you_mean = suggest::nearest(gate, open.map(|entry| entry.path.as_str()));
            Err(Error::NoSuchGate { run, gate: gate.to_owned(), did_you_mean })
        }
    }
}

/// Checks that a question offers what was answered.
pub(super) fn check_choice(gate: &Path, question: &Question, answer: &Answer) -> Result<(), Error> {
    if answer.value.as_ref().is_some_and(is_deep) {
        let reason = "its value is nested more than 64 levels deep".to_owned();
        return Err(Error::DoesNotFit { what: "answer", of: gate.to_string(), reason });
    }
    let options = question.options();
    if options.contains(&answer.choice.as_str()) {
        return Ok(());
    }
    Err(Error::NoSuchChoice {
        gate: gate.clone(),
        choice: answer.choice.clone(),
        did_you_mean: suggest::nearest(&answer.choice, options.iter().copied()),
        options: options.into_iter().map(str::to_owned).collect(),
    })
}
