//! Attending a program while it runs: its limits, its outputs, and its end, from which nothing of it remains.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::job::Limits;
use super::output::Capture;
use super::ran::{Captured, Exit};
use super::tree::{Tree, Use};

/// Everything that a program has started is looked at this often while it is little.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A program with more processes than this may be a fork bomb, and is looked at as often as we wake.
const FEW: u64 = 16;
const SHORTEST_NAP: Duration = Duration::from_millis(1);
const LONGEST_NAP: Duration = Duration::from_millis(10);
/// How long to wait for the last bytes of an output after the program is gone. Inside the walls they are there at once;
/// without walls a process that got away can hold the pipe open.
const LAST_BYTES: Duration = Duration::from_secs(2);

/// A program that was started, and the grip on everything that it starts.
pub(super) trait Held {
    /// Says how the program ended, if it did.
    fn ended(&mut self) -> std::io::Result<Option<Exit>>;
    /// Says how to find its processes.
    fn tree(&self) -> Tree;
    /// Ends all its processes and returns when they are gone.
    fn kill(&mut self);
}

/// A program that was started.
pub(super) struct Started {
    pub(super) held: Box<dyn Held>,
    pub(super) stdin: Option<Box<dyn Write + Send>>,
    pub(super) stdout: Box<dyn Read + Send>,
    pub(super) stderr: Box<dyn Read + Send>,
}

/// What is known of a program after its end.
pub(super) struct Attended {
    pub(super) exit: Exit,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) wall: Duration,
}

/// Attends a program to its end; nothing is returned if `cancelled` was set before.
pub(super) fn attend(
    mut started: Started,
    stdin: Vec<u8>,
    limits: &Limits,
    cancelled: &AtomicBool,
) -> std::io::Result<Option<Attended>> {
    let begin = now();
    let ended = outcome(&mut started, stdin, limits, cancelled, begin);
    // Whatever happened, and also if the program ended by itself: what it left behind ends here.
    started.held.kill();
    let Some((exit, [stdout, stderr])) = ended? else { return Ok(None) };
    let wall = begin.elapsed();
    let last = now();
    while !(stdout.done() && stderr.done()) && last.elapsed() < LAST_BYTES {
        std::thread::park_timeout(SHORTEST_NAP);
    }
    Ok(Some(Attended { exit, stdout: stdout.take(), stderr: stderr.take(), wall }))
}

type Ended = Option<(Exit, [Capture; 2])>;

fn outcome(
    started: &mut Started,
    stdin: Vec<u8>,
    limits: &Limits,
    cancelled: &AtomicBool,
    begin: Instant,
) -> std::io::Result<Ended> {
    let out = std::mem::replace(&mut started.stdout, Box::new(std::io::empty()));
    let error = std::mem::replace(&mut started.stderr, Box::new(std::io::empty()));
    let outputs = [Capture::of(out, limits.kept)?, Capture::of(error, limits.kept)?];
    feed(started.stdin.take(), stdin)?;
    let mut nap = SHORTEST_NAP;
    let mut last_look = begin;
    let mut look_every = LONGEST_NAP;
    let exit = loop {
        if cancelled.load(Ordering::Acquire) {
            return Ok(None);
        }
        if let Some(exit) = started.held.ended()? {
            break exit;
        }
        if begin.elapsed() >= limits.wall {
            break Exit::TimedOut;
        }
        if outputs.iter().any(|output| output.seen() > limits.output as u64) {
            break Exit::OutputTooLong;
        }
        if last_look.elapsed() >= look_every {
            let used = started.held.tree().usage();
            if let Some(exit) = over(used, limits) {
                break exit;
            }
            look_every = if used.processes > FEW { LONGEST_NAP } else { LOOK_EVERY };
            last_look = now();
        }
        std::thread::park_timeout(nap);
        nap = (nap * 2).min(LONGEST_NAP);
    };
    Ok(Some((exit, outputs)))
}

fn over(used: Use, limits: &Limits) -> Option<Exit> {
    // A fork bomb is over several limits at once; its processes are the reason for the others.
    if used.processes > u64::from(limits.processes) {
        Some(Exit::TooManyProcesses)
    } else if used.memory > limits.memory {
        Some(Exit::OutOfMemory)
    } else if used.cpu > limits.cpu {
        Some(Exit::CpuSpent)
    } else {
        None
    }
}

/// Writes what the program may read, on a thread of its own: it may never read it.
fn feed(into: Option<Box<dyn Write + Send>>, bytes: Vec<u8>) -> std::io::Result<()> {
    let Some(mut into) = into else { return Ok(()) };
    if !bytes.is_empty() {
        let write = move || {
            // A program that does not want its input is no error.
            let _ = into.write_all(&bytes);
        };
        std::thread::Builder::new().name("sandbox-input".to_owned()).spawn(write)?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "limits of a real process are in real time; no replay sees them"
)]
fn now() -> Instant {
    Instant::now()
}
