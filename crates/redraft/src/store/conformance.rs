//! The suite that every store must pass.
//!
//! ```
//! # use std::{collections::HashMap, sync::Mutex};
//! # use redraft::store::{MemoryStore, conformance};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let stores: Mutex<HashMap<String, MemoryStore>> = Mutex::default();
//! // The same name must open the same runs again; a new name an empty store.
//! let open = |name: &str| Ok(stores.lock().unwrap().entry(name.to_owned()).or_default().clone());
//! conformance::check(open).await.unwrap();
//! # }
//! ```
//!
//! Each check is named after the promise of [`Store`] that it holds the store to. What only one kind of store can get
//! wrong (a torn file, a full disk) is tested beside that store.

use std::fmt;

use futures_util::future::join_all;

use super::{
    Append, Batch, Claim, Claimed, Created, Epoch, Error, Head, Lease, Message, NewRun, Query, Standing,
    Store, Which,
};
use crate::clock::Timestamp;
use crate::id::{DriverId, MessageId, RunId};
use crate::outcome::{Status, Stop};

/// A promise that a store broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The check that found it.
    pub check: &'static str,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.seen)
    }
}

impl std::error::Error for Broken {}

/// What a check found: nothing, or what was wrong.
type Found = Result<(), String>;

/// Holds a store to its promises. `open` opens a store by name: the same name, the same runs.
///
/// # Errors
/// Tells the first promise that is broken.
pub async fn check<S, F>(open: F) -> Result<(), Broken>
where
    S: Store,
    F: Fn(&str) -> Result<S, Error>,
{
    macro_rules! run {
        ($($check:ident),* $(,)?) => {
            $(
                let subject = Subject { open: &open, name: stringify!($check) };
                $check(subject).await.map_err(|seen| Broken { check: stringify!($check), seen })?;
            )*
        };
    }
    run!(
        what_is_written_can_be_read,
        a_batch_out_of_order_is_refused_and_changes_nothing,
        the_order_of_calls_counts_not_the_order_of_polls,
        a_stale_driver_is_refused,
        a_run_is_held_by_one_living_driver,
        of_racing_writers_exactly_one_wins,
        a_refused_write_harms_no_other,
        writers_of_many_runs_do_not_mix_them_up,
        everything_is_there_after_reopening,
        a_key_makes_one_run,
        unfinished_runs_are_claimed_and_finished_ones_are_not,
        lists_are_filtered_and_paged_newest_first,
        messages_stay_until_an_append_consumes_them,
        a_large_batch_is_kept_whole,
        a_run_that_is_not_there_is_not_found,
    );
    Ok(())
}

struct Subject<'a, F> {
    open: &'a F,
    name: &'static str,
}

impl<S: Store, F: Fn(&str) -> Result<S, Error>> Subject<'_, F> {
    fn open(&self) -> Result<S, String> {
        (self.open)(self.name).map_err(|error| format!("it could not be opened: {error}"))
    }
}

fn text(first: u64, count: u32) -> String {
    let events: Vec<String> = (first..first + u64::from(count)).map(|n| format!("{{\"n\":{n}}}")).collect();
    format!("[{}]", events.join(","))
}

fn batch(first: u64, count: u32) -> Batch {
    Batch { first, count, text: text(first, count) }
}

fn new_run(driver: DriverId) -> NewRun {
    NewRun {
        run: RunId::new(),
        workflow: "essay".to_owned(),
        version: 3,
        key: None,
        created_at: Timestamp::from_millis(1_767_225_600_000),
        standing: Standing::unfinished(Status::Queued),
        driver,
        batch: batch(1, 2),
    }
}

fn append(run: RunId, epoch: Epoch, first: u64, count: u32) -> Append {
    Append { run, epoch, batch: batch(first, count), standing: None, consumes: Vec::new() }
}

fn finished(status: Status, stop: Stop) -> Standing {
    Standing {
        status,
        stop: Some(stop),
        finished_at: Some(Timestamp::from_millis(1_767_225_601_000)),
        summary: Some("{\"best_score\":0.9}".to_owned()),
    }
}

/// Says what went wrong with a call that should have worked.
fn works<T>(what: &str, result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| format!("{what} failed: {error}"))
}

fn refused<T: fmt::Debug>(what: &str, result: Result<T, Error>, wanted: fn(&Error) -> bool) -> Found {
    match result {
        Err(error) if wanted(&error) => Ok(()),
        other => Err(format!("{what} should have been refused, but gave {other:?}")),
    }
}

fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, wanted: T) -> Found {
    if found == wanted { Ok(()) } else { Err(format!("{what}: wanted {wanted:?}, found {found:?}")) }
}

async fn attached<S: Store>(store: &S) -> Result<Lease, String> {
    works("attaching", store.attach().await)
}

