//! The folder that a program works in: a copy of the user's, with the draft and our own files laid over it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::verify::Finding;
use crate::verify::files::{Files, Globs};

/// What is not worth copying: it is made anew, or is none of the program's business.
const NOT_COPIED: [&str; 7] = [".git", ".redraft", "target", "node_modules", ".venv", "__pycache__", ".env"];

/// A folder that is gone when it is dropped.
pub(super) struct Scratch {
    folder: tempfile::TempDir,
    /// The protected files with what they held before the program ran.
    protected: Vec<(PathBuf, Fingerprint)>,
}

impl Scratch {
    /// Lays everything out, or says why the draft cannot be. Work that blocks, so it is done elsewhere.
    pub(super) async fn new(
        template: Option<&Path>,
        draft: &Files,
        fixed: &[(String, String)],
        protected: &Globs,
    ) -> Result<Result<Self, Finding>, Failure> {
        let template = template.map(Path::to_owned);
        let (draft, fixed, protected) = (draft.clone(), fixed.to_vec(), protected.clone());
        let made =
            tokio::task::spawn_blocking(move || lay_out(template.as_deref(), &draft, &fixed, &protected));
        made.await.map_err(|error| Failure::terminal("scratch-unusable", error.to_string()))?
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the protected files that are not what they were.
    pub(super) async fn tampered(&self) -> Result<Vec<String>, Failure> {
        let (root, protected) = (self.folder.path().to_owned(), self.protected.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let changed = protected.into_iter().filter(|(path, before)| {
                fs::read(root.join(path)).map_or(true, |bytes| Fingerprint::of([bytes.as_slice()]) != *before)
            });
            changed.map(|(path, _)| path.display().to_string()).collect()
        });
        looked.await.map_err(|error| Failure::terminal("scratch-unusable", error.to_string()))
    }
}

fn lay_out(
    template: Option<&Path>,
    draft: &Files,
    fixed: &[(String, String)],
    protected: &Globs,
) -> Result<Result<Scratch, Finding>, Failure> {
    let folder = tempfile::Builder::new().prefix("redraft-").tempdir()?;
    let mut guarded: Vec<PathBuf> = fixed.iter().map(|(path, _)| PathBuf::from(path)).collect();
    if let Some(template) = template {
        if !template.is_dir() {
            let message = format!("the folder `{}` is not there", template.display());
            return Err(Failure::terminal("folder-missing", message));
        }
        let mut copying =
            Copying { from: template, to: folder.path(), protected, guarded: &mut guarded, bytes: 0 };
        copying.copy(Path::new(""))?;
    }
    for file in draft.iter() {
        if let Some(finding) = clash(folder.path(), &file.path) {
            return Ok(Err(finding));
        }
        write(folder.path(), &file.path, &file.text)?;
    }
    for (path, text) in fixed {
        write(folder.path(), Path::new(path), text)?;
    }
    let mut seen = Vec::new();
    for path in guarded {
        let bytes = fs::read(folder.path().join(&path))?;
        seen.push((path, Fingerprint::of([bytes.as_slice()])));
    }
    Ok(Ok(Scratch { folder, protected: seen }))
}

/// Says what is wrong with a file that cannot stand where the draft wants it: the draft's fault, and no trouble of ours.
fn clash(root: &Path, path: &Path) -> Option<Finding> {
    let is_folder = root.join(path).is_dir();
    let in_file = path.ancestors().skip(1).any(|part| root.join(part).is_file());
    let why = match (is_folder, in_file) {
        (true, _) => "it is a folder",
        (_, true) => "a part of it is a file",
        (false, false) => return None,
    };
    let path = path.display().to_string();
    let message = format!("`{path}` cannot be a file of the draft: {why}");
    Some(Finding::new("unsafe-path", message).about(path).suggest("use another path"))
}

fn write(root: &Path, path: &Path, text: &str) -> io::Result<()> {
    let path = root.join(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // A copy may be one that cannot be written.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::write(path, text)
}

/// How much of a folder is copied for each draft: enough for a project, not for a disk.
const MOST_BYTES: u64 = 512 << 20;

/// A folder on its way into the scratch folder.
struct Copying<'a> {
    from: &'a Path,
    to: &'a Path,
    protected: &'a Globs,
    guarded: &'a mut Vec<PathBuf>,
    bytes: u64,
}

impl Copying<'_> {
    /// Copies files and folders. Links are not followed: they could lead anywhere.
    fn copy(&mut self, below: &Path) -> Result<(), Failure> {
        for entry in fs::read_dir(self.from.join(below))? {
            let entry = entry?;
            let name = entry.file_name();
            if NOT_COPIED.iter().any(|skipped| name == *skipped) {
                continue;
            }
            let path = below.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                fs::create_dir_all(self.to.join(&path))?;
                self.copy(&path)?;
            } else if kind.is_file() {
                self.bytes += entry.metadata()?.len();
                if self.bytes > MOST_BYTES {
                    let message = format!(
                        "the folder `{}` holds more than {} MiB, too much to copy for each draft",
                        self.from.display(),
                        MOST_BYTES >> 20
                    );
                    return Err(Failure::terminal("folder-too-large", message).with_hint(
                        "name a smaller folder, or let the command read it in place with `readable`",
                    ));
                }
                fs::copy(self.from.join(&path), self.to.join(&path))?;
                if self.protected.holds(&path) {
                    self.guarded.push(path);
                }
            }
        }
        Ok(())
    }
}
