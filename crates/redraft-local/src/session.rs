//! Keeps what was read of the last prompts, so that a prompt that begins like one of them is not read from the start.
//!
//! A kept prefix never changes an answer: prompts are read in blocks that begin at fixed places, only whole blocks are
//! kept, and what the model itself wrote is not. So a prompt gives the same numbers to the last bit, whatever was asked
//! before it. The price is that up to a block of a common prefix is read again.

use candle_core::Result;

use crate::cache::Cache;
use crate::transformer::Transformer;

/// How many tokens are read at once. Larger ones are read a little faster; smaller ones are kept more finely.
pub(crate) const BLOCK: usize = 64;

/// How many prompts are kept at most.
const MOST_KEPT: usize = 4;

/// Prompts that were read, the last used at the end.
pub(crate) struct Sessions {
    kept: Vec<Session>,
    most_tokens: usize,
}

/// A prompt that was read, and what the model remembers of it.
pub(crate) struct Session {
    tokens: Vec<u32>,
    pub(crate) cache: Cache,
}

impl Sessions {
    /// Keeps so many tokens at most, over all prompts.
    pub(crate) fn new(most_tokens: usize) -> Self {
        Self { kept: Vec::new(), most_tokens }
    }

    /// Takes the session that has most of a prompt; it is cut to what they have in common.
    ///
    /// The last token is never in common: it has to be read to know what follows it.
    pub(crate) fn take(&mut self, prompt: &[u32], model: &Transformer) -> Result<Session> {
        let readable = prompt.get(..prompt.len().saturating_sub(1)).unwrap_or_default();
        let common = |session: &Session| {
            let same = session.tokens.iter().zip(readable).take_while(|(a, b)| a == b).count();
            same / BLOCK * BLOCK
        };
        let best = (0..self.kept.len()).rev().max_by_key(|at| self.kept.get(*at).map(common));
        let Some((at, best)) = best.and_then(|at| Some((at, self.kept.get(at)?))) else {
            return Session::new(model);
        };
        let shared = common(best);
        if shared == 0 {
            return Session::new(model);
        }
        // One that loses more than it keeps is another conversation with the same beginning: both go on.
        if shared * 2 < best.tokens.len() {
            let tokens = best.tokens.get(..shared).unwrap_or_default().to_vec();
            return Ok(Session { tokens, cache: best.cache.fork(shared)? });
        }
        let mut session = self.kept.remove(at);
        session.cut(shared);
        Ok(session)
    }

    /// Keeps a session for prompts to come, and lets go of the oldest if there are too many.
    pub(crate) fn keep(&mut self, mut session: Session) {
        session.cut(session.tokens.len() / BLOCK * BLOCK);
        if session.tokens.is_empty() || session.tokens.len() > self.most_tokens {
            return;
        }
        self.kept.push(session);
        let held = |kept: &[Session]| kept.iter().map(|session| session.tokens.len()).sum::<usize>();
        while self.kept.len() > MOST_KEPT || held(&self.kept) > self.most_tokens {
            self.kept.remove(0);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}

impl Session {
    fn new(model: &Transformer) -> Result<Self> {
        Ok(Self { tokens: Vec::new(), cache: Cache::new(&model.architecture)? })
    }

    fn cut(&mut self, length: usize) {
        self.tokens.truncate(length);
        self.cache.cut(length);
    }

    /// Returns how much of the prompt has been read.
    pub(crate) fn length(&self) -> usize {
        self.tokens.len()
    }

    /// Reads the next block of a prompt. Returns what may follow it if it was the last.
    pub(crate) fn read(&mut self, prompt: &[u32], model: &Transformer) -> Result<Option<Vec<f32>>> {
        let from = self.tokens.len();
        let to = prompt.len().min(from + BLOCK);
        let block = prompt.get(from..to).unwrap_or_default();
        let scores = if to == prompt.len() {
            Some(model.next(block, &mut self.cache)?)
        } else {
            model.read(block, &mut self.cache)?;
            None
        };
        self.tokens.extend_from_slice(block);
        Ok(scores)
    }
}