/// Makes a run with two events, held by `driver`.
async fn started<S: Store>(store: &S, driver: DriverId) -> Result<(RunId, Epoch), String> {
    let new = new_run(driver);
    let run = new.run;
    match works("creating a run", store.create(new).await)? {
        Created::New(epoch) => Ok((run, epoch)),
        Created::Existing(other) => Err(format!("a run without a key was taken for {other}")),
    }
}

async fn head_of<S: Store>(store: &S, run: RunId) -> Result<Head, String> {
    works("reading a head", store.head(run).await)?.ok_or_else(|| format!("{run} has no head"))
}

/// Reads a whole journal and checks that its numbers have no gaps.
async fn journal<S: Store>(store: &S, run: RunId) -> Result<String, String> {
    let batches = works("reading", store.read(run, 0).await)?;
    let mut next = 1;
    for batch in &batches {
        same("the number of a batch's first event", batch.first, next)?;
        next += u64::from(batch.count);
    }
    same("the number of the last event in the head", head_of(store, run).await?.seq, next - 1)?;
    Ok(batches.into_iter().map(|batch| batch.text).collect())
}

async fn what_is_written_can_be_read<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    works("appending", store.append(append(run, epoch, 3, 1)).await)?;
    works("appending", store.append(append(run, epoch, 4, 3)).await)?;
    same("the journal", journal(&store, run).await?, [text(1, 2), text(3, 1), text(4, 3)].concat())?;
    let tail = works("reading a tail", store.read(run, 5).await)?;
    same("the batches with events after 5", tail, vec![batch(4, 3)])?;
    same("the batches after the last event", works("reading", store.read(run, 6).await)?, vec![])?;
    let head = head_of(&store, run).await?;
    same("the workflow", (head.workflow.as_str(), head.version), ("essay", 3))?;
    same("the holder", head.holder, Some(lease.driver))
}

async fn a_batch_out_of_order_is_refused_and_changes_nothing<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    for first in [1, 2, 4, 9] {
        let result = store.append(append(run, epoch, first, 1)).await;
        refused("a batch at the wrong place", result, |error| matches!(error, Error::Conflict { .. }))?;
    }
    same("the journal", journal(&store, run).await?, text(1, 2))
}

async fn the_order_of_calls_counts_not_the_order_of_polls<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    let (a, b, c) = (
        store.append(append(run, epoch, 3, 1)),
        store.append(append(run, epoch, 4, 1)),
        store.append(append(run, epoch, 5, 1)),
    );
    works("the third append", c.await)?;
    drop(b);
    works("the first append", a.await)?;
    same(
        "the journal",
        journal(&store, run).await?,
        [text(1, 2), text(3, 1), text(4, 1), text(5, 1)].concat(),
    )
}

async fn a_stale_driver_is_refused<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let (old, new) = (attached(&store).await?, attached(&store).await?);
    let (run, stale) = started(&store, old.driver).await?;
    let claim = Claim { driver: new.driver, which: Which::Seize(run) };
    let claimed = works("seizing", store.claim(claim).await)?;
    let fresh = claimed.first().ok_or("seizing gave nothing")?.epoch;
    if fresh <= stale {
        return Err(format!("the new epoch {fresh:?} is not higher than {stale:?}"));
    }
    let late = store.append(append(run, stale, 3, 1)).await;
    refused("a write under an old epoch", late, |error| matches!(error, Error::Fenced { .. }))?;
    works("a write under the new epoch", store.append(append(run, fresh, 3, 1)).await)?;
    let late = store.append(append(run, stale, 4, 1)).await;
    refused("a write under an old epoch", late, |error| matches!(error, Error::Fenced { .. }))?;
    same("the journal", journal(&store, run).await?, [text(1, 2), text(3, 1)].concat())
}

async fn a_run_is_held_by_one_living_driver<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let other_store = subject.open()?;
    let (first, second) = (attached(&store).await?, attached(&other_store).await?);
    let (run, epoch) = started(&store, first.driver).await?;
    let claim = || Claim { driver: second.driver, which: Which::Run(run) };
    let result = other_store.claim(claim()).await;
    refused("a claim on a run that is held", result, |error| matches!(error, Error::Held { .. }))?;
    let held = Claimed { run, epoch };
    works("letting go", store.release(vec![held.clone()]).await)?;
    works("claiming a run that was let go", other_store.claim(claim()).await)?;
    works("letting go of an old claim", store.release(vec![held]).await)?;
    let late = store.append(append(run, epoch, 3, 1)).await;
    refused("a write under a claim that was given back", late, |error| {
        matches!(error, Error::Fenced { .. })
    })?;
    let again = Claim { driver: first.driver, which: Which::Run(run) };
    let result = store.claim(again.clone()).await;
    refused("a claim on a run that is held", result, |error| matches!(error, Error::Held { .. }))?;
    drop(second);
    works("claiming a dead driver's run", store.claim(again.clone()).await)?;
    works("claiming one's own run", store.claim(again).await)?;
    Ok(())
}

