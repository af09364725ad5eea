//! A run while it is being driven: the end of its journal, what it is told from outside, and what it tells.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, oneshot, watch};

use super::engine::Core;
use super::error::Error;
use super::faults::{AppendFault, When};
use super::replay::Replay;
use crate::clock::Timestamp;
use crate::gate::{Answer, Question};
use crate::id::{MessageId, RunId};
use crate::journal::codec::Batch;
use crate::journal::{Event, GateClosed, Record, RunEnding};
use crate::outcome::{Conclusion, Status};
use crate::path::Path;
use crate::spend::Spend;
use crate::store::{self, Append, Claimed, Epoch, Reply, Standing};

/// Locks, and does not mind that another thread panicked while it held the lock: every critical section here leaves
/// the data whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that this engine drives.
pub(crate) struct Live {
    pub(super) run: RunId,
    pub(super) core: Arc<Core>,
    epoch: Epoch,
    log: Mutex<Log>,
    pub(super) replay: Mutex<Replay>,
    /// False once the journal has answered all it can: from then on nobody asks it.
    pub(super) replaying: AtomicBool,
    cancel: OnceLock<Arc<str>>,
    /// The workflow was told of the cancellation, so it did not come to its own end.
    pub(super) cancel_seen: AtomicBool,
    interrupt: OnceLock<Error>,
    /// The workflow has ended; whoever still holds its `Ctx` gets nothing done with it.
    over: AtomicBool,
    bell: Notify,
    /// Things under way that will end by themselves: attempts, timers, commits.
    busy: AtomicUsize,
    /// How far the run has come, for those who wait for its end.
    pub(super) phase: watch::Sender<Phase>,
    /// The last event that is on disk, for those who follow it. Apart from the phase, because it changes with every
    /// step and would wake everybody who waits for the end.
    pub(super) written: watch::Sender<u64>,
    /// What the workflow has said about its ending so far.
    conclusion: Mutex<Conclusion>,
    /// How long earlier drivers drove it, and when this one began.
    driven: (std::time::Duration, Timestamp),
    /// What each step has spent, in this life and in earlier ones.
    paid: Mutex<Vec<(Path, Spend)>>,
}

/// The end of the journal: what has a number, and what waits to be written.
struct Log {
    next: u64,
    pending: Batch,
    consumes: Vec<MessageId>,
    open_gates: u32,
    told: Status,
    summary: Option<String>,
    /// The end has been written, or is on its way: nothing may follow it.
    ended: Option<Status>,
    cancel_asked: bool,
    /// Gates that take answers.
    gates: HashMap<Path, OpenGate>,
    /// Gates whose answer is on its way to the disk.
    answering: HashSet<Path>,
    /// The flusher knows that something is pending.
    listed: bool,
    /// Everything we write is folded here too, so that a test run cannot write an illegal journal unnoticed.
    #[cfg(debug_assertions)]
    shadow: crate::journal::state::Run,
}

/// Where an answer to a gate will arrive.
pub(super) type Answering = oneshot::Receiver<(Answer, Underway)>;

impl Log {
    fn await_answer(&mut self, path: &Path, question: &Question) -> Answering {
        let (answered, answer) = oneshot::channel();
        self.gates.insert(path.clone(), OpenGate { question: question.clone(), answered });
        answer
    }

    /// A letter may be looked at several times before the commit that consumes it.
    fn consume(&mut self, message: Option<MessageId>) {
        self.consumes.extend(message.filter(|message| !self.consumes.contains(message)));
    }
}

struct OpenGate {
    question: Question,
    answered: oneshot::Sender<(Answer, Underway)>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("run", &self.run).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    Running,
    /// Nothing can happen before a gate is answered.
    Waiting,
    Ended(Arc<RunEnding>),
    /// Not driven any more, though the run has not ended.
    Broken(Error),
}

/// Where a run stands when it becomes live.
pub(super) struct Standpoint {
    pub(super) run: RunId,
    pub(super) epoch: Epoch,
    /// What the store says of its status.
    pub(super) told: Status,
    pub(super) state: crate::journal::state::Run,
    /// The last events of `state`, if they are not in the store yet: they ride along with the first commit.
    pub(super) pending: Vec<Record>,
}

