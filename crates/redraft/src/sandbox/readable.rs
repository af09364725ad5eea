//! Where programs may look: the system's folders, and the toolchains that an environment names.
//!
//! Everything else is out of sight. A toolchain's folder is let in piece by piece where it also holds secrets: cargo's
//! home keeps the keys to registries beside its programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Environment;

/// Folders of the system that programs need. Of `/etc` only what is named: it holds secrets too.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// What of cargo's home may be seen: not its credentials.
const OF_CARGO: &[&str] = &["bin", "registry", "git", "config.toml", "config", "env"];

/// Variables that name a folder of a toolchain, readable as a whole.
const WHOLE: &[&str] = &[
    "CONDA_PREFIX",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Toolchains that live in the home folder unless a variable says otherwise.
const BY_DEFAULT: &[(&str, &str)] =
    &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv"), ("NVM_DIR", ".nvm")];

/// The toolchains that an environment leads to.
///
/// A program's home folder is another one inside, so what lives in the real one by default is named by variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Toolchains {
    /// Files and folders to be readable.
    pub readable: Vec<PathBuf>,
    /// Variables to be set so that programs find them.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

impl Toolchains {
    /// Finds the toolchains of an environment: those on its `PATH`, and those that its variables name.
    #[must_use]
    pub fn of(environment: &Environment) -> Self {
        let home = environment.folder("HOME");
        let mut found = Self::default();
        for (name, folder) in BY_DEFAULT {
            let named = environment.folder(name).or_else(|| home.as_ref().map(|home| home.join(folder)));
            if let Some(path) = named.filter(|path| path.is_dir()) {
                found.variables.insert(name, path);
            }
        }
        let named = |name: &&'static str| {
            found.variables.get(*name).cloned().or_else(|| environment.folder(name)).map(|path| (*name, path))
        };
        let mut readable: Vec<PathBuf> = WHOLE.iter().filter_map(named).map(|(_, path)| path).collect();
        if let Some(cargo) = found.variables.get("CARGO_HOME") {
            readable.extend(OF_CARGO.iter().map(|part| cargo.join(part)));
        }
        for name in ["PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH"] {
            let paths = environment.get(name).map(std::env::split_paths).into_iter().flatten();
            readable.extend(
                paths.filter(|path| path.is_absolute()).map(|path| installation(&path, home.as_deref())),
            );
        }
        // A home folder that is on the `PATH`, or a root that is a toolchain, would let everything in.
        readable.retain(|path| {
            path.parent().is_some()
                && home.as_ref().is_none_or(|home| !home.starts_with(path))
                && path.exists()
        });
        readable.sort();
        readable.dedup();
        found.readable = readable;
        found
    }
}

/// Returns what belongs to a folder of programs: for `~/tools/node/bin` all of `~/tools/node`, for `~/.local/bin` no
/// more than itself, as its neighbours are other things.
fn installation(path: &Path, home: Option<&Path>) -> PathBuf {
    let prefix = path.parent().filter(|_| path.ends_with("bin"));
    match (prefix, home) {
        (Some(prefix), Some(home))
            if prefix.strip_prefix(home).is_ok_and(|below| below.components().count() >= 2) =>
        {
            prefix.to_owned()
        }
        _ => path.to_owned(),
    }
}

/// Returns the system's files and folders that exist here.
pub(super) fn system() -> Vec<PathBuf> {
    SYSTEM.iter().map(PathBuf::from).filter(|path| path.symlink_metadata().is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_found_and_their_secrets_are_not_among_them() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        for folder in [".cargo/bin", ".cargo/registry", ".rustup", "tools/node/bin", ".local/bin", ".ssh"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at(".cargo/credentials.toml"), "token").unwrap();
        let path = std::env::join_paths([
            at(".cargo/bin"),
            at("tools/node/bin"),
            at(".local/bin"),
            home.path().to_owned(),
            "relative".into(),
        ]);
        let environment = Environment::new([("HOME", home.path().as_os_str()), ("PATH", &path.unwrap())]);
        let found = Toolchains::of(&environment);
        let expected = [".cargo/bin", ".cargo/registry", ".local/bin", ".rustup", "tools/node"];
        assert_eq!(found.readable, expected.map(at));
        assert_eq!(found.variables["CARGO_HOME"], at(".cargo"));
    }
}
