//! System calls that no draft needs and that lead out, refused by the kernel.
//!
//! What is not named is allowed: compilers, interpreters and test runners must work, and files are held by other means.
//! A filter holds the thread that applies it and whatever is started from there.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{self, Eq, MaskedEq, Ne};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, sock_filter};

/// How a call that is not allowed ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// Not permitted.
    Refused,
    /// Not known: programs then take the older way, which can be looked into.
    Unknown,
    /// Done, it says, but nothing was.
    Pretended,
}

/// An argument's number, its width in bytes, and what it must be compared to.
type Condition = (u8, u8, SeccompCmpOp, u64);

struct Rules(BTreeMap<Answer, BTreeMap<i64, Vec<Vec<Condition>>>>);

/// The machine, its keys, its clock, other processes, and calls whose effects cannot be seen here.
const OF_THE_MACHINE: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// What is shared with everybody: mounts and namespaces, memory and queues, owners and attributes of files.
const SHARED: &[i64] = &[
    libc::SYS_chroot,
    libc::SYS_connect,
    libc::SYS_fchownat,
    libc::SYS_fchown,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mount,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_pivot_root,
    libc::SYS_removexattr,
    libc::SYS_semget,
    libc::SYS_sethostname,
    libc::SYS_setxattr,
    libc::SYS_shmget,
    libc::SYS_umount2,
    libc::SYS_unshare,
];

/// Calls of later kernels that do what earlier ones do: set and remove attributes, mount, change a file's flags.
const LATER: [i64; 4] = [463, 466, 467, 469];

/// The bits of `clone` that make namespaces: mount, cgroup, uts, ipc, user, pid, net.
const NEW_NAMESPACES: [u64; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
const SOCKET_TYPE: u64 = 0xf;
const DATAGRAM: u64 = 2;
const DEATH_SIGNAL: u64 = 1;
const SIGKILL: u64 = 9;
const SIGURG: u64 = 23;
const PUSH_INTO_TERMINAL: u64 = 0x5412;
const SUBREAPER: u64 = 36;

/// What the Landlock of this machine is too old to see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    /// Signals to processes outside.
    pub(super) signals: bool,
    /// Files that are cut off by name.
    pub(super) lengths: bool,
}

/// Applies the filters to this thread; what is started from it stays in the process group `group`.
pub(super) fn apply(group: u32, unseen: Unseen) -> Result<(), String> {
    let mut rules = Rules::everywhere();
    for call in SHARED.iter().chain(&LATER) {
        rules.add(Answer::Refused, *call, &[]);
    }
    // A socket of the file system may lead to a service that acts for its callers, and Landlock does not look there.
    rules.add(Answer::Refused, libc::SYS_socket, &[]);
    rules.add(Answer::Refused, libc::SYS_socketpair, &[(1, 4, MaskedEq(SOCKET_TYPE), DATAGRAM)]);
    for bit in NEW_NAMESPACES {
        rules.add(Answer::Refused, libc::SYS_clone, &[(0, 8, MaskedEq(bit), bit)]);
    }
    // The group is how all of them are found at the end, so nobody leaves it; programs that try are told they have.
    rules.add(Answer::Pretended, libc::SYS_setsid, &[]);
    rules.add(Answer::Pretended, libc::SYS_setpgid, &[(1, 4, Ne, u64::from(group))]);
    // Landlock does not see modes. A mode that shuts the owner out, or lets others write, would do harm to files
    // outside; what compilers and archivers set passes.
    for (call, argument) in changing_modes() {
        for harmful in [0o4000, 0o2000, 0o020, 0o002] {
            rules.add(Answer::Pretended, call, &[(argument, 4, MaskedEq(harmful), harmful)]);
        }
        for needed in [0o400, 0o200] {
            rules.add(Answer::Pretended, call, &[(argument, 4, MaskedEq(needed), 0)]);
        }
    }
    // Limits of other processes of the same user, ours among them, could be taken away.
    rules.add(Answer::Refused, libc::SYS_prlimit64, &[(0, 4, Ne, 0)]);
    if unseen.lengths {
        rules.add(Answer::Refused, libc::SYS_truncate, &[]);
    }
    if unseen.signals {
        // A filter cannot tell whose process it is, so nobody is signalled, not even the program's own.
        for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo] {
            rules.add(Answer::Refused, call, &[]);
        }
        rules.add(Answer::Refused, libc::SYS_rt_tgsigqueueinfo, &[]);
        rules.add(Answer::Refused, libc::SYS_pidfd_send_signal, &[]);
        // But for the one that does nothing to those who do not wait for it; some runtimes wake their threads by it.
        rules.add(Answer::Refused, libc::SYS_tgkill, &[(2, 4, Ne, SIGURG)]);
    }
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_chown, libc::SYS_lchown] {
        rules.add(Answer::Refused, call, &[]);
    }
    rules.apply()
}

/// Returns the calls that change a file's mode, with the place of the mode among their arguments.
fn changing_modes() -> Vec<(i64, u8)> {
    const FCHMODAT2: i64 = 452;
    vec![
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
    ]
}

impl Rules {
    fn everywhere() -> Self {
        let mut rules = Self(BTreeMap::new());
        for call in OF_THE_MACHINE {
            rules.add(Answer::Refused, *call, &[]);
        }
        rules.add(Answer::Refused, libc::SYS_ioctl, &[(1, 4, Eq, PUSH_INTO_TERMINAL)]);
        // Whoever could take this back would outlive us.
        rules.add(Answer::Refused, libc::SYS_prctl, &[(0, 4, Eq, DEATH_SIGNAL), (1, 8, Ne, SIGKILL)]);
        rules.add(Answer::Refused, libc::SYS_prctl, &[(0, 4, Eq, SUBREAPER)]);
        // Its arguments are in memory, where a filter cannot look.
        rules.add(Answer::Unknown, libc::SYS_clone3, &[]);
        rules
    }

    fn add(&mut self, answer: Answer, call: i64, conditions: &[Condition]) {
        self.0.entry(answer).or_default().entry(call).or_default().push(conditions.to_vec());
    }

    fn apply(&self) -> Result<(), String> {
        for (answer, calls) in &self.0 {
            let program = compile(*answer, calls).map_err(|error| error.to_string())?;
            seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn compile(
    answer: Answer,
    calls: &BTreeMap<i64, Vec<Vec<Condition>>>,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let errno = match answer {
        Answer::Refused => libc::EPERM,
        Answer::Unknown => libc::ENOSYS,
        Answer::Pretended => 0,
    };
    let mut rules = BTreeMap::new();
    for (call, alternatives) in calls {
        let mut chains = Vec::new();
        // To the compiler, no condition at all is a match; beside others it would be lost.
        let always = alternatives.iter().any(Vec::is_empty);
        for conditions in alternatives.iter().filter(|_| !always) {
            let conditions = conditions.iter().map(|(argument, width, operator, value)| {
                let width = if *width == 4 { Dword } else { Qword };
                SeccompCondition::new(*argument, width, operator.clone(), *value)
            });
            chains.push(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?);
        }
        rules.insert(*call, chains);
    }
    let target = std::env::consts::ARCH.try_into()?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let compiled: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, action, target)?.try_into()?;
    Ok(second_numbering_refused().into_iter().chain(compiled).collect())
}

/// Refuses the second numbering that the x86-64 kernel knows for the same calls (x32): rules by number would miss it.
fn second_numbering_refused() -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST: u32 = 0x4000_0000;
    let unknown = u32::from(SeccompAction::Errno(libc::ENOSYS.unsigned_abs()));
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: FIRST },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: unknown },
    ]
}
