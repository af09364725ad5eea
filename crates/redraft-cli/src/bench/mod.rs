//! What `redraft bench` measures: one file per figure, each printing one JSON line.
//!
//! The same engine and store that users get, no shortcut. The raw rate of `fdatasync` is measured on the same disk in the
//! same run and printed beside each figure, because an absolute time says more about the machine than about us.

pub(crate) mod disk;
pub(crate) mod growth;
pub(crate) mod latency;
#[cfg(feature = "local")]
pub(crate) mod local;
pub(crate) mod reopen;
pub(crate) mod steps;
pub(crate) mod traces;
pub(crate) mod waiting;

use std::error::Error;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Instant;

use redraft::store::SqliteStore;

/// What a measurement gives: an object for one line.
pub(crate) type Line = Result<serde_json::Value, Box<dyn Error>>;

/// A folder to measure in, removed at the end.
pub(crate) struct Bench {
    folder: PathBuf,
}

impl Bench {
    pub(crate) fn in_folder(parent: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = parent.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make the folder `{}`: {error}", folder.display()))?;
        Ok(Self { folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("bench.db")
    }

    pub(crate) fn store(&self) -> Result<SqliteStore, redraft::store::Error> {
        SqliteStore::open(self.database())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs an async measurement on as many threads as there are cores.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<T, Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the median of some figures.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Rounds a figure to what can be read.
pub(crate) fn rounded(figure: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (figure * scale).round() / scale
}
