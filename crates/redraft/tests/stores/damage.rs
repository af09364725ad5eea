//! What happens to files: torn tails, full disks, strangers, rot.

use std::fs;

use redraft::store::sqlite::SqliteOptions;
use redraft::store::{Error, Query, SqliteStore, Store};
use redraft::{Engine, Status};

use crate::support::{engine, lengths, writer};

/// SQLite keeps what is not folded in yet beside the file.
const WAL: &str = "db-wal";

#[tokio::test]
async fn a_torn_tail_loses_at_most_what_was_never_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("torn.db");
    let driving = engine(&path).await;
    driving.start(&writer(), 30).await.unwrap().outcome().await.unwrap();
    let (database, wal) = (fs::read(&path).unwrap(), fs::read(path.with_extension(WAL)).unwrap());
    drop(driving);
    assert!(wal.len() > 100_000, "nothing is left in the log to tear");

    let mut seen = Vec::new();
    for cut in (0..wal.len()).step_by(wal.len() / 60).chain([wal.len()]) {
        for garbage in [0, 500] {
            let torn = folder.path().join(format!("torn-{cut}-{garbage}.db"));
            fs::write(&torn, &database).unwrap();
            fs::write(torn.with_extension(WAL), [&wal[..cut], &vec![0x5a; garbage]].concat()).unwrap();
            match SqliteStore::open(&torn) {
                Ok(store) => seen.extend(lengths(&store).await.into_iter().map(|(_, events)| events)),
                Err(error) => panic!("torn at {cut}: {error}"),
            }
        }
    }
    assert!(seen.is_sorted(), "a longer log gave a shorter journal: {seen:?}");
    assert_eq!(seen.last(), Some(&62), "the whole log gives the whole run");

    // A run with a torn tail is taken up where it is whole.
    let torn = folder.path().join("again.db");
    fs::write(&torn, &database).unwrap();
    fs::write(torn.with_extension(WAL), &wal[..wal.len() / 2]).unwrap();
    let again = engine(&torn).await;
    let run = again.list(Query::default()).await.unwrap()[0].run;
    let outcome = again.handle(run).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), Status::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_to_be_full_and_the_runs_go_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.db");
    let mut options = SqliteOptions::default();
    options.max_bytes = Some(300_000);
    let store = SqliteStore::open_with(&path, &options).unwrap();
    let cramped = Engine::on(store).workflow(writer()).open().await.unwrap();
    let mut handles = Vec::new();
    for _ in 0..20 {
        match cramped.start(&writer(), 100).await {
            Ok(handle) => handles.push(handle),
            Err(error) => assert_eq!(error.code(), "store-full"),
        }
    }
    assert!(!handles.is_empty());
    for handle in &handles {
        let error = handle.outcome().await.unwrap_err();
        assert_eq!(error.code(), "store-full");
        assert!(error.hint().unwrap().contains("nothing is lost"));
    }
    let before = lengths(&SqliteStore::open(&path).unwrap()).await;
    drop(cramped);
    let roomy = engine(&path).await;
    assert_eq!(roomy.refused(), []);
    for handle in handles {
        let outcome = roomy.handle(handle.run()).await.unwrap().typed::<u32>().outcome().await.unwrap();
        assert_eq!(outcome.into_output().unwrap(), 100);
    }
    assert!(before.iter().all(|(_, events)| *events >= 1));
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.db");
    fs::write(&garbage, "this is a shopping list, not a database\n".repeat(50)).unwrap();
    let foreign = folder.path().join("foreign.db");
    let db = rusqlite::Connection::open(&foreign).unwrap();
    db.execute_batch("CREATE TABLE shopping (item TEXT); INSERT INTO shopping VALUES ('milk');").unwrap();
    drop(db);
    for path in [garbage, foreign] {
        let before = fs::read(&path).unwrap();
        let error = SqliteStore::open(&path).unwrap_err();
        assert_eq!(error.code(), "store-corrupt", "{error}");
        assert!(error.hint().unwrap().contains("it was not changed"));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_of_a_later_redraft_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("future.db");
    drop(SqliteStore::open(&path).unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    assert_eq!(SqliteStore::open(&path).unwrap_err().code(), "store-from-the-future");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("inside.db"), folder.path().to_owned()] {
        let error = SqliteStore::open(&path).unwrap_err();
        assert_eq!(error.code(), "store-cannot-open");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[tokio::test]
async fn rot_inside_the_file_is_an_error_and_never_a_panic_or_another_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.db");
    let driving = engine(&path).await;
    let run = driving.start(&writer(), 60).await.unwrap();
    run.outcome().await.unwrap();
    drop(driving);
    // Fold the log in, so that the file is all there is.
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    drop(db);
    let sound = fs::read(&path).unwrap();
    let whole = SqliteStore::open(&path).unwrap().read(run.run(), 0).await.unwrap();
    let mut errors = 0;
    for page in 1..sound.len() / 4096 {
        let mut rotten = sound.clone();
        rotten[page * 4096..page * 4096 + 64].fill(0xff);
        let path = folder.path().join("rotten.db");
        let _ = fs::remove_file(path.with_extension(WAL));
        fs::write(&path, rotten).unwrap();
        let read = match SqliteStore::open(&path) {
            Ok(store) => store.read(run.run(), 0).await,
            Err(error) => Err(error),
        };
        match read {
            // The page held something else: an index, or nothing.
            Ok(batches) => assert_eq!(batches, whole, "rot on page {page} was read as truth"),
            Err(Error::Corrupt { .. } | Error::Io { .. } | Error::NotFound { .. }) => errors += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(errors > 10, "only {errors} of the damaged pages were noticed");
}

#[tokio::test]
async fn a_journal_that_was_tampered_with_stops_its_own_run_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tampered.db");
    let stuck = redraft::flow("writer", |ctx: redraft::Ctx, steps: u32| async move {
        for n in 0..steps {
            ctx.step("write", || async { Ok::<_, redraft::Failure>(format!("{n:01024}")) }).await?;
        }
        ctx.step("stuck", std::future::pending::<Result<u32, redraft::Failure>>).await
    });
    let driving = Engine::on(SqliteStore::open(&path).unwrap()).workflow(stuck.clone()).open().await.unwrap();
    let (bad, good) = (driving.start(&stuck, 3).await.unwrap(), driving.start(&stuck, 3).await.unwrap());
    for run in [&bad, &good] {
        let mut events = driving.events(run.run(), 0).await.unwrap();
        while events.next().await.unwrap().unwrap().path != Some(redraft::Path::new("stuck")) {}
    }
    drop(driving);
    let db = rusqlite::Connection::open(&path).unwrap();
    let changed = db
        .execute(
            "UPDATE log SET events = replace(events, 'step_succeeded', 'step_succeded')
             WHERE run = (SELECT no FROM run WHERE id = ?1)",
            [bad.run().to_string()],
        )
        .unwrap();
    assert!(changed > 0);
    drop(db);
    let reopened = Engine::on(SqliteStore::open(&path).unwrap()).workflow(stuck).open().await.unwrap();
    let refused = reopened.refused();
    assert_eq!(refused.len(), 1);
    assert_eq!((refused[0].0, refused[0].1.code()), (bad.run(), "journal-unreadable"));
    assert_eq!(reopened.driving(), [good.run()]);
}

#[tokio::test]
async fn whoever_opens_the_file_can_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("readable.db");
    let driving = engine(&path).await;
    let run = driving.start(&writer(), 2).await.unwrap();
    run.outcome().await.unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    let mut query = db
        .prepare("SELECT type, path, cast(event ->> 'output' AS TEXT) FROM event WHERE run = ?1 ORDER BY seq")
        .unwrap();
    let rows: Vec<(String, Option<String>, Option<String>)> = query
        .query_map([run.run().to_string()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    assert_eq!(
        kinds,
        ["run_started", "step_started", "step_succeeded", "step_started", "step_succeeded", "run_finished"]
    );
    assert_eq!(rows[4].1.as_deref(), Some("write#2"));
    assert_eq!(rows[4].2.as_ref().map(String::len), Some(1024));
}
