//! Which run is meant. People type a whole id, the beginning of one, the end of one, both ends as `redraft list` shows
//! them, or `last`.

use redraft::store::{Head, Query};
use redraft::view::Report;
use redraft::{Engine, RunId};

use crate::settings::Settings;
use crate::text;
use crate::trouble::{Exit, Trouble};

/// What an id begins with.
const PREFIX: &str = "run_";
/// The end of an id must have so many characters, so that a slip does not find a run.
const LEAST_END: usize = 4;
/// How many candidates are named.
const MOST_NAMED: usize = 5;

/// Opens the store, and finds the run in it that was meant.
pub(crate) async fn open(settings: &Settings, typed: &str) -> Result<(Engine, RunId), Trouble> {
    let Some(engine) = settings.look().await? else {
        return Err(unknown(typed, &format!("there is no store at {}", settings.store.value.display())));
    };
    let run = find(&engine, typed).await?;
    Ok((engine, run))
}

/// Reports what came of a run, or of one refinement in it. Of a run that has several, one must be named to compare or
/// print its drafts.
pub(crate) async fn report(engine: &Engine, run: RunId, at: Option<&str>) -> Result<Report, Trouble> {
    let report = engine.report(run).await?;
    let Some(at) = at else { return Ok(report) };
    let has: Vec<&str> = report.refinements.iter().map(|it| it.path.as_str()).collect();
    report.of_refinement(at).ok_or_else(|| {
        let message = match has.as_slice() {
            [] => "this run has not several refinements: leave out --at".to_owned(),
            has => format!("there is no refinement at `{}`; there are {}", text::line(at), has.join(", ")),
        };
        Trouble::new(Exit::Usage, message).hint(format!("redraft show {}", text::short(run)))
    })
}

/// Says that there is no draft to show, and where there are some.
pub(crate) fn no_draft(report: &Report) -> Trouble {
    let run = text::short(report.run_id);
    match report.refinements.first() {
        Some(first) => {
            let has: Vec<&str> = report.refinements.iter().map(|it| it.path.as_str()).collect();
            let message = format!("this run has several refinements: {}", has.join(", "));
            Trouble::new(Exit::Usage, message).hint(format!("redraft show {run} --best --at {}", first.path))
        }
        None => {
            Trouble::new(Exit::Usage, "no draft was judged in this run").hint(format!("redraft show {run}"))
        }
    }
}

async fn find(engine: &Engine, typed: &str) -> Result<RunId, Trouble> {
    if typed == "last" {
        let query = Query { limit: Some(1), ..Query::default() };
        let newest = engine.list(query).await?.into_iter().next().map(|head| head.run);
        return newest.ok_or_else(|| unknown(typed, "there is no run yet"));
    }
    // A whole id needs no list, however many runs there are.
    if let Ok(run) = typed.parse::<RunId>()
        && engine.handle(run).await.is_ok()
    {
        return Ok(run);
    }
    let heads = engine.list(Query::default()).await?;
    let matching: Vec<&Head> = heads.iter().filter(|head| fits(&head.run.to_string(), typed)).collect();
    match matching.as_slice() {
        [one] => Ok(one.run),
        [] => Err(unknown(typed, &format!("there is no run `{typed}`"))),
        many => {
            let named =
                many.iter().take(MOST_NAMED).map(|head| format!("\n  {}  {}", head.run, head.workflow));
            let more = many.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            Err(Trouble::new(
                Exit::Usage,
                format!("`{typed}` may be any of {}:{}{more}", many.len(), named.collect::<String>()),
            )
            .hint("type more of the id"))
        }
    }
}

fn unknown(typed: &str, message: &str) -> Trouble {
    let hint = if typed == "last" { "redraft run SPEC" } else { "redraft list" };
    Trouble::new(Exit::Usage, text::line(message)).code("run-not-found").hint(hint)
}

/// Says whether an id is one that what was typed may mean.
fn fits(id: &str, typed: &str) -> bool {
    let bare = |text: &str| text.strip_prefix(PREFIX).unwrap_or(text).to_ascii_uppercase();
    let (id, wanted) = (bare(id), bare(typed));
    match wanted.split_once('…').or_else(|| wanted.split_once("...")) {
        Some((front, back)) => {
            !(front.is_empty() && back.is_empty())
                && id.len() >= front.len() + back.len()
                && id.starts_with(front)
                && id.ends_with(back)
        }
        None => {
            (wanted.len() >= LEAST_END && id.ends_with(&wanted))
                || (!wanted.is_empty() && id.starts_with(&wanted))
        }
    }
}

/// Says whether a word is meant to be a run, and not something else.
pub(crate) fn is_like_a_run(typed: &str) -> bool {
    let in_alphabet = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '…' || c == '.';
    typed == "last" || typed.starts_with(PREFIX) || typed.chars().all(in_alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_either_end_of_its_id() {
        let id = "run_01JBZK3V5W8X9Y0Z1A2B3C4D5Q4";
        for typed in [id, "run_01JB", "01JBZ", "01jbz", "4D5Q4", "01JB…Q4", "run_01JB...D5Q4"] {
            assert!(fits(id, typed), "{typed}");
        }
        for typed in ["", "run_", "Q4", "5Q4", "JBZK", "…", "02…Q4", "run_01JBZK3V5W8X9Y0Z1A2B3C4D5Q4X"] {
            assert!(!fits(id, typed), "{typed}");
        }
    }

    #[test]
    fn codes_and_runs_are_told_apart() {
        assert!(["last", "run_01J", "01JB…Q4", "D5Q4"].into_iter().all(is_like_a_run));
        assert!(!["budget-spent", "waiting", "diverged"].into_iter().any(is_like_a_run));
    }
}
