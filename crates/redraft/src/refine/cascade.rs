//! Asking the criteria, the cheapest first.

use std::sync::Arc;

use super::Refine;
use super::criterion::{Criterion, Judgement};
use super::outcome::Iteration;
use crate::failure::Failure;
use crate::run::Ctx;
use crate::verify::{Case, Cost, Finding, Gate, Incumbent, Verdict};

/// A draft on its way to its verdict.
pub(super) struct Trial<'a> {
    pub(super) task: &'a Arc<str>,
    pub(super) draft: Arc<str>,
    pub(super) n: u32,
    /// The draft it was made from.
    pub(super) parent: Option<&'a Iteration>,
    pub(super) best: Option<&'a Iteration>,
    pub(super) author: String,
}

/// Judges a draft by every criterion. A failed gate spares the dearer ones, unless all are to be asked.
pub(super) async fn judge(refine: &Refine, ctx: &Ctx, trial: &Trial<'_>) -> Result<Judgement, Failure> {
    let mut order: Vec<(usize, &Criterion)> = refine.criteria.iter().enumerate().collect();
    order.sort_by_key(|(_, criterion)| criterion.verifier.cost());
    let mut said: Vec<Option<Verdict>> = refine.criteria.iter().map(|_| None).collect();
    let mut shut_at: Option<Cost> = None;
    for (at, criterion) in order {
        let cost = criterion.verifier.cost();
        if !refine.ask_all && shut_at.is_some_and(|shut| cost > shut) {
            continue;
        }
        let scope = ctx.group(&criterion.name);
        let verdict = criterion.verifier.verify(&scope, &case(trial, &criterion.name)).await?;
        if !(0.0..=1.0).contains(&verdict.score) {
            let message =
                format!("`{}` gave a score of {}; it must be from 0 to 1", criterion.name, verdict.score);
            return Err(Failure::terminal("no-verdict", message));
        }
        if verdict.gate == Gate::Fail && shut_at.is_none() {
            shut_at = Some(cost);
        }
        if let Some(slot) = said.get_mut(at) {
            *slot = Some(verdict);
        }
    }
    Ok(Judgement::of(refine.criteria.iter().zip(said).collect()))
}

/// What a criterion may know.
fn case(trial: &Trial<'_>, criterion: &str) -> Case {
    let earlier = |iteration: &Iteration| -> Vec<Finding> {
        iteration.open().filter(|finding| finding.verifier == criterion).cloned().collect()
    };
    let score = |iteration: &Iteration| {
        iteration
            .verdicts
            .iter()
            .find(|opinion| opinion.verifier == criterion)
            .and_then(|opinion| opinion.score)
    };
    let mut case = Case::new(Arc::clone(trial.task), Arc::clone(&trial.draft));
    case.iteration = trial.n;
    case.earlier = trial.parent.map(earlier).unwrap_or_default();
    case.incumbent = trial.best.map(|best| Incumbent::new(best.n, best.text.as_str(), score(best)));
    case.authors = vec![trial.author.clone()];
    case
}
