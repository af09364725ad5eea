//! A program held by Landlock and seccomp. Both are open to everybody, so they work for root, for ordinary users and in
//! containers, where namespaces are mostly forbidden.
//!
//! It sees the machine's processes and the names of files, but reads and writes only where it may, has no network, and
//! can signal nobody outside. All its processes stay in one process group. The leader of the group is a shell of ours
//! that waits for us: when we are gone, however that came, it ends the group.

use std::io;
use std::os::unix::fs::lchown;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use rustix::process::{Pid, Signal};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::super::Error;
use super::super::plan::Plan;
use super::super::ran::Exit;
use super::super::tree::Tree;
use super::super::watch::{Held, Started};
use super::seccomp::Unseen;

/// The versions of Landlock, newest first. What an older one does not see, seccomp refuses instead.
const VERSIONS: [ABI; 6] = [ABI::V6, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// What programs want to know of the machine. Other processes' folders are not among it.
const OF_PROC: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/version",
];
/// When we are root, programs run as one of these users, who own nothing: Landlock does not see modes and owners. There
/// are several, as the kernel counts processes by user.
const NOBODIES: std::ops::Range<u32> = 65_000..65_500;
const LEADER: &str = "read -r _; kill -KILL 0";
const LIMITED: &str = r#"
ulimit -c 0; ulimit -f "$1"; ulimit -d "$2"; ulimit -t "$3"
[ "$4" -eq 0 ] || ulimit -u "$4" || ulimit -p "$4"
"#;

/// Starts the program.
pub(super) fn start(plan: &Plan) -> Result<Started, Error> {
    start_by(plan, newest().map_err(|missing| Error::Unavailable { missing })?)
}

fn start_by(plan: &Plan, version: ABI) -> Result<Started, Error> {
    let broken = |error: io::Error| Error::Broken { reason: error.to_string() };
    let as_nobody = switches_user();
    if as_nobody {
        hand_over(&plan.scratch, nobody(plan)).map_err(broken)?;
    }
    let leader = Command::new("/bin/sh")
        .args(["-c", LEADER])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(broken)?;
    let mut held = Group { leader, program: None, scratch: as_nobody.then(|| plan.scratch.clone()) };
    let mut command = command(plan, held.leader.id(), as_nobody);
    let (readable, writable) = (plan.readable.clone(), plan.scratch.clone());
    let group = held.leader.id();
    // The rules hold a thread and what it starts, so a thread is made for them.
    let spawned = std::thread::scope(|scope| {
        let confined = move || {
            confine(&readable, &writable, version).map_err(io::Error::other)?;
            super::seccomp::apply(group, unseen(version)).map_err(io::Error::other)?;
            if as_nobody && keeps_sight() {
                keep_sight()?;
            } else if !as_nobody {
                give_up_rights()?;
            }
            command.spawn()
        };
        let thread = std::thread::Builder::new().name("sandbox-start".to_owned());
        thread.spawn_scoped(scope, confined)?.join().unwrap_or_else(|_| Err(io::Error::other("panicked")))
    });
    match spawned {
        Ok(mut child) => {
            let missing = || Error::Broken { reason: "a pipe to the program is missing".to_owned() };
            let stdin = child.stdin.take().ok_or_else(missing)?;
            let stdout = child.stdout.take().ok_or_else(missing)?;
            let stderr = child.stderr.take().ok_or_else(missing)?;
            held.program = Some(child);
            Ok(Started {
                held: Box::new(held),
                stdin: Some(Box::new(stdin)),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
            })
        }
        Err(error) => {
            held.kill();
            Err(broken(error))
        }
    }
}

/// Finds the newest Landlock that this machine has, without holding anything.
pub(super) fn newest() -> Result<ABI, String> {
    let works = |version: &ABI| rules(*version).is_ok();
    let found = VERSIONS.into_iter().find(works);
    found.ok_or_else(|| "the kernel is older than 5.13, or Landlock is switched off".to_owned())
}

/// Returns what a version of Landlock does not see.
fn unseen(version: ABI) -> Unseen {
    Unseen { signals: version < ABI::V6, lengths: version < ABI::V3 }
}

/// Says whether programs run as somebody else than us: if we are root, may become others, and there are others. In some
/// containers root is the only user; programs are then held like an ordinary user's.
pub(in super::super) fn switches_user() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::CHOWN;
    let able = rustix::thread::capabilities(None).is_ok_and(|own| own.effective.contains(needed));
    let exists = ["/proc/self/uid_map", "/proc/self/gid_map"].into_iter().all(|map| {
        std::fs::read_to_string(map).is_ok_and(|lines| lines.lines().any(|line| holds(line, &NOBODIES)))
    });
    rustix::process::geteuid().is_root() && able && exists
}

/// Returns the user as whom root runs this program.
fn nobody(plan: &Plan) -> u32 {
    let several = u64::from(NOBODIES.end - NOBODIES.start);
    NOBODIES.start + u32::try_from(plan.number % several).unwrap_or_default()
}

/// Says whether a line of a map of users, `first outside count`, holds these users.
fn holds(line: &str, users: &std::ops::Range<u32>) -> bool {
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    matches!(numbers[..], [first, _, count]
        if first <= users.start.into() && first.saturating_add(count) >= users.end.into())
}

