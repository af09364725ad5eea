//! Root runs all tests once more as an ordinary user, and everybody once more in a kind of container.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

use super::support::scratch;

const ORDINARY: &str = "65534";
/// Says to the program of the tests that it already runs in a container.
const ALONE: &str = "REDRAFT_TEST_IN_CONTAINER";

fn is_root() -> bool {
    String::from_utf8_lossy(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0"
}

/// Copies the program of the tests: where it is built, an ordinary user may have no access.
fn tests() -> (TempDir, std::path::PathBuf) {
    let folder = scratch();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, program)
}

fn must_pass(command: &mut Command) {
    let ran =
        command.args(["--test-threads", "2"]).env("HOME", "/nonexistent").current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?}:\n{said}");
    assert!(said.contains("test result: ok") && !said.contains(" 0 passed"), "{said}");
}

#[test]
fn an_ordinary_user_is_held_as_well_as_root() {
    if !is_root() {
        return;
    }
    let (_folder, program) = tests();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"]).arg(program);
    must_pass(&mut command);
}

#[test]
fn a_container_in_which_root_is_the_only_user_holds_as_well() {
    if std::env::var_os(ALONE).is_some() {
        return;
    }
    // A world of its own in which, as in most containers, no further namespaces are allowed.
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let (_folder, program) = tests();
    let works = Command::new("unshare").args(["-Ur", "sh", "-c", forbid, "sh", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", forbid, "sh"]).arg(program).env(ALONE, "1");
    command.args(["--skip", "users::an_ordinary"]);
    must_pass(&mut command);
}
