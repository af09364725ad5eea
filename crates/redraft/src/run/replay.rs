//! How a journal answers instead of the world.
//!
//! While a run is taken over, everything its workflow asks for is looked up here first. Within one scope (the run, a
//! group, an item of a parallel group) the workflow must ask for the same things in the same order as before: the
//! journal holds the beginnings of a scope's entries in the order in which they were asked for, so any prefix of it
//! is a prefix of that order. What does not match is a divergence, and nothing new is done in that scope. What is left
//! out altogether is noticed at the end, before the end is written.

use std::collections::HashMap;

use crate::journal::state::{Body, GateState, Run};
use crate::path::Path;

/// The entries of a journal that the workflow has not asked for again yet.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// What each scope held, in order.
    scopes: HashMap<Path, Vec<Path>>,
    known: HashMap<Path, Recorded>,
}

/// What the journal holds for a path.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) body: Body,
    pub(super) opened_seq: u64,
    pub(super) closed_seq: Option<u64>,
}

/// What a look-up found.
#[derive(Debug)]
pub(super) enum Found {
    /// The journal holds it.
    Known(Box<Recorded>),
    /// The journal ends before it: it is new.
    New,
    /// The journal holds something else at this place.
    Other(Path),
}

impl Replay {
    pub(super) fn of(run: Run) -> Self {
        let mut replay = Self::default();
        for entry in run.entries.into_iter().filter(|entry| !entry.forgotten) {
            replay.scopes.entry(Path::new(entry.path.parent())).or_default().push(entry.path.clone());
            let recorded =
                Recorded { body: entry.body, opened_seq: entry.opened_seq, closed_seq: entry.closed_seq };
            replay.known.insert(entry.path, recorded);
        }
        replay
    }

    pub(super) fn is_over(&self) -> bool {
        self.known.is_empty()
    }

    /// Looks up the `position`-th thing that a scope asks for.
    pub(super) fn look_up(&mut self, scope: &Path, position: usize, path: &Path) -> Found {
        match self.scopes.get(scope).and_then(|order| order.get(position)) {
            None => Found::New,
            Some(expected) if expected == path => match self.known.remove(path) {
                Some(recorded) => {
                    if self.known.is_empty() {
                        // Nobody will ask again; a long run need not carry its past around.
                        self.scopes = HashMap::new();
                    }
                    Found::Known(Box::new(recorded))
                }
                None => Found::New,
            },
            Some(expected) => Found::Other(expected.clone()),
        }
    }

    /// Says whether the journal holds something that was not asked for yet.
    pub(super) fn holds(&self, path: &Path) -> bool {
        self.known.contains_key(path)
    }

    /// Gives up what stands inside `group` but not inside one of `kept`: work that was abandoned on purpose. Returns the
    /// gates among it that were left open.
    pub(super) fn abandon(&mut self, group: &Path, kept: &[Path]) -> Vec<Path> {
        let mut open = Vec::new();
        self.known.retain(|path, recorded| {
            let stays =
                !path.is_inside(group.as_str()) || kept.iter().any(|kept| path.is_inside(kept.as_str()));
            if !stays && matches!(recorded.body, Body::Gate { state: GateState::Open, .. }) {
                open.push(path.clone());
            }
            stays
        });
        open
    }

    /// Returns the first entry that the workflow never asked for.
    pub(super) fn left_over(&self) -> Option<&Path> {
        self.known.iter().min_by_key(|(_, recorded)| recorded.opened_seq).map(|(path, _)| path)
    }
}
