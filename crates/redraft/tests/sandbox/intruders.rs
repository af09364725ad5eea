//! Programs that look where they may not look, write where they may not write, and call whom they may not call.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use redraft::sandbox::{Environment, Isolation, Sandbox};

use super::support::{SECRET, limits, python, run, run_in, sandbox, scratch, walls};

/// Makes a folder that others can read, with a file in it.
fn outside(name: &str, content: &str) -> tempfile::TempDir {
    let folder = scratch();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    folder
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn nothing_is_written_outside_the_scratch_folder() {
    for walls in walls() {
        for readable in [false, true] {
            let folder = outside("file", "before");
            let file = folder.path().join("file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            let (out, ours) = (path(folder.path()), scratch());
            let line = format!(
                "echo x > {out}/file; echo x > {out}/new; rm -f {out}/file; mv {out}/file {out}/moved; mkdir {out}/d
                truncate -s 0 {out}/file; ln -s {out}/file link; echo x > link; ln -s {out} folder; echo x > folder/new
                ln {out}/file hard && echo x > hard; chmod 000 {out}/file; chmod 777 {out}/file; chmod 000 {out}
                echo x > /usr/redraft-was-here; echo x > /etc/redraft-was-here; echo x > /redraft-was-here; :"
            );
            let mut sandbox = sandbox(walls);
            if readable {
                sandbox = sandbox.readable([folder.path().to_owned()]);
            }
            run_in(&sandbox, &line, ours.path()).unwrap();
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
            assert_eq!((mode(&file), mode(folder.path())), (0o644, 0o755), "{walls:?} {readable}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "before", "{walls:?} {readable}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{walls:?} {readable}");
            for place in ["/usr/redraft-was-here", "/etc/redraft-was-here", "/redraft-was-here"] {
                assert!(!Path::new(place).exists(), "{walls:?} {place}");
            }
        }
    }
}

#[test]
fn the_rest_of_the_home_folder_is_out_of_sight_and_so_are_keys_beside_toolchains() {
    for walls in walls() {
        let home = outside(".netrc", SECRET);
        for (folder, file) in
            [(".cargo/bin", ".cargo/credentials.toml"), (".ssh", ".ssh/id"), ("project", "project/.env")]
        {
            fs::create_dir_all(home.path().join(folder)).unwrap();
            fs::write(home.path().join(file), SECRET).unwrap();
        }
        fs::write(home.path().join(".cargo/bin/tool"), "readable").unwrap();
        let environment = Environment::new([("PATH", "/usr/bin:/bin"), ("HOME", path(home.path()))]);
        let sandbox = Sandbox::new(&environment).isolation(Isolation::Only(walls)).limits(limits());
        let home = path(home.path());
        let line = format!(
            "cat {home}/.cargo/bin/tool {home}/.netrc {home}/.cargo/credentials.toml {home}/.ssh/id {home}/project/.env
            ln -s {home}/.ssh/id link; cat link; cat {home}/.cargo/bin/../credentials.toml; cp -r {home} copy; cat copy/.netrc
            grep -r . {home}; cat /etc/shadow /etc/gshadow /proc/1/root{home}/.netrc /proc/self/root{home}/.netrc; :"
        );
        let ran = run_in(&sandbox, &line, scratch().path()).unwrap();
        let written = ran.stdout.text() + &ran.stderr.text();
        assert!(ran.stdout.text().contains("readable"), "{walls:?} the toolchain can be read: {written}");
        assert!(!written.contains(SECRET) && !ran.stdout.text().contains("root:"), "{walls:?} {written}");
    }
}

#[test]
fn secrets_of_the_environment_are_seen_neither_inside_nor_through_other_processes() {
    for walls in walls() {
        let environment =
            Environment::new([("PATH", "/usr/bin:/bin"), ("API_KEY", SECRET), ("HOME", "/nowhere")]);
        let sandbox = Sandbox::new(&environment).isolation(Isolation::Only(walls)).limits(limits());
        let us = std::process::id();
        // A process of ours that has the secret, as we would have it.
        let mut other = std::process::Command::new("sleep").arg("30").env("API_KEY", SECRET).spawn().unwrap();
        let line = format!(
            "env; cat /proc/*/environ /proc/1/environ /proc/{us}/environ /proc/{}/environ /proc/$PPID/environ",
            other.id()
        );
        let ran = run_in(&sandbox, &line, scratch().path()).unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(ran.stdout.text().contains("PATH="), "{walls:?}");
        assert!(!ran.stdout.text().contains(SECRET), "{walls:?} {}", ran.stdout.text());
    }
}

#[test]
fn no_listener_of_the_machine_is_reached() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("redraft-{}", fastrand::u64(..));
    let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let folder = outside("x", "");
    let named = UnixListener::bind(folder.path().join("socket")).unwrap();
    fs::set_permissions(folder.path().join("socket"), fs::Permissions::from_mode(0o777)).unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    nameless.set_nonblocking(true).unwrap();
    named.set_nonblocking(true).unwrap();
    let program = format!(
        "import socket as s
def attempt(what):
    try: what(); print('reached')
    except OSError as error: print('refused')
attempt(lambda: s.create_connection(('127.0.0.1', {}), 5))
attempt(lambda: s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {})))
attempt(lambda: s.socket(s.AF_UNIX).connect('\\0{name}'))
attempt(lambda: s.socket(s.AF_UNIX).connect('{}/socket'))
attempt(lambda: s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)[0].sendto(b'x', '\\0{name}'))",
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
        path(folder.path()),
    );
    for walls in walls() {
        let Some(ran) = python(&sandbox(walls), &program) else { return };
        assert_eq!(ran.stdout.text(), "refused\n".repeat(5), "{walls:?} {}", ran.stderr.text());
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(udp.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(nameless.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(named.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn processes_outside_are_neither_signalled_nor_traced() {
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    for walls in walls() {
        let us = std::process::id();
        let line = format!(
            "kill -9 {us} {0} $PPID 1; kill -9 -1; kill -9 -{us}; kill -9 -{0}; prlimit --pid {us} --nofile=3; prlimit --pid {0} --cpu=0; :",
            other.id()
        );
        run(walls, &line);
        let bounds = std::fs::read_to_string(format!("/proc/{}/limits", other.id())).unwrap();
        let cpu = bounds.lines().find(|line| line.starts_with("Max cpu time")).unwrap();
        assert!(cpu.contains("unlimited"), "{walls:?}: {cpu}");
        let trace = format!(
            "import ctypes\nc = ctypes.CDLL(None)\nprint([c.ptrace(16, p, 0, 0) for p in ({us}, {})])",
            other.id()
        );
        if let Some(ran) = python(&sandbox(walls), &trace) {
            assert_eq!(ran.stdout.text(), "[-1, -1]\n", "{walls:?}");
        }
        assert!(other.try_wait().unwrap().is_none(), "{walls:?}: it was killed from inside");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn no_rights_are_gained_and_no_mounts_changed() {
    for walls in walls() {
        let folder = outside("helper", "#!/bin/sh\n");
        let helper = folder.path().join("id");
        fs::copy("/usr/bin/id", &helper).unwrap();
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o6755)).unwrap();
        let sandbox = sandbox(walls).readable([folder.path().to_owned()]);
        let line = format!(
            r#"setpriv -d | grep no_new_privs; test $(id -u) = $({} -u) && echo same
            perl -e '$h = pack("LL", 0x20080522, 0); $d = "\0" x 24; syscall(125, $h, $d); print "rights ", unpack("H*", $d), "\n"'
            for how in 'mount -o remount,rw /usr' 'mount -o remount,bind,rw /usr' 'umount /usr' 'mount -t tmpfs x /usr'; do
                $how; unshare -Urm $how; unshare -Urmpf $how
            done 2>/dev/null
            unshare -Urm sh -c 'mount -o remount,bind,rw /usr; touch /usr/redraft-was-here' 2>/dev/null
            test -e /usr/bin/env && echo there"#,
            path(&helper)
        );
        let ran = run_in(&sandbox, &line, scratch().path()).unwrap();
        let said = ran.stdout.text();
        assert!(said.contains("no_new_privs: 1"), "{walls:?} {said} {}", ran.stderr.text());
        assert!(said.contains("same\n"), "{walls:?}: it became somebody else: {said}");
        if cfg!(target_arch = "x86_64") {
            // Root's programs may keep the right to read where they may look at all, and no other.
            let reading = |bits: &str| format!("rights {bits}{bits}{bits}{}\n", "0".repeat(24));
            let rights = [reading("00000000"), reading("04000000")];
            assert!(rights.iter().any(|rights| said.contains(rights)), "{walls:?} {said}");
        }
        assert!(said.ends_with("there\n"), "{walls:?} {said}");
        assert!(!Path::new("/usr/redraft-was-here").exists());
    }
}

#[test]
fn nothing_is_left_in_shared_memory_or_temporary_folders() {
    for walls in walls() {
        let name = format!("redraft-{}", fastrand::u64(..));
        let line = format!(
            "echo x > /dev/shm/{name}; echo x > /tmp/{name}; echo x > /var/tmp/{name}; ipcmk -M 100; :"
        );
        let ran = run(walls, &line);
        for folder in ["/dev/shm", "/tmp", "/var/tmp"] {
            assert!(!Path::new(folder).join(&name).exists(), "{walls:?} {folder}");
        }
        if ran.stdout.text().contains("id:") {
            // It got a segment, which must have been in a world of its own.
            let listed = std::process::Command::new("ipcs").arg("-m").output().unwrap();
            let text = String::from_utf8_lossy(&listed.stdout).into_owned();
            assert!(!text.lines().any(|line| line.contains(" 100 ")), "{walls:?} {text}");
        }
    }
}
