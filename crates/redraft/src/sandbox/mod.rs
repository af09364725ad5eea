//! Running one untrusted program on a draft, held: no network, nothing to write but a scratch folder, nothing to read
//! but what programs need, no secrets, limits on everything, and nothing left of it at the end.
//!
//! ```no_run
//! use redraft::sandbox::{Environment, Job, Sandbox};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sandbox = Sandbox::new(&Environment::new(std::env::vars_os()));
//! let ran = sandbox.run(&Job::shell("python3 draft.py", "/path/to/scratch")).await?;
//! println!("{} ({})", ran.exit, ran.contained);
//! # Ok(())
//! # }
//! ```
//!
//! It knows nothing of verifiers, journals and models. On Linux programs are held by Landlock and seccomp. Elsewhere they
//! are refused, unless it is written out that nothing need hold them. Decision 0007 says what that holds against, and
//! what not.
//!
//! Invariants: what a program could not be held by is never tried without; what really held it is said in [`Ran`]; no
//! process of a program outlives its [`run`](Sandbox::run), also if that is dropped or we are killed.

mod environment;
mod error;
mod job;
#[cfg(target_os = "linux")]
mod linux;
mod off;
mod output;
mod plan;
mod ran;
mod readable;
mod tree;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use tokio::sync::oneshot;

pub use self::environment::Environment;
pub use self::error::Error;
pub use self::job::{Job, Limits};
use self::plan::Plan;
pub use self::ran::{Captured, Containment, Exit, Ran, Support, Walls};
pub use self::readable::Toolchains;

/// Whether programs must be held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// By the strongest walls that this machine has; without any, programs are refused.
    #[default]
    Required,
    /// By these walls; without them, programs are refused.
    Only(Walls),
    /// By nothing: a program can do whatever we can. For drafts that are trusted, or machines that are thrown away.
    Off,
}

/// What programs may do and see.
#[derive(Clone, Debug)]
pub struct Sandbox {
    isolation: Isolation,
    limits: Limits,
    environment: Environment,
    readable: Vec<PathBuf>,
}

impl Sandbox {
    /// Makes a sandbox for programs of the machine that `environment` describes: its toolchains can be used, its secrets
    /// are not passed on.
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        Self::with_variables(environment, &[])
    }

    /// Makes a sandbox that also passes on the variables with these names.
    #[must_use]
    pub fn with_variables(environment: &Environment, names: &[String]) -> Self {
        let toolchains = Toolchains::of(environment);
        let mut passed = environment.scrubbed(names);
        for (name, path) in toolchains.variables {
            passed.set(name, path);
        }
        Self {
            isolation: Isolation::default(),
            limits: Limits::default(),
            environment: passed,
            readable: toolchains.readable,
        }
    }

    /// Sets whether programs must be held.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets programs read these files and folders too; what does not exist is left out.
    #[must_use]
    pub fn readable(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.readable.extend(paths.into_iter().filter(|path| path.is_absolute() && path.exists()));
        self
    }

    /// Says what this machine can give. It is tried once, with a program that does nothing.
    #[must_use]
    pub fn available() -> Support {
        static SUPPORT: OnceLock<Support> = OnceLock::new();
        SUPPORT.get_or_init(|| Support { landlock: works(Walls::Landlock) }).clone()
    }

    /// Runs a program to its end, and everything that it started too.
    ///
    /// When the future is dropped, the program is ended.
    ///
    /// # Errors
    ///
    /// Only if the program was not run: this machine cannot hold it, it cannot be found, or it cannot be started. How a
    /// program that was run has ended is in [`Ran`].
    pub async fn run(&self, job: &Job) -> Result<Ran, Error> {
        let (sandbox, job) = (self.clone(), job.clone());
        let cancelled = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&cancelled);
        let (answer, answered) = oneshot::channel();
        // A thread of its own: starting, waiting and ending all block.
        let thread = std::thread::Builder::new()
            .name("sandbox".to_owned())
            .spawn(move || drop(answer.send(sandbox.hold(&job, &seen))))
            .map_err(|error| Error::Broken { reason: error.to_string() })?;
        let _cancel = CancelOnDrop { cancelled, thread: thread.thread().clone() };
        answered.await.unwrap_or_else(|_| Err(Error::Broken { reason: "its thread was lost".to_owned() }))
    }

    /// Runs a program on this thread.
    fn hold(&self, job: &Job, cancelled: &AtomicBool) -> Result<Ran, Error> {
        let walls = match self.isolation {
            Isolation::Off => None,
            Isolation::Only(walls) => Some(walls),
            Isolation::Required => {
                let support = Self::available();
                Some(support.best().ok_or_else(|| Error::Unavailable { missing: support.to_string() })?)
            }
        };
        self.hold_by(walls, job, cancelled)
    }

    fn hold_by(&self, walls: Option<Walls>, job: &Job, cancelled: &AtomicBool) -> Result<Ran, Error> {
        let plan = Plan::of(self, job, walls)?;
        let (started, contained) = match walls {
            Some(walls) => start(&plan, walls)?,
            None => (off::start(&plan)?, Containment::Off),
        };
        let lost = |reason: String| Error::Broken { reason };
        let attended = watch::attend(started, job.stdin.clone(), &plan.limits, cancelled)
            .map_err(|error| lost(error.to_string()))?
            .ok_or_else(|| lost("it was no longer wanted".to_owned()))?;
        let watch::Attended { exit, stdout, stderr, wall } = attended;
        Ok(Ran { exit, stdout, stderr, wall, contained })
    }
}

#[cfg(target_os = "linux")]
use self::linux::start;

#[cfg(not(target_os = "linux"))]
fn start(_: &Plan, _: Walls) -> Result<(watch::Started, Containment), Error> {
    Err(Error::Unavailable { missing: "only Linux can hold programs".to_owned() })
}

/// Tries whether these walls work here.
fn works(walls: Walls) -> Result<(), String> {
    let folder =
        std::env::temp_dir().join(format!("redraft-probe-{}-{:x}", std::process::id(), fastrand::u64(..)));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(&Environment::default());
    let job = Job::shell(":", &folder);
    let tried = sandbox.hold_by(Some(walls), &job, &AtomicBool::new(false));
    let _ = std::fs::remove_dir_all(&folder);
    match tried {
        Ok(ran) if ran.exit.success() => Ok(()),
        Ok(ran) => Err(format!("a shell ended with {}: {}", ran.exit, ran.stderr.text().trim())),
        Err(Error::Unavailable { missing: reason } | Error::Broken { reason }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

struct CancelOnDrop {
    cancelled: Arc<AtomicBool>,
    thread: Thread,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
