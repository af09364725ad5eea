//! A workflow that writes, one that gets stuck, and a look into what was written.

use std::path::Path;

use redraft::store::{Query, SqliteStore, Store};
use redraft::{Ctx, Engine, Failure, Flow, RunId, flow};

/// Takes `steps` steps that return about 1 KiB each.
pub(crate) fn writer() -> Flow<u32, u32> {
    flow("writer", |ctx: Ctx, steps: u32| async move {
        for n in 0..steps {
            ctx.step("write", || async { Ok::<_, Failure>(format!("{n:01024}")) }).await?;
        }
        Ok::<_, Failure>(steps)
    })
}

/// Takes a step that never ends.
pub(crate) fn stuck() -> Flow<(), ()> {
    flow("stuck", |ctx: Ctx, ()| async move {
        ctx.step("stuck", std::future::pending::<Result<(), Failure>>).await
    })
}

pub(crate) async fn engine(path: &Path) -> Engine {
    Engine::on(SqliteStore::open(path).unwrap()).workflow(writer()).open().await.unwrap()
}

/// Reads the whole journal of every run, checks its numbers, and returns how many events each has.
pub(crate) async fn lengths(store: &SqliteStore) -> Vec<(RunId, u64)> {
    let mut lengths = Vec::new();
    for head in store.list(Query::default()).await.unwrap() {
        let mut next = 1;
        for batch in store.read(head.run, 0).await.unwrap() {
            assert_eq!(batch.first, next, "the journal has a gap");
            let events: Vec<serde_json::Value> = serde_json::from_str(&batch.text).unwrap();
            assert_eq!(events.len(), batch.count as usize);
            next += events.len() as u64;
        }
        assert_eq!(head.seq, next - 1, "head and journal disagree");
        lengths.push((head.run, head.seq));
    }
    lengths
}
