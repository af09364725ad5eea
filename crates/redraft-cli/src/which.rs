//! Which run is meant: by its whole id, by enough of its beginning or end, or by `last`.

use redraft::store::Query;
use redraft::{Engine, RunId};

use crate::settings::Settings;
use crate::trouble::{Exit, Trouble};

/// Finds a run by what was typed.
pub(crate) async fn find(engine: &Engine, typed: &str) -> Result<RunId, Trouble> {
    let limit = |limit| Query { limit, ..Query::default() };
    if typed == "last" {
        let newest = engine.list(limit(Some(1))).await?;
        let none = || Trouble::new(Exit::Usage, "there are no runs yet").hint("redraft run SPEC");
        return newest.first().map(|head| head.run).ok_or_else(none);
    }
    if let Ok(run) = typed.parse::<RunId>() {
        return Ok(run);
    }
    // `run_01JB…Q4`, as ids are shown where there is little room.
    let (head, tail) = typed.split_once('…').or_else(|| typed.split_once("...")).unwrap_or((typed, ""));
    let is_it = |id: &str| id.starts_with(head) && id.ends_with(tail);
    let suffix = |id: &str| tail.is_empty() && head.len() >= 4 && id.ends_with(head);
    let all = engine.list(limit(None)).await?;
    let meant: Vec<RunId> = all
        .iter()
        .map(|head| head.run)
        .filter(|run| {
            let id = run.to_string();
            is_it(&id) || suffix(&id)
        })
        .collect();
    match meant.as_slice() {
        [run] => Ok(*run),
        [] => Err(Trouble::new(Exit::Usage, format!("there is no run `{typed}`"))
            .code("run-not-found")
            .hint("redraft list")),
        many => Err(Trouble::new(Exit::Usage, format!("`{typed}` may be any of {} runs", many.len()))
            .hint("redraft list")),
    }
}

/// Opens the store to look for a run. Without a store there is none.
pub(crate) async fn look(settings: &Settings, typed: &str) -> Result<(Engine, RunId), Trouble> {
    let none = || {
        let place = settings.store.value.display();
        Trouble::new(Exit::Usage, format!("there is no run `{typed}`: there is no store at `{place}` yet"))
            .code("run-not-found")
            .hint("redraft run SPEC")
    };
    let engine = settings.look().await?.ok_or_else(none)?;
    let run = find(&engine, typed).await?;
    Ok((engine, run))
}