async fn of_racing_writers_exactly_one_wins<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    for round in 0..20 {
        let replies = join_all((0..8).map(|_| store.append(append(run, epoch, 3 + round, 1)))).await;
        let won = replies.iter().filter(|reply| reply.is_ok()).count();
        same("the number of winners", won, 1)?;
    }
    journal(&store, run).await.map(drop)
}

async fn a_refused_write_harms_no_other<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (good, epoch) = started(&store, lease.driver).await?;
    let (bad, other) = started(&store, lease.driver).await?;
    let (a, b, c, d) = (
        store.append(append(good, epoch, 3, 1)),
        store.append(append(bad, other, 7, 1)),
        store.append(append(bad, Epoch(other.0 + 5), 3, 1)),
        store.append(append(good, epoch, 4, 1)),
    );
    works("a good write", a.await)?;
    refused("a bad write", b.await, |error| matches!(error, Error::Conflict { .. }))?;
    refused("a bad write", c.await, |error| matches!(error, Error::Fenced { .. }))?;
    works("a good write", d.await)?;
    same("the good journal", journal(&store, good).await?, [text(1, 2), text(3, 1), text(4, 1)].concat())?;
    same("the bad journal", journal(&store, bad).await?, text(1, 2))
}

async fn writers_of_many_runs_do_not_mix_them_up<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let writers = (0..50).map(|n: u32| {
        let (store, driver) = (&store, lease.driver);
        async move {
            let (run, epoch) = started(store, driver).await?;
            let mut wanted = text(1, 2);
            let mut next = 3;
            for round in 0..20 {
                let count = 1 + (n + round) % 3;
                works("appending", store.append(append(run, epoch, next, count)).await)?;
                wanted.push_str(&text(next, count));
                next += u64::from(count);
            }
            same("the journal", journal(store, run).await?, wanted)
        }
    });
    join_all(writers).await.into_iter().collect()
}

async fn everything_is_there_after_reopening<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    let mut last = append(run, epoch, 3, 2);
    last.standing = Some(finished(Status::Exhausted, Stop::IterationsSpent));
    works("appending", store.append(last).await)?;
    let before = (head_of(&store, run).await?, journal(&store, run).await?);
    drop((store, lease));
    let store = subject.open()?;
    same("head and journal", (head_of(&store, run).await?, journal(&store, run).await?), before.clone())?;
    same("the standing", before.0.standing, finished(Status::Exhausted, Stop::IterationsSpent))
}

async fn a_key_makes_one_run<S: Store>(subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let keyed = |workflow: &str| NewRun {
        workflow: workflow.to_owned(),
        key: Some("order-17".to_owned()),
        ..new_run(lease.driver)
    };
    let first = keyed("essay");
    let run = first.run;
    let created = join_all([first, keyed("essay"), keyed("essay")].map(|new| store.create(new))).await;
    let made: Vec<Created> =
        created.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let wanted = vec![Created::New(Epoch(1)), Created::Existing(run), Created::Existing(run)];
    same("what three creations with one key made", made, wanted)?;
    let other = works("the same key for another workflow", store.create(keyed("report")).await)?;
    same("what it made", other, Created::New(Epoch(1)))?;
    let again = NewRun { run, ..new_run(lease.driver) };
    refused("an id that is taken", store.create(again).await, |error| matches!(error, Error::Exists { .. }))
}

async fn unfinished_runs_are_claimed_and_finished_ones_are_not<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let (dead, alive, claimer) = (attached(&store).await?, attached(&store).await?, attached(&store).await?);
    let (orphan, _) = started(&store, dead.driver).await?;
    let (done, epoch) = started(&store, dead.driver).await?;
    let (busy, _) = started(&store, alive.driver).await?;
    let stranger = NewRun { workflow: "other".to_owned(), ..new_run(dead.driver) };
    works("creating", store.create(stranger).await)?;
    let mut last = append(done, epoch, 3, 1);
    last.standing = Some(finished(Status::Completed, Stop::Accepted));
    works("finishing", store.append(last).await)?;
    same("the holder of a finished run", head_of(&store, done).await?.holder, None)?;
    drop(dead);
    let which = Which::Unfinished { workflows: vec!["essay".to_owned()] };
    let claimed = works("claiming", store.claim(Claim { driver: claimer.driver, which }).await)?;
    let runs: Vec<RunId> = claimed.iter().map(|claimed| claimed.run).collect();
    same("the runs claimed", runs, vec![orphan])?;
    let epoch = claimed.first().ok_or("nothing was claimed")?.epoch;
    works("writing to it", store.append(append(orphan, epoch, 3, 1)).await)?;
    same("who holds the busy one", head_of(&store, busy).await?.holder, Some(alive.driver))
}