fn command(plan: &Plan, group: u32, as_nobody: bool) -> Command {
    let limits = &plan.limits;
    // The count is of the user's processes on the whole machine, so it is of use only for a user of its own.
    let processes = if as_nobody { u64::from(limits.processes).saturating_add(1) } else { 0 };
    let cpu = limits.cpu.as_secs().saturating_add(1);
    let numbers = [limits.file_size.div_ceil(512), limits.memory.saturating_mul(2) / 1024, cpu, processes];
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{{ {LIMITED} }} 2>/dev/null; shift 4; exec \"$@\"")).arg("sh");
    command.args(numbers.map(|number| number.to_string())).arg(&plan.program).args(&plan.arguments);
    command.env_clear().envs(plan.environment.iter());
    command.env("HOME", plan.private.join("home")).env("TMPDIR", plan.private.join("tmp"));
    command.env("PWD", &plan.scratch).current_dir(&plan.scratch);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(group.cast_signed());
    if as_nobody {
        command.uid(nobody(plan)).gid(nobody(plan));
    }
    command
}

fn rules(version: ABI) -> Result<landlock::RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(version))?;
    if version >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(version))?;
    }
    if version >= ABI::V6 {
        rules = rules.scope(Scope::from_all(version))?;
    }
    rules.create()
}

fn confine(readable: &[std::path::PathBuf], scratch: &Path, version: ABI) -> Result<(), RulesetError> {
    let read = AccessFs::from_read(version);
    let devices = BitFlags::from(AccessFs::ReadFile) | AccessFs::WriteFile;
    let everything = AccessFs::from_all(version) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    rules(version)?
        .add_rules(path_beneath_rules(readable.iter().chain(&OF_PROC.map(Into::into)), read))?
        .add_rules(path_beneath_rules(DEVICES, devices))?
        .add_rules(path_beneath_rules([scratch], everything))?
        .restrict_self()?;
    Ok(())
}

/// Says whether programs that root runs as somebody else can still come to root's toolchains.
pub(in super::super) fn keeps_sight() -> bool {
    let needed = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SETPCAP;
    rustix::thread::capabilities(None).is_ok_and(|own| own.effective.contains(needed))
}

/// Lets what is started keep one of root's rights, and no other: to read whatever the owner, where Landlock lets it look.
/// Without it no toolchain in root's home could be used.
fn keep_sight() -> io::Result<()> {
    let sight = CapabilitySet::DAC_READ_SEARCH;
    let own = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: sight, ..own })?;
    rustix::thread::configure_capability_in_ambient_set(sight, true)?;
    Ok(rustix::thread::set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?)
}

/// Gives up all special rights for good: a root that cannot become somebody else has them still.
fn give_up_rights() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Gives a folder and all in it to a user. Links are given, not what they lead to.
fn hand_over(path: &Path, user: u32) -> io::Result<()> {
    lchown(path, Some(user), Some(user))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            hand_over(&entry?.path(), user)?;
        }
    }
    Ok(())
}

struct Group {
    leader: Child,
    program: Option<Child>,
    /// The scratch folder, if it has to be taken back.
    scratch: Option<std::path::PathBuf>,
}

impl Held for Group {
    fn ended(&mut self) -> io::Result<Option<Exit>> {
        let Some(program) = &mut self.program else { return Ok(None) };
        Ok(program.try_wait()?.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code { code },
            (None, Some(signal)) => super::from_signal(signal),
            (None, None) => Exit::Signal { signal: 0 },
        }))
    }

    fn tree(&self) -> Tree {
        Tree { group: self.leader.id(), with_leader: false }
    }

    fn kill(&mut self) {
        // The leader is not waited for before, so nobody else can have got its number.
        if let Some(group) = Pid::from_raw(self.leader.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        if let Some(program) = &mut self.program {
            let _ = program.wait();
        }
        super::wait_until_gone(|| !self.tree().living().is_empty());
        let _ = self.leader.wait();
        if let Some(scratch) = self.scratch.take() {
            let _ = hand_over(&scratch, rustix::process::geteuid().as_raw());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::super::{Environment, Job, Sandbox, Walls, watch};
    use super::*;

    #[test]
    fn a_line_of_a_map_of_users_is_read() {
        let users = &NOBODIES;
        assert!(holds("         0          0 4294967295", users) && holds("0 100000 65536", users));
        assert!(!holds("0 1000 1", users) && !holds("", users) && !holds("65400 0 1000", users));
    }

    #[test]
    fn what_an_older_landlock_does_not_see_is_refused_all_the_same() {
        let Ok(newest) = newest() else { return };
        for version in VERSIONS.into_iter().filter(|version| *version <= newest) {
            let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let file = outside.path().join("file");
            std::fs::write(&file, "before").unwrap();
            let mut other = Command::new("sleep").arg("60").spawn().unwrap();
            let line = format!(
                "kill -9 {0} -{0} {1}; kill -9 0 2>&1 | grep -c . ; truncate -s 0 {2}; cat {2}; \
                 perl -e 'truncate q({2}), 0'; mkdir a b; echo x > a/x; mv a/x b/x; cat b/x; exit 5",
                other.id(),
                std::process::id(),
                file.display()
            );
            let sandbox = Sandbox::new(&Environment::default());
            let plan = Plan::of(&sandbox, &Job::shell(line, folder.path()), Some(Walls::Landlock)).unwrap();
            let started = start_by(&plan, version).unwrap();
            let ran = watch::attend(started, Vec::new(), &plan.limits, &AtomicBool::new(false));
            let ran = ran.unwrap().unwrap();
            if version < ABI::V6 {
                assert_eq!(ran.exit, Exit::Code { code: 5 }, "{version:?} {}", ran.stderr.text());
                assert!(ran.stdout.text().ends_with("x\n"), "{version:?} {}", ran.stderr.text());
            }
            assert!(other.try_wait().unwrap().is_none(), "{version:?}: it was killed from inside");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "before", "{version:?}");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
