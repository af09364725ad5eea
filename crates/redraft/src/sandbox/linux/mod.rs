//! How Linux holds a program.

mod landlock;
mod seccomp;

use std::time::Duration;

use super::Error;
use super::plan::Plan;
use super::ran::{Containment, Exit, Walls};
use super::watch::Started;

pub(super) use self::landlock::{keeps_sight, switches_user};

const SIGXCPU: i32 = 24;

/// Starts a program behind these walls.
pub(super) fn start(plan: &Plan, walls: Walls) -> Result<(Started, Containment), Error> {
    match walls {
        Walls::Landlock => Ok((landlock::start(plan)?, Containment::Landlock)),
    }
}

fn from_signal(signal: i32) -> Exit {
    if signal == SIGXCPU { Exit::CpuSpent } else { Exit::Signal { signal } }
}

/// Waits for processes that have been killed; not forever, as one can hang in the kernel.
fn wait_until_gone(mut living: impl FnMut() -> bool) {
    const NAP: Duration = Duration::from_millis(2);
    const LONGEST: usize = 1500;
    for _ in 0..LONGEST {
        if !living() {
            return;
        }
        std::thread::sleep(NAP);
    }
}
