//! What is to be run, and how much of the machine it may use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::Environment;

/// How much of the machine one program, with everything that it starts, may use.
///
/// What the kernel can bind, it binds; the rest is watched several times a second, so a program can be over a limit for
/// a moment before it is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processor time: bound for each process, watched for all of them together.
    pub cpu: Duration,
    /// Time on the wall.
    pub wall: Duration,
    /// Memory in bytes: watched for all processes together; one process may set aside twice as much.
    pub memory: u64,
    /// Processes and threads at the same time.
    pub processes: u32,
    /// The size of one file in bytes.
    pub file_size: u64,
    /// Bytes of standard output, and of standard error; a program that writes more is ended.
    pub output: usize,
    /// How many bytes of each output are kept: one half from its beginning, one from its end.
    pub kept: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(60),
            wall: Duration::from_secs(120),
            memory: 2 << 30,
            processes: 256,
            file_size: 256 << 20,
            output: 8 << 20,
            kept: 64 << 10,
        }
    }
}

/// One program to be run on a draft.
///
/// The draft is laid into the scratch folder by the caller; it is the working directory, and the one place in which the
/// program can leave something.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) scratch: PathBuf,
    pub(super) stdin: Vec<u8>,
    pub(super) environment: Environment,
}

impl Job {
    /// Makes a job of a program and the folder that it works in.
    ///
    /// A name without a slash is looked for in the `PATH` that the program is given; a relative path starts in the
    /// scratch folder.
    #[must_use]
    pub fn new(program: impl Into<OsString>, scratch: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            scratch: scratch.into(),
            stdin: Vec::new(),
            environment: Environment::default(),
        }
    }

    /// Makes a job of a line for the shell.
    #[must_use]
    pub fn shell(line: impl Into<OsString>, scratch: impl Into<PathBuf>) -> Self {
        Self::new("sh", scratch).arguments([OsString::from("-c"), line.into()])
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets what the program reads from its standard input; without it there is nothing to read.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Sets a variable for this program, over what the sandbox passes on.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.set(name, value);
        self
    }
}
