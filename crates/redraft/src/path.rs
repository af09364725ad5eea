//! Where something stands in a run: `refinement/2/critique`.
//!
//! A [`Path`] is the identity of everything a run does. It is made of the names of the groups around a step and
//! the step's own name; a name used again in the same place gets `#2`, `#3` and so on. Paths are part of the
//! journal format: what counts as a legal name here can be widened later, never narrowed.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name of a step, group, gate or workflow, in bytes.
pub const MAX_NAME: usize = 120;

/// The place of a step, group or gate inside a run; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path(Arc<str>);

impl Path {
    /// Returns the run itself: the path without any name.
    #[must_use]
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Reads a path as a person typed it; no check is made that anything stands there.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// Returns the path of the `occurrence`-th child called `name` (the first is 1).
    #[must_use]
    pub(crate) fn child(&self, name: &str, occurrence: u32) -> Self {
        let mut text = String::with_capacity(self.0.len() + name.len() + 5);
        if !self.0.is_empty() {
            text.push_str(&self.0);
            text.push('/');
        }
        text.push_str(name);
        if occurrence > 1 {
            text.push('#');
            text.push_str(&occurrence.to_string());
        }
        Self(text.into())
    }

    /// Returns the path of the group that holds this one; the root's parent is the root.
    #[must_use]
    pub fn parent(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// Returns the last name of the path, with its `#n` if it has one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// Says whether `self` stands inside the group `group`, at any depth.
    #[must_use]
    pub fn is_inside(&self, group: &str) -> bool {
        group.is_empty() || self.0.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Path {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be a name: {reason}", name.escape_debug())]
pub struct BadName {
    name: String,
    reason: &'static str,
}

impl BadName {
    /// The stable code of this error, see [`explain`](crate::explain).
    pub const CODE: &'static str = "bad-name";
}

/// Checks a name of a step, group, gate or workflow.
///
/// # Errors
/// Refuses what would make a path ambiguous or unreadable: an empty or overlong name, `/`, `#`, control
/// characters, and white space at either end.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME {
        "it is longer than 120 bytes"
    } else if name.contains(['/', '#']) {
        "`/` and `#` are the separators of paths"
    } else if name.chars().any(char::is_control) {
        "it holds a control character"
    } else if name.trim() != name {
        "it begins or ends with white space"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(40).collect();
    Err(BadName { name: shown, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_nest_and_number_repeated_names() {
        let root = Path::root();
        let loop_ = root.child("refinement", 1);
        assert_eq!(loop_.child("critique", 1).as_str(), "refinement/critique");
        let again = loop_.child("critique", 2);
        assert_eq!(again.as_str(), "refinement/critique#2");
        assert_eq!((again.parent(), again.name()), ("refinement", "critique#2"));
        assert!(again.is_inside("refinement") && again.is_inside("") && !again.is_inside("refine"));
    }

    #[test]
    fn names_that_would_make_a_path_ambiguous_are_refused() {
        for bad in ["", "a/b", "a#2", "a\nb", " a", "a ", &"x".repeat(121)] {
            assert!(check_name(bad).is_err(), "{bad:?} was taken");
        }
        for good in ["draft", "Kapitel 3", "初稿", "a.b-c_d", &"x".repeat(120)] {
            assert_eq!(check_name(good), Ok(()));
        }
    }
}
