//! The bare disk: a write of 4 KiB and an `fdatasync`, over and over.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{median, now, rounded};

/// What the disk does without us.
pub(crate) struct Disk {
    pub(crate) us_p50: f64,
    pub(crate) per_s: f64,
}

/// Appends blocks to a new file and flushes each, as a journal without a database would.
pub(crate) fn measure(folder: &Path, writes: usize) -> std::io::Result<Disk> {
    let path = folder.join("raw");
    let mut file = File::create(&path)?;
    let block = [7_u8; 4096];
    let mut times = Vec::with_capacity(writes);
    let begun = now();
    for _ in 0..writes {
        let write = now();
        file.write_all(&block)?;
        file.sync_data()?;
        times.push(write.elapsed().as_secs_f64() * 1e6);
    }
    let per_s = writes as f64 / begun.elapsed().as_secs_f64();
    drop(file);
    std::fs::remove_file(&path)?;
    Ok(Disk { us_p50: rounded(median(&mut times), 1), per_s: rounded(per_s, 0) })
}