impl Live {
    pub(super) fn new(core: Arc<Core>, at: Standpoint) -> Arc<Self> {
        let seq = at.state.seq - at.pending.len() as u64;
        let mut pending = Batch::default();
        for record in &at.pending {
            pending.push(record.at, &record.event);
        }
        let open_gates = at.state.open_gates();
        let cancel = OnceLock::new();
        if let Some(request) = &at.state.cancel {
            let _ = cancel.set(Arc::from(request.reason.as_str()));
        }
        #[cfg(debug_assertions)]
        let shadow = at.state.clone();
        let driven = (at.state.driven, at.state.life_began_at.unwrap_or_else(|| core.clock.now()));
        let paid = at.state.paid().map(|(path, spend)| (path.clone(), spend)).collect();
        let replay = Replay::of(at.state);
        Arc::new(Self {
            run: at.run,
            core,
            epoch: at.epoch,
            log: Mutex::new(Log {
                next: seq + 1,
                pending,
                consumes: Vec::new(),
                open_gates,
                told: at.told,
                summary: None,
                ended: None,
                cancel_asked: cancel.get().is_some(),
                gates: HashMap::new(),
                answering: HashSet::new(),
                listed: false,
                #[cfg(debug_assertions)]
                shadow,
            }),
            replaying: AtomicBool::new(!replay.is_over()),
            replay: Mutex::new(replay),
            cancel,
            cancel_seen: AtomicBool::new(false),
            interrupt: OnceLock::new(),
            over: AtomicBool::new(false),
            bell: Notify::new(),
            busy: AtomicUsize::new(0),
            phase: watch::Sender::new(Phase::Running),
            written: watch::Sender::new(seq),
            conclusion: Mutex::default(),
            driven,
            paid: Mutex::new(paid),
        })
    }

    /// Writes an event down to ride along with the next commit. For what need not be on disk before work goes on.
    pub(super) fn ride(self: &Arc<Self>, event: &Event) {
        let mut log = lock(&self.log);
        match self.push(&mut log, event) {
            Ok(()) => {}
            // Somebody kept a `Ctx` beyond the end of its run; there is no place left for what it says.
            Err(Error::Ended { .. }) => return,
            Err(error) => {
                drop(log);
                self.break_off(error);
                return;
            }
        }
        let unlisted = !std::mem::replace(&mut log.listed, true);
        drop(log);
        if unlisted {
            self.core.list_for_flush(Arc::clone(self));
        }
    }

    /// Commits an event and everything that rides along, and returns its number.
    ///
    /// When that is impossible the future never resolves: the run is broken off, and its workflow with it.
    pub(super) async fn commit(&self, event: Event) -> u64 {
        let _busy = self.busy();
        match self.try_commit(&event, None).await {
            Ok(seq) => seq,
            Err(error) => {
                self.break_off(error);
                std::future::pending().await
            }
        }
    }

    /// Commits the end of the run.
    pub(super) async fn finish(&self, ending: RunEnding) -> Result<u64, Error> {
        let standing = Standing {
            status: ending.status,
            stop: ending.stop,
            finished_at: Some(self.core.clock.now()),
            summary: lock(&self.log).summary.take(),
        };
        self.try_commit(&Event::RunFinished(Box::new(ending)), Some(standing)).await
    }

    /// Opens a gate: commits the question and from then on takes answers.
    pub(super) async fn open_gate(
        &self,
        path: &Path,
        question: &Question,
        deadline: Option<Timestamp>,
    ) -> Answering {
        let event = Event::GateOpened { path: path.clone(), question: question.clone(), deadline };
        let _busy = self.busy();
        let (sent, answer) = {
            let mut log = lock(&self.log);
            log.open_gates += 1;
            let sent = self.send(&mut log, &event, None);
            // In the same critical section, so that no answer can be written down before its question.
            (sent, log.await_answer(path, question))
        };
        match self.written(sent).await {
            Ok(_) => answer,
            Err(error) => {
                self.break_off(error);
                std::future::pending().await
            }
        }
    }

    /// From now on takes answers to a gate that is in the journal.
    pub(super) fn await_answer(&self, path: &Path, question: &Question) -> Answering {
        lock(&self.log).await_answer(path, question)
    }

    /// Stops taking answers; says whether it did so in time.
    pub(super) fn shut_gate(&self, path: &Path) -> bool {
        lock(&self.log).gates.remove(path).is_some()
    }

    /// Commits the end of a gate that takes no more answers.
    pub(super) async fn close_gate(&self, event: Event) {
        lock(&self.log).open_gates -= 1;
        self.commit(event).await;
    }

    /// Notes the end of a gate that nobody waits at any more, with the next commit.
    pub(super) fn close_gate_later(self: &Arc<Self>, path: &Path, why: GateClosed) {
        lock(&self.log).open_gates -= 1;
        self.ride(&Event::GateClosed { path: path.clone(), why });
    }

    /// Says whether anything may still be done for this run.
    pub(super) fn is_driven(&self) -> bool {
        self.interrupt.get().is_none() && !self.over.load(Ordering::Relaxed)
    }

    pub(super) fn is_replaying(&self) -> bool {
        self.replaying.load(Ordering::Relaxed)
    }

    pub(super) fn claim(&self) -> Claimed {
        Claimed { run: self.run, epoch: self.epoch }
    }