async fn lists_are_filtered_and_paged_newest_first<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let mut runs = Vec::new();
    for n in 0..5 {
        let (run, epoch) = started(&store, lease.driver).await?;
        if n % 2 == 0 {
            let mut last = append(run, epoch, 3, 1);
            last.standing = Some(finished(Status::Failed, Stop::Failed));
            works("finishing", store.append(last).await)?;
        }
        runs.insert(0, run);
    }
    let ids = |heads: Vec<Head>| heads.into_iter().map(|head| head.run).collect::<Vec<_>>();
    let list = |query| async { works("listing", store.list(query).await).map(ids) };
    same("all", list(Query::default()).await?, runs.clone())?;
    let page = Query { limit: Some(2), ..Query::default() };
    let (first, rest) = runs.split_at(2);
    same("the first page", list(page.clone()).await?, first.to_vec())?;
    let next = Query { before: first.last().copied(), ..page };
    same("the second page", list(next).await?, rest.iter().take(2).copied().collect())?;
    let nowhere = Query { before: Some(RunId::new()), ..Query::default() };
    same("the page after nowhere", list(nowhere).await?, vec![])?;
    let failed = Query { status: vec![Status::Failed], ..Query::default() };
    same("the failed ones", list(failed).await?, runs.iter().step_by(2).copied().collect())?;
    let other = Query { workflow: Some("other".to_owned()), ..Query::default() };
    same("those of another workflow", list(other).await?, vec![])
}

async fn messages_stay_until_an_append_consumes_them<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let (lease, stranger) = (attached(&store).await?, attached(&store).await?);
    let (run, epoch) = started(&store, lease.driver).await?;
    let message = |body: &str| Message { id: MessageId::new(), run, body: body.to_owned() };
    let (first, second) = (message("one"), message("two"));
    for message in [&first, &second] {
        works("posting", store.post(message.clone()).await)?;
    }
    let inbox = || async { works("reading the inbox", store.inbox(lease.driver).await) };
    same("the inbox", inbox().await?, vec![first.clone(), second.clone()])?;
    let theirs = works("reading another's inbox", store.inbox(stranger.driver).await)?;
    same("another's inbox", theirs, vec![])?;
    let mut bad = append(run, epoch, 9, 1);
    bad.consumes = vec![first.id];
    refused("a bad write", store.append(bad).await, |error| matches!(error, Error::Conflict { .. }))?;
    same("the inbox after a refused write", inbox().await?, vec![first.clone(), second.clone()])?;
    let mut good = append(run, epoch, 3, 1);
    good.consumes = vec![first.id];
    works("consuming", store.append(good).await)?;
    same("the inbox after it", inbox().await?, vec![second])?;
    let mut last = append(run, epoch, 4, 1);
    last.standing = Some(finished(Status::Completed, Stop::Accepted));
    works("finishing", store.append(last).await)?;
    let late = store.append(append(run, epoch, 5, 1)).await;
    refused("a write after the end", late, |error| matches!(error, Error::Fenced { .. }))?;
    let late = store.post(message("late")).await;
    refused("a message after the end", late, |error| matches!(error, Error::Ended { .. }))?;
    works("claiming", store.claim(Claim { driver: lease.driver, which: Which::Run(run) }).await)?;
    same("the inbox of a finished run", inbox().await?, vec![])
}

async fn a_large_batch_is_kept_whole<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let (run, epoch) = started(&store, lease.driver).await?;
    let mut large = append(run, epoch, 3, 1);
    large.batch.text = format!("[\"{}\"]", "ä".repeat(10 << 20));
    let wanted = large.batch.text.len();
    works("appending 20 MiB", store.append(large).await)?;
    let read = works("reading it", store.read(run, 2).await)?;
    same("its size", read.iter().map(|batch| batch.text.len()).sum(), wanted)
}

async fn a_run_that_is_not_there_is_not_found<S: Store>(
    subject: Subject<'_, impl Fn(&str) -> Result<S, Error>>,
) -> Found {
    let store = subject.open()?;
    let lease = attached(&store).await?;
    let run = RunId::new();
    let missing = |error: &Error| matches!(error, Error::NotFound { .. });
    refused("reading", store.read(run, 0).await, missing)?;
    refused("appending", store.append(append(run, Epoch(1), 1, 1)).await, missing)?;
    refused("claiming", store.claim(Claim { driver: lease.driver, which: Which::Run(run) }).await, missing)?;
    refused(
        "posting",
        store.post(Message { id: MessageId::new(), run, body: String::new() }).await,
        missing,
    )?;
    same("its head", works("asking for it", store.head(run).await)?, None)
}
