//! Messages to runs: taken while the run lives, refused when it has ended.

use redraft::store::{
    Append, Batch, Created, Epoch, MemoryStore, Message, NewRun, SqliteStore, Standing, Store,
};
use redraft::{MessageId, RunId, Status, Timestamp};

async fn refuses_messages_after_the_end(store: impl Store) {
    let lease = store.attach().await.unwrap();
    let batch = |first| Batch { first, count: 1, text: "[{}]".to_owned() };
    let message = |run| Message { id: MessageId::new(), run, body: "{}".to_owned() };
    for status in Status::ALL.into_iter().filter(|status| status.is_final()) {
        let run = RunId::new();
        let new = NewRun {
            run,
            workflow: "mailed".to_owned(),
            version: 1,
            key: None,
            created_at: Timestamp::EPOCH,
            standing: Standing::unfinished(Status::Running),
            driver: lease.driver,
            batch: batch(1),
        };
        assert_eq!(store.create(new).await, Ok(Created::New(Epoch(1))));
        store.post(message(run)).await.unwrap();
        let standing = Standing { finished_at: Some(Timestamp::EPOCH), ..Standing::unfinished(status) };
        let end =
            Append { run, epoch: Epoch(1), batch: batch(2), standing: Some(standing), consumes: Vec::new() };
        store.append(end).await.unwrap();
        assert_eq!(store.post(message(run)).await.unwrap_err().code(), "run-ended", "{status}");
    }
    assert_eq!(store.inbox(lease.driver).await.unwrap(), []);
}

#[tokio::test]
async fn a_message_to_a_run_that_has_ended_is_refused_however_it_ended() {
    refuses_messages_after_the_end(MemoryStore::new()).await;
    let folder = tempfile::tempdir().unwrap();
    refuses_messages_after_the_end(SqliteStore::open(folder.path().join("mail.db")).unwrap()).await;
}
