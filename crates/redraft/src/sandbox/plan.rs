//! From what was asked for to what is done: the program's real place, its variables, what it may read, its folders.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(target_os = "linux")]
use super::linux::{keeps_sight, switches_user};
use super::{Environment, Error, Job, Limits, Sandbox, Walls, readable};

/// Everything that has to be known to start a program.
#[derive(Debug)]
pub(super) struct Plan {
    /// A number that other programs at the same time hardly have.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only walls tell programs apart"))]
    pub(super) number: u64,
    /// The program's absolute path.
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) scratch: PathBuf,
    /// A folder in the scratch folder for this run alone, with the program's home and temporary files. It is removed
    /// when the plan is dropped.
    pub(super) private: PathBuf,
    pub(super) environment: Environment,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only walls ask what may be read"))]
    pub(super) readable: Vec<PathBuf>,
    pub(super) limits: Limits,
}

/// Where programs are looked for when the environment has no `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Plan {
    /// Makes the plan, and the folders that it needs.
    pub(super) fn of(sandbox: &Sandbox, job: &Job, walls: Option<Walls>) -> Result<Self, Error> {
        let unusable =
            |source: io::Error| Error::Scratch { path: job.scratch.clone(), source: Arc::new(source) };
        let scratch = job.scratch.canonicalize().map_err(unusable)?;
        if !scratch.is_dir() {
            return Err(unusable(io::ErrorKind::NotADirectory.into()));
        }
        let mut environment = sandbox.environment.clone();
        environment.merge(&job.environment);
        if environment.get("PATH").is_none() {
            environment.set("PATH", USUAL_PATH);
        }
        let mut readable = readable::system();
        readable.extend(sandbox.readable.iter().cloned());
        // Behind Landlock root's programs are run by somebody else, who may not see what is root's alone.
        let by_others = walls == Some(Walls::Landlock) && switches_user() && !keeps_sight();
        let program = find(job, &scratch, &environment, by_others)?;
        if walls.is_some() {
            in_sight(job, &program, &scratch, &readable)?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id().into());
        let private = private(&scratch, number).map_err(unusable)?;
        Ok(Self {
            number,
            program,
            arguments: job.arguments.clone(),
            scratch,
            private,
            environment,
            readable,
            limits: sandbox.limits,
        })
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.private);
    }
}

fn private(scratch: &Path, number: u64) -> io::Result<PathBuf> {
    let private = scratch.join(format!(".redraft-{}-{number}", std::process::id()));
    for part in ["home", "tmp", "shm"] {
        std::fs::create_dir_all(private.join(part))?;
    }
    Ok(private)
}

fn find(job: &Job, scratch: &Path, environment: &Environment, by_others: bool) -> Result<PathBuf, Error> {
    let usable = |path: &Path| {
        // The scratch folder is handed over, with all that is in it.
        if by_others && !path.starts_with(scratch) {
            reachable_by_others(path)?
        }
        executable(path)
    };
    let name = job.program.to_string_lossy().into_owned();
    if job.program.to_string_lossy().contains('/') {
        let path = scratch.join(&job.program);
        return match usable(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let searched = format!("`{}` does not exist", path.display());
                Err(Error::NotFound { program: name, searched })
            }
            Err(error) => Err(Error::CannotStart { program: name, reason: error.to_string() }),
        };
    }
    let path = environment.get("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(path).map(|folder| scratch.join(folder).join(&job.program));
    candidates.find(|candidate| usable(candidate).is_ok()).ok_or_else(|| Error::NotFound {
        program: name,
        searched: format!("looked in `{}`", path.to_string_lossy()),
    })
}

#[cfg(unix)]
fn executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not an executable file"))
}

/// Says whether somebody who owns nothing can come to this file and run it.
#[cfg(unix)]
fn reachable_by_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for part in path.canonicalize()?.ancestors() {
        if part.metadata()?.permissions().mode() & 0o001 == 0 {
            let reason = "it is root's alone, and programs are not run as root here";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn executable(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}

#[cfg(not(unix))]
fn reachable_by_others(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn switches_user() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn keeps_sight() -> bool {
    false
}

fn in_sight(job: &Job, program: &Path, scratch: &Path, readable: &[PathBuf]) -> Result<(), Error> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let seen = |path: &PathBuf| {
        real.starts_with(path) || path.canonicalize().is_ok_and(|folder| real.starts_with(folder))
    };
    if real.starts_with(scratch) || readable.iter().any(seen) {
        return Ok(());
    }
    Err(Error::OutOfSight { program: job.program.to_string_lossy().into_owned(), path: real })
}
