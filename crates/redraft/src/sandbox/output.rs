//! Reading what a program writes, without ever holding more of it than was asked for.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ran::Captured;

/// An output while it is written.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    seen: u64,
    done: bool,
}

impl Capture {
    /// Reads `from` to its end on a thread of its own; `kept` bytes are kept.
    pub(super) fn of(from: impl Read + Send + 'static, kept: usize) -> std::io::Result<Self> {
        let half = kept.div_ceil(2);
        let state = State { head: Vec::new(), tail: VecDeque::new(), half, seen: 0, done: false };
        let capture = Self { state: Arc::new(Mutex::new(state)) };
        let filled = capture.clone();
        std::thread::Builder::new().name("sandbox-output".to_owned()).spawn(move || filled.fill(from))?;
        Ok(capture)
    }

    fn fill(&self, mut from: impl Read) {
        let mut buffer = [0; 16 << 10];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.state().add(&buffer[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.state().done = true;
    }

    /// Returns how many bytes were written so far.
    pub(super) fn seen(&self) -> u64 {
        self.state().seen
    }

    /// Says whether nothing more can come.
    pub(super) fn done(&self) -> bool {
        self.state().done
    }

    /// Takes what was kept.
    pub(super) fn take(&self) -> Captured {
        let mut state = self.state();
        let (mut head, mut tail) = (std::mem::take(&mut state.head), std::mem::take(&mut state.tail));
        let left_out = state.seen - head.len() as u64 - tail.len() as u64;
        if left_out == 0 {
            head.extend(tail.drain(..));
        }
        Captured { head, tail: tail.into(), left_out }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &[u8], kept: usize, head: &str, tail: &str, left_out: u64) {
        let state =
            State { head: Vec::new(), tail: VecDeque::new(), half: kept.div_ceil(2), seen: 0, done: false };
        let capture = Capture { state: Arc::new(Mutex::new(state)) };
        capture.fill(written);
        assert!(capture.done());
        let expected = Captured { head: head.into(), tail: tail.into(), left_out };
        assert_eq!(capture.take(), expected);
    }

    #[test]
    fn the_middle_is_left_out() {
        check(b"", 4, "", "", 0);
        check(b"abcd", 4, "abcd", "", 0);
        check(b"abcde", 4, "ab", "de", 1);
        check(&[b'x'; 100_000], 6, "xxx", "xxx", 99_994);
    }
}
