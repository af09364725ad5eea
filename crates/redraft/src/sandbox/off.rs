//! A program that nothing holds, as somebody wrote out: it can do what we can. It is still watched, and ended with its
//! process group; a process that leaves the group gets away.

use std::process::{Child, Command, Stdio};

use super::Error;
use super::plan::Plan;
use super::ran::Exit;
use super::tree::Tree;
use super::watch::{Held, Started};

pub(super) fn start(plan: &Plan) -> Result<Started, Error> {
    let mut command = Command::new(&plan.program);
    command.args(&plan.arguments).env_clear().envs(plan.environment.iter());
    command.env("HOME", plan.private.join("home")).env("TMPDIR", plan.private.join("tmp"));
    command.env("PWD", &plan.scratch).current_dir(&plan.scratch);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let cannot = |reason: String| Error::CannotStart { program: plan.program.display().to_string(), reason };
    let mut child = command.spawn().map_err(|error| cannot(error.to_string()))?;
    let missing = || cannot("a pipe to the program is missing".to_owned());
    Ok(Started {
        stdin: Some(Box::new(child.stdin.take().ok_or_else(missing)?)),
        stdout: Box::new(child.stdout.take().ok_or_else(missing)?),
        stderr: Box::new(child.stderr.take().ok_or_else(missing)?),
        held: Box::new(Loose { child, exit: None }),
    })
}

struct Loose {
    child: Child,
    exit: Option<Exit>,
}

impl Held for Loose {
    fn ended(&mut self) -> std::io::Result<Option<Exit>> {
        self.exit = self.child.try_wait()?.map(|status| match status.code() {
            Some(code) => Exit::Code { code },
            None => Exit::Signal { signal: signal(status) },
        });
        Ok(self.exit)
    }

    fn tree(&self) -> Tree {
        Tree { group: self.child.id(), with_leader: true }
    }

    fn kill(&mut self) {
        // If the program has been waited for and nobody of its group is left, its number may be somebody else's.
        #[cfg(unix)]
        if (self.exit.is_none() || !self.tree().living().is_empty())
            && let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed())
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> i32 {
    std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or_default()
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> i32 {
    0
}
