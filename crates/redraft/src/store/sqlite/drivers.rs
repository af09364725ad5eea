//! Who is alive: one locked file per driver, beside the database.
//!
//! The operating system releases a file lock when its process ends, however it ends. So a run that belonged to a
//! killed process can be claimed at once, with no heartbeat to wait for and no clock to trust.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::id::DriverId;

/// The folder of lock files.
#[derive(Clone, Debug)]
pub(super) struct Drivers {
    folder: PathBuf,
}

/// A driver's life. Dropping it, or the end of the process, frees the lock.
pub(super) struct Life {
    file: PathBuf,
    lock: File,
}

impl Drivers {
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push("-drivers");
        Self { folder: folder.into() }
    }

    /// Registers a new driver.
    pub(super) fn attach(&self) -> io::Result<(DriverId, Life)> {
        fs::create_dir_all(&self.folder)?;
        self.sweep();
        loop {
            let driver = DriverId::new();
            // Locked under another name first: under its own name, nobody ever sees the file unlocked.
            let early = self.folder.join(format!("{driver}.new"));
            let lock = File::create(&early)?;
            lock.try_lock().map_err(io::Error::from)?;
            let file = self.file(driver);
            match fs::rename(&early, &file) {
                Ok(()) => return Ok((driver, Life { file, lock })),
                // Another process swept it away in the moment before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Says whether the driver still lives.
    pub(super) fn is_alive(&self, driver: DriverId) -> bool {
        is_locked(&self.file(driver))
    }

    fn file(&self, driver: DriverId) -> PathBuf {
        self.folder.join(format!("{driver}.lock"))
    }

    /// Removes what dead drivers left behind.
    fn sweep(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.flatten().map(|entry| entry.path()) {
            if !is_locked(&file) {
                // Another process may be sweeping too; what is gone is gone.
                let _ = fs::remove_file(&file);
            }
        }
    }
}

/// A shared lock is enough to ask, so that two who ask at once do not mistake each other for the driver. If we cannot
/// find out, the driver counts as alive: a run that waits is better than a run that is driven twice.
fn is_locked(file: &Path) -> bool {
    match File::open(file) {
        Ok(file) => file.try_lock_shared().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        let _ = self.lock.unlock();
    }
}
