//! Running a line for the shell behind each of the walls that this machine has.

use std::path::Path;
use std::time::Duration;

use redraft::sandbox::{Environment, Error, Isolation, Job, Limits, Ran, Sandbox, Walls};
use tempfile::TempDir;

/// What a secret looks like in these tests: it must never come out of the sandbox.
pub(crate) const SECRET: &str = "s3cret-d0-n0t-pr1nt";

/// Returns the walls to test. A machine without any has nothing to test, and must say so by failing.
pub(crate) fn walls() -> Vec<Walls> {
    let support = Sandbox::available();
    assert!(support.best().is_some(), "this machine cannot hold programs: {support}");
    support.best().into_iter().collect()
}

pub(crate) fn sandbox(walls: Walls) -> Sandbox {
    Sandbox::new(&Environment::new(std::env::vars_os())).isolation(Isolation::Only(walls)).limits(limits())
}

/// Limits under which a test that fails does no harm.
pub(crate) fn limits() -> Limits {
    Limits { wall: Duration::from_secs(60), memory: 1 << 30, ..Limits::default() }
}

pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn run_in(sandbox: &Sandbox, line: &str, scratch: &Path) -> Result<Ran, Error> {
    block_on(sandbox.run(&Job::shell(line, scratch)))
}

/// Runs a line in a scratch folder of its own.
pub(crate) fn run(walls: Walls, line: &str) -> Ran {
    run_in(&sandbox(walls), line, scratch().path()).unwrap()
}

/// Runs a program of Python, if this machine has it where the tests' user can read it.
pub(crate) fn python(sandbox: &Sandbox, program: &str) -> Option<Ran> {
    let folder = scratch();
    let job = Job::new("python3", folder.path()).arguments(["-c", program]);
    match block_on(sandbox.run(&job)) {
        Ok(ran) => Some(ran),
        Err(Error::NotFound { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Counts the living processes of the machine with an argument that passes.
fn processes(mut passes: impl FnMut(&str) -> bool) -> usize {
    let mut counts = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let ended = stat.rsplit(") ").next()?.starts_with('Z');
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        (!ended && line.split('\0').any(&mut passes)).then_some(())
    };
    std::fs::read_dir("/proc").unwrap().filter_map(&mut counts).count()
}

/// Counts the processes that have to do with `mark`.
pub(crate) fn marked(mark: &str) -> usize {
    processes(|argument| argument.contains(mark))
}

/// Says whether the process that calls itself `: mark` is there; those that were told to start it do not count.
pub(crate) fn got_away(mark: &str) -> bool {
    processes(|argument| argument.starts_with(&format!(": {mark}"))) > 0
}

/// Waits until something is so; not forever. Says whether it came to be.
pub(crate) fn until(mut so: impl FnMut() -> bool) -> bool {
    for _ in 0..1500 {
        if so() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    false
}
