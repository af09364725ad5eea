//! Which variables a program gets to see.
//!
//! Names are let through, not kept back: a secret has any name, but what programs need has known ones. The library does
//! not read the process's own environment; whoever starts it hands one in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Names that pass: where programs are, how they speak, and where toolchains live.
const PASSED: &[&str] = &[
    "CARGO_HOME",
    "CLASSPATH",
    "COLORTERM",
    "CONDA_PREFIX",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "NODE_PATH",
    "NVM_DIR",
    "PATH",
    "PKG_CONFIG_PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "TERM",
    "TZ",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Variables by name.
///
/// ```
/// use redraft::sandbox::Environment;
///
/// let of_the_machine = [("PATH", "/usr/bin"), ("LC_ALL", "C.UTF-8"), ("OPENAI_API_KEY", "sk-secret")];
/// let passed = Environment::new(of_the_machine).scrubbed(&[]);
/// assert!(passed.get("PATH").is_some() && passed.get("LC_ALL").is_some());
/// assert!(passed.get("OPENAI_API_KEY").is_none());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Makes an environment of pairs, such as [`std::env::vars_os`] gives.
    #[must_use]
    pub fn new<N: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { variables: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Returns what may be passed on: the known harmless names, and those in `also`.
    #[must_use]
    pub fn scrubbed(&self, also: &[String]) -> Self {
        let passes = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                PASSED.contains(&name) || name.starts_with("LC_") || also.iter().any(|more| more == name)
            })
        };
        let passed = self.variables.iter().filter(|(name, _)| passes(name));
        Self { variables: passed.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Returns a variable that names a folder.
    pub(super) fn folder(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    pub(super) fn merge(&mut self, over: &Self) {
        self.variables.extend(over.variables.clone());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

// Values may be secrets, so only names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_and_named_variables_pass() {
        let all = Environment::new([
            ("PATH", "/bin"),
            ("LC_TIME", "C"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("CARGO_REGISTRY_TOKEN", "x"),
            ("HOME", "/home/me"),
            ("LD_PRELOAD", "/tmp/x.so"),
            ("MY_FLAG", "1"),
        ]);
        let passed = all.scrubbed(&["MY_FLAG".to_owned()]);
        assert_eq!(passed, Environment::new([("PATH", "/bin"), ("LC_TIME", "C"), ("MY_FLAG", "1")]));
    }

    #[test]
    fn debug_shows_no_value() {
        let shown = format!("{:?}", Environment::new([("KEY", "s3cret")]));
        assert!(shown.contains("KEY") && !shown.contains("s3cret"), "{shown}");
    }
}
