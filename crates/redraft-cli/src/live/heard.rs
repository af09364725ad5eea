//! What models say while they say it: how far each step has come, and the words themselves if somebody reads along.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use redraft::Path;
use redraft::llm::Audience;

use crate::terminal::tame;

/// Counts what is said at each step.
#[derive(Debug)]
pub(crate) struct Heard {
    aloud: bool,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    words: HashMap<String, usize>,
    /// Whose words were written last.
    speaker: String,
}

impl Heard {
    pub(crate) fn new(aloud: bool) -> Self {
        Self { aloud, said: Mutex::default() }
    }

    /// Returns how many words were said at a step so far.
    pub(crate) fn words(&self, step: &Path) -> usize {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.words.get(step.as_str()).copied().unwrap_or_default()
    }
}

impl Audience for Heard {
    fn hear(&self, step: &Path, piece: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        *said.words.entry(step.as_str().to_owned()).or_default() += piece.split_whitespace().count();
        if self.aloud {
            let mut err = std::io::stderr();
            if said.speaker != step.as_str() {
                step.as_str().clone_into(&mut said.speaker);
                let _ = write!(err, "\n[{step}] ");
            }
            let _ = write!(err, "{}", tame(piece));
            let _ = err.flush();
        }
    }
}
