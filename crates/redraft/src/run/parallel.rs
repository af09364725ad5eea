//! Several items at once, each in a scope of its own.

use std::future::Future;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::ctx::{Ctx, Divergence};
use crate::failure::Failure;
use crate::journal::GroupKind;
use crate::path::Path;

/// The entry that says which items had ended when the rest was abandoned. Users cannot take this name.
pub(super) const STOPPED: &str = "#stopped";

impl Ctx {
    /// Runs `f` for every item, at most `limit` at a time, and returns what came of each, in order. One failure does
    /// not sink the rest.
    ///
    /// All items share the run's task: work that blocks or computes belongs on a thread of its own.
    pub async fn parallel<I, T, F, Fut>(
        &self,
        name: &str,
        items: impl IntoIterator<Item = I> + Send,
        limit: usize,
        f: F,
    ) -> Vec<Result<T, Failure>>
    where
        I: Send,
        T: Send,
        F: Fn(Ctx, I) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, Failure>> + Send,
    {
        let items = numbered(items);
        let ended = self.spread(name, items, limit, f, |_| false).await;
        // Without a condition to stop on, every item has ended.
        ended.into_iter().flatten().collect()
    }

    /// Runs `f` for every item, at most `limit` at a time; the first failure abandons the rest.
    ///
    /// # Errors
    /// Gives that failure.
    pub async fn try_parallel<I, T, F, Fut>(
        &self,
        name: &str,
        items: impl IntoIterator<Item = I> + Send,
        limit: usize,
        f: F,
    ) -> Result<Vec<T>, Failure>
    where
        I: Send,
        T: Send,
        F: Fn(Ctx, I) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, Failure>> + Send,
    {
        let ended = self.spread(name, numbered(items), limit, f, Result::is_err).await;
        let whole = ended.iter().all(Option::is_some);
        let values: Vec<T> = ended.into_iter().flatten().collect::<Result<_, _>>()?;
        if !whole {
            let reason = "items were abandoned though none of them failed";
            return self.diverge(Divergence::at(self.path().child(name, 1), reason)).await;
        }
        Ok(values)
    }

    /// Runs `f` for every item, at most `limit` at a time, until `enough` holds for the result of one; the rest is
    /// abandoned. Returns what came of each item that had ended by then, in order.
    pub async fn parallel_until<I, T, F, Fut>(
        &self,
        name: &str,
        items: impl IntoIterator<Item = I> + Send,
        limit: usize,
        f: F,
        enough: impl Fn(&Result<T, Failure>) -> bool + Send,
    ) -> Vec<Option<Result<T, Failure>>>
    where
        I: Send,
        T: Send,
        F: Fn(Ctx, I) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, Failure>> + Send,
    {
        self.spread(name, numbered(items), limit, f, enough).await
    }

    pub(crate) async fn spread<I, T, F, Fut>(
        &self,
        name: &str,
        items: Vec<(String, I)>,
        limit: usize,
        f: F,
        enough: impl Fn(&Result<T, Failure>) -> bool + Send,
    ) -> Vec<Option<Result<T, Failure>>>
    where
        I: Send,
        T: Send,
        F: Fn(Ctx, I) -> Fut + Send + Sync,
        Fut: Future<Output = Result<T, Failure>> + Send,
    {
        let total = items.len();
        let mut ended: Vec<Option<Result<T, Failure>>> =
            std::iter::repeat_with(|| None).take(total).collect();
        if limit == 0 {
            let failure = Failure::terminal(
                "zero-limit",
                format!("`{name}` may run 0 items at a time; the least is 1"),
            );
            ended.fill_with(|| Some(Err(failure.clone())));
            return ended;
        }
        let group = self.open(name, GroupKind::Parallel { items: u32::try_from(total).unwrap_or(u32::MAX) });
        let paths: Vec<Path> = items.iter().map(|(label, _)| group.path().child(label, 1)).collect();
        // If the rest was abandoned before, only the items that had ended then are asked for again: the others would
        // begin new work that nobody waits for.
        let before: Option<Vec<usize>> =
            if group.recorded_ahead(STOPPED) { Some(group.record(STOPPED, Vec::new).await) } else { None };
        if let Some(kept) = &before {
            let kept: Vec<Path> = kept.iter().filter_map(|&at| paths.get(at)).cloned().collect();
            group.abandon(group.path(), &kept);
        }
        let wanted = |at: usize| before.as_ref().is_none_or(|kept| kept.contains(&at));
        let mut waiting = items.into_iter().enumerate().filter(|(at, _)| wanted(*at));
        let begin = |(at, (label, item)): (usize, (String, I))| {
            let work = f(group.item(&label), item);
            async move { (at, work.await) }
        };
        let mut running: FuturesUnordered<_> = waiting.by_ref().take(limit).map(&begin).collect();
        while let Some((at, result)) = running.next().await {
            let stop = before.is_none() && enough(&result);
            if let Some(slot) = ended.get_mut(at) {
                *slot = Some(result);
            }
            if stop && ended.iter().any(Option::is_none) {
                let kept: Vec<usize> =
                    (0..total).filter(|&at| ended.get(at).is_some_and(Option::is_some)).collect();
                let paths: Vec<Path> = kept.iter().filter_map(|&at| paths.get(at)).cloned().collect();
                group.record(STOPPED, || kept).await;
                // On a resume the journal may hold more of them than came to be asked for.
                group.abandon(group.path(), &paths);
                break;
            }
            running.extend(waiting.next().map(&begin));
        }
        ended
    }
}

fn numbered<I>(items: impl IntoIterator<Item = I>) -> Vec<(String, I)> {
    items.into_iter().enumerate().map(|(at, item)| ((at + 1).to_string(), item)).collect()
}
