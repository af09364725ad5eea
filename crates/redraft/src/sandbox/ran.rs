//! What is said about a program that was run: how it ended, what it wrote, and what really held it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A program that was started and has ended, with everything that it had started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How long it took.
    pub wall: Duration,
    /// What held it.
    pub contained: Containment,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exit {
    /// By itself, with this code.
    Code {
        /// The code; 0 is success.
        code: i32,
    },
    /// By a signal that the sandbox did not send.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// It was ended: the time on the wall was up.
    TimedOut,
    /// It was ended: the processor time was up.
    CpuSpent,
    /// It was ended: all its processes together held too much memory.
    OutOfMemory,
    /// It was ended: it had too many processes.
    TooManyProcesses,
    /// It was ended: it wrote too much.
    OutputTooLong,
}

impl Exit {
    /// Says whether the program ended by itself with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code { code: 0 }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("ended by the sandbox: out of time"),
            Self::CpuSpent => f.write_str("ended by the sandbox: out of processor time"),
            Self::OutOfMemory => f.write_str("ended by the sandbox: out of memory"),
            Self::TooManyProcesses => f.write_str("ended by the sandbox: too many processes"),
            Self::OutputTooLong => f.write_str("ended by the sandbox: too much output"),
        }
    }
}

/// What a program wrote, up to a bound: its beginning and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The beginning; everything if nothing was left out.
    pub head: Vec<u8>,
    /// The end, if something was left out.
    pub tail: Vec<u8>,
    /// How many bytes between the two were left out.
    pub left_out: u64,
}

impl Captured {
    /// Says whether something was left out.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.left_out > 0
    }

    /// Returns it as text; where something was left out, a line says how much.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.truncated() {
            text.push_str(&format!("\n[… {} bytes left out …]\n", self.left_out));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}

/// One way to hold a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Walls {
    /// Landlock and seccomp, of Linux.
    Landlock,
}

/// What really held a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Containment {
    /// Landlock and seccomp.
    Landlock,
    /// Nothing: it was written out that nothing should.
    Off,
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Landlock => "landlock, seccomp",
            Self::Off => "off, as written in the spec",
        })
    }
}

/// What this machine can give, found out by trying.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Support {
    /// Whether Landlock and seccomp work; if not, why.
    pub landlock: Result<(), String>,
}

impl Support {
    /// Returns the strongest walls that work here.
    #[must_use]
    pub fn best(&self) -> Option<Walls> {
        self.landlock.is_ok().then_some(Walls::Landlock)
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.landlock {
            Ok(()) => f.write_str("landlock, seccomp"),
            Err(why) => write!(f, "none ({why})"),
        }
    }
}
