//! Looking at everything that a program has started, by way of `/proc`.
//!
//! Where there is no `/proc` nothing is found, and only the limits that need no look are held.

use std::fs;
use std::time::Duration;

/// The processes of one program: those of a process group, but for its leader if that is ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    /// The group.
    pub(super) group: u32,
    /// Whether the leader counts.
    pub(super) with_leader: bool,
}

/// What the living processes of a program use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) memory: u64,
    pub(super) cpu: Duration,
    /// Processes and threads.
    pub(super) processes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    group: u32,
    ended: bool,
    ticks: u64,
    threads: u64,
    pages: u64,
}

impl Tree {
    /// Adds up what the program uses now.
    pub(super) fn usage(self) -> Use {
        let mut sum = Use::default();
        let mut ticks = 0;
        for process in self.processes().iter().filter(|process| !process.ended) {
            sum.memory = sum.memory.saturating_add(process.pages.saturating_mul(page_size()));
            sum.processes += process.threads;
            ticks += process.ticks;
        }
        sum.cpu = Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second());
        sum
    }

    /// Returns the processes that have not ended.
    pub(super) fn living(self) -> Vec<u32> {
        self.processes().iter().filter(|process| !process.ended).map(|process| process.pid).collect()
    }

    fn processes(self) -> Vec<Process> {
        let mut all: Vec<Process> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(look)
            .collect();
        all.retain(|process| process.group == self.group && (self.with_leader || process.pid != self.group));
        all
    }
}

fn look(pid: u32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/PID/stat`. The name in brackets may hold anything, brackets and spaces too.
fn parse(stat: &str) -> Option<Process> {
    let pid = stat.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid,
        ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        group: u32::try_from(number(2)?).ok()?,
        // Its own time, and that of the children it has waited for.
        ticks: (11..=14).filter_map(number).sum(),
        threads: number(17)?,
        pages: number(21)?,
    })
}

#[cfg(unix)]
fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(not(unix))]
fn page_size() -> u64 {
    4096
}

#[cfg(unix)]
fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(not(unix))]
fn ticks_per_second() -> u64 {
    100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read_whatever_the_name_is() {
        let line = "42 (a) b( c)) S 7 40 40 0 -1 4194304 1 0 0 0 5 6 7 8 20 0 3 0 100 4096 25 184467 1";
        let expected = Process { pid: 42, group: 40, ended: false, ticks: 26, threads: 3, pages: 25 };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("42 (cut"), None);
    }
}