    /// Answers a gate. The answer is checked, written down, and then handed to the workflow.
    pub(super) async fn answer(
        self: &Arc<Self>,
        gate: &str,
        answer: Answer,
        consumes: Option<MessageId>,
    ) -> Result<(), Error> {
        let (path, open) = {
            let mut log = lock(&self.log);
            let path = Path::new(gate);
            if log.answering.contains(&path) {
                return Err(Error::GateClosed { run: self.run, gate: path });
            }
            match log.gates.get(&path) {
                Some(open) => super::mail::check_choice(&path, &open.question, &answer)?,
                None => {
                    let did_you_mean = crate::suggest::nearest(gate, log.gates.keys().map(Path::as_str));
                    return Err(Error::NoSuchGate { run: self.run, gate: gate.to_owned(), did_you_mean });
                }
            }
            let open = log.gates.remove(&path);
            log.answering.insert(path.clone());
            log.open_gates -= 1;
            log.consume(consumes);
            (path, open)
        };
        // From here until the workflow has the answer, the run does not wait for people.
        let underway = Underway::on(self);
        self.publish_waiting();
        let event = Event::GateAnswered { path: path.clone(), answer: answer.clone() };
        let written = self.try_commit(&event, None).await;
        lock(&self.log).answering.remove(&path);
        match written {
            Ok(_) => {
                // Nobody may be waiting for it any more; it is in the journal all the same.
                if let Some(open) = open {
                    let _ = open.answered.send((answer, underway));
                }
                Ok(())
            }
            Err(error @ Error::Ended { .. }) => Err(error),
            Err(error) => {
                self.break_off(error.clone());
                Err(error)
            }
        }
    }

    /// Asks the workflow to stop: written down first, then made known.
    pub(super) async fn request_cancel(
        &self,
        reason: &str,
        by: &str,
        consumes: Option<MessageId>,
    ) -> Result<(), Error> {
        let event = Event::CancelRequested { reason: reason.to_owned(), by: by.to_owned() };
        let sent = {
            let mut log = lock(&self.log);
            if let Some(status) = log.ended {
                return Err(Error::Ended { run: self.run, status, verb: "cancelled" });
            }
            log.consume(consumes);
            let first = !std::mem::replace(&mut log.cancel_asked, true);
            first.then(|| self.send(&mut log, &event, None))
        };
        let Some(sent) = sent else {
            // Somebody else's wish is on its way; ours is fulfilled with it.
            return tokio::select! {
                _ = self.cancelled() => Ok(()),
                error = self.interrupted() => Err(error.clone()),
            };
        };
        match self.written(sent).await {
            Ok(_) => {
                let _ = self.cancel.set(Arc::from(reason));
                self.bell.notify_waiters();
                Ok(())
            }
            Err(error) => {
                self.break_off(error.clone());
                Err(error)
            }
        }
    }

    pub(super) fn cancel_reason(&self) -> Option<&Arc<str>> {
        self.cancel.get()
    }

    pub(super) async fn cancelled(&self) -> &Arc<str> {
        self.until_rung(|| self.cancel.get()).await
    }

    /// Leaves a message to be removed with the next commit.
    pub(super) fn consume(&self, message: MessageId) {
        lock(&self.log).consume(Some(message));
    }

    /// Sets what lists show of this run; told with the next change of standing.
    pub(super) fn summarize(&self, summary: String) {
        lock(&self.log).summary = Some(summary);
    }

    pub(super) fn conclude(&self, conclusion: Conclusion) {
        *lock(&self.conclusion) = conclusion;
    }

    pub(super) fn conclusion(&self) -> Conclusion {
        *lock(&self.conclusion)
    }

    /// Returns how long the run has been driven, the time between drivers not counted.
    pub(super) fn driven(&self) -> std::time::Duration {
        let (before, began) = self.driven;
        before + self.core.clock.now().since(began)
    }

    /// Notes what a step has spent.
    pub(super) fn pay(&self, path: &Path, spend: Spend) {
        lock(&self.paid).push((path.clone(), spend));
    }

    /// Returns what was spent inside a scope.
    pub(super) fn paid_inside(&self, scope: &Path) -> Spend {
        let paid = lock(&self.paid);
        paid.iter().filter(|(path, _)| path.is_inside(scope.as_str())).map(|(_, spend)| *spend).sum()
    }

    /// Stops driving. The workflow's future is dropped where it stands; the journal keeps what it has.
    pub(super) fn break_off(&self, error: Error) {
        let _ = self.interrupt.set(error);
        self.bell.notify_waiters();
    }

    pub(super) async fn interrupted(&self) -> &Error {
        self.until_rung(|| self.interrupt.get()).await
    }

