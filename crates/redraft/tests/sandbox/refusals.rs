//! What is refused, and with which words; and what is said when nothing holds a program.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use redraft::Fault;
use redraft::sandbox::{Containment, Environment, Error, Exit, Isolation, Job, Sandbox};

use super::support::{SECRET, block_on, limits, marked, python, run_in, sandbox, scratch, walls};

#[test]
fn a_program_that_cannot_be_started_is_no_program_that_failed() {
    for walls in walls() {
        let (folder, elsewhere) = (scratch(), scratch());
        fs::write(folder.path().join("plain"), "x").unwrap();
        let hidden = elsewhere.path().join("tool");
        fs::write(&hidden, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&hidden, fs::Permissions::from_mode(0o755)).unwrap();
        for (program, code) in [
            ("no-such-program", "program-not-found"),
            ("./no-such-file", "program-not-found"),
            ("./plain", "program-not-started"),
            (hidden.to_str().unwrap(), "program-out-of-sight"),
        ] {
            let error = block_on(sandbox(walls).run(&Job::new(program, folder.path()))).unwrap_err();
            assert_eq!(error.code(), code, "{walls:?} {program}: {error}");
        }
        let error = block_on(sandbox(walls).run(&Job::shell(":", folder.path().join("none")))).unwrap_err();
        assert_eq!(error.code(), "scratch-unusable");
        assert!(matches!(error, Error::Scratch { .. }));
    }
}

#[test]
fn off_holds_nothing_and_says_so_but_still_watches() {
    let folder = scratch();
    let environment = Environment::new([("PATH", "/usr/bin:/bin"), ("API_KEY", "s3cret")]);
    let sandbox = Sandbox::new(&environment).isolation(Isolation::Off).limits(limits());
    let mark = format!("off-{}", fastrand::u64(..));
    let line = format!("sh -c ': {mark}; sleep 300; :' & env; exit 4");
    let ran = run_in(&sandbox, &line, folder.path()).unwrap();
    assert_eq!((ran.exit, ran.contained), (Exit::Code { code: 4 }, Containment::Off));
    assert_eq!(ran.contained.to_string(), "off, as written in the spec");
    assert!(!ran.stdout.text().contains("s3cret"));
    assert_eq!(marked(&mark), 0);
    let short = redraft::sandbox::Limits { wall: std::time::Duration::from_millis(200), ..limits() };
    assert_eq!(run_in(&sandbox.limits(short), "sleep 300", folder.path()).unwrap().exit, Exit::TimedOut);
}

#[test]
fn programs_are_held_unless_something_else_is_written() {
    let folder = scratch();
    let ran = run_in(&Sandbox::new(&Environment::default()), ":", folder.path()).unwrap();
    assert_eq!(ran.contained, Containment::Landlock);
}

/// Shows that the other tests would see a sandbox that holds nothing.
#[test]
fn without_walls_the_same_lines_do_harm() {
    let (folder, outside) = (scratch(), scratch());
    fs::write(outside.path().join("secret"), SECRET).unwrap();
    let sandbox =
        Sandbox::new(&Environment::new(std::env::vars_os())).isolation(Isolation::Off).limits(limits());
    let out = outside.path().display();
    let ran = run_in(
        &sandbox,
        &format!("cat {out}/secret; echo x > {out}/new; chmod 700 {out}/new"),
        folder.path(),
    );
    assert!(ran.unwrap().stdout.text().contains(SECRET));
    assert!(outside.path().join("new").exists());
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect =
        format!("import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)\nprint('reached')");
    if let Some(ran) = python(&sandbox, &connect) {
        assert_eq!(ran.stdout.text(), "reached\n", "{}", ran.stderr.text());
    }
}