    async fn until_rung<'a, T: 'a>(&'a self, ready: impl Fn() -> Option<&'a T>) -> &'a T {
        loop {
            let rung = self.bell.notified();
            tokio::pin!(rung);
            // Listen first, look second: a bell between the two is not missed.
            rung.as_mut().enable();
            if let Some(value) = ready() {
                return value;
            }
            rung.await;
        }
    }

    /// Marks something under way until the mark is dropped.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(&self.busy)
    }

    /// Publishes whether the run waits for people, after its workflow has gone as far as it can for now.
    pub(super) fn publish_waiting(&self) {
        let waits = self.busy.load(Ordering::Relaxed) == 0 && !lock(&self.log).gates.is_empty();
        self.phase.send_if_modified(|phase| match (&phase, waits) {
            (Phase::Running, true) => {
                *phase = Phase::Waiting;
                true
            }
            (Phase::Waiting, false) => {
                *phase = Phase::Running;
                true
            }
            _ => false,
        });
    }

    pub(super) fn publish_end(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Waits until the run is no longer driven here.
    pub(super) async fn until_over(&self) {
        let over = |phase: &Phase| matches!(phase, Phase::Ended(_) | Phase::Broken(_));
        // The sender lives as long as we do, so this cannot fail.
        let _ = self.phase.subscribe().wait_for(over).await;
    }

    /// Writes what waits, without anybody waiting for it.
    pub(super) async fn flush(&self) {
        let sent = {
            let mut log = lock(&self.log);
            log.listed = false;
            if log.pending.is_empty() {
                return;
            }
            self.submit(&mut log, None)
        };
        if let Err(error) = self.written(sent).await {
            self.break_off(error);
        }
    }

    async fn try_commit(&self, event: &Event, standing: Option<Standing>) -> Result<u64, Error> {
        let sent = self.send(&mut lock(&self.log), event, standing);
        self.written(sent).await
    }

    fn send(&self, log: &mut Log, event: &Event, standing: Option<Standing>) -> Sent<'_> {
        self.push(log, event)?;
        self.submit(log, standing)
    }

    fn push(&self, log: &mut Log, event: &Event) -> Result<(), Error> {
        if let Some(status) = log.ended {
            return Err(Error::Ended { run: self.run, status, verb: "changed" });
        }
        let at = self.core.clock.now();
        #[cfg(debug_assertions)]
        {
            let seq = log.shadow.seq + 1;
            let record = Record { seq, at, event: event.clone() };
            log.shadow.apply(&record).map_err(|source| Error::Journal { run: self.run, source })?;
        }
        log.pending.push(at, event);
        if let Event::RunFinished(ending) = event {
            log.ended = Some(ending.status);
            self.over.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Hands the pending events to the store. The caller holds the log, so batches leave in the order of their
    /// numbers.
    fn submit(&self, log: &mut Log, standing: Option<Standing>) -> Sent<'_> {
        if let Some(error) = self.interrupt.get() {
            return Err(error.clone());
        }
        let pending = std::mem::take(&mut log.pending);
        let first = log.next;
        let count = pending.count();
        log.next += u64::from(count);
        let status = if log.open_gates > 0 { Status::Waiting } else { Status::Running };
        let standing = standing.or_else(|| {
            (status != log.told || log.summary.is_some())
                .then(|| Standing { summary: log.summary.take(), ..Standing::unfinished(status) })
        });
        log.told = status;
        let append = Append {
            run: self.run,
            epoch: self.epoch,
            batch: store::Batch { first, count, text: pending.into_text() },
            standing,
            consumes: std::mem::take(&mut log.consumes),
        };
        let last = append.batch.last();
        match self.core.faults.as_ref().map_or(AppendFault::None, super::Faults::at_append) {
            AppendFault::None => Ok((last, self.core.store.append(append))),
            AppendFault::Fail(error) => Err(error.into()),
            AppendFault::Crash(When::Before) => {
                self.core.halt(&Error::Crashed);
                Err(Error::Crashed)
            }
            AppendFault::Crash(When::After) => {
                let written = self.core.store.append(append);
                let crash = async move {
                    let _ = written.await;
                    self.core.halt(&Error::Crashed);
                    Err(store::Error::Closed)
                };
                Ok((last, Box::pin(crash)))
            }
        }
    }

    async fn written(&self, sent: Sent<'_>) -> Result<u64, Error> {
        let (last, reply) = sent?;
        // If the run was broken off meanwhile, that is why.
        reply.await.map_err(|error| self.interrupt.get().cloned().unwrap_or(error.into()))?;
        self.written.send_modify(|written| *written = (*written).max(last));
        Ok(last)
    }
}

/// The number of the last event sent, and the store's reply.
type Sent<'a> = Result<(u64, Reply<'a, ()>), Error>;

/// An answer is on its way to the workflow as long as this lives.
#[derive(Debug)]
pub(super) struct Underway(Arc<Live>);

impl Underway {
    fn on(live: &Arc<Live>) -> Self {
        live.busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(live))
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Something is under way as long as this lives.
pub(super) struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
