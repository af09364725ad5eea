//! Processes that want to live on: after their program's end, after its time, without anybody who waits, without us.

use std::process::{Command, Stdio};
use std::time::Duration;

use redraft::sandbox::{Exit, Job, Limits, Walls};

use super::support::{block_on, got_away, limits, marked, run_in, sandbox, scratch, until, walls};

/// Ways to get away. Each leaves processes with the mark in their command lines, which sleep for a time that a test
/// does not wait for.
fn ways(mark: &str) -> [String; 5] {
    let sleeper = format!("sh -c ': {mark}; sleep 300; :'");
    [
        format!("{sleeper} &"),
        format!("setsid {sleeper} > /dev/null 2>&1 < /dev/null &"),
        format!("(setsid -f {sleeper} > /dev/null 2>&1 < /dev/null &) &"),
        format!("nohup setsid sh -c \"trap '' TERM HUP INT; setsid -f {sleeper}\" > /dev/null 2>&1 &"),
        // Without the signal that comes with a parent's death.
        format!(
            "perl -e 'syscall(157, 1, 0, 0, 0, 0); syscall(112); syscall(109, 0, 0); exec q(sh), q(-c), q(: {mark}; sleep 300; :)' &"
        ),
    ]
}

fn mark() -> String {
    format!("survivor-{}-{}", std::process::id(), fastrand::u64(..))
}

#[test]
fn nothing_outlives_a_program_that_ended_or_was_ended() {
    for walls in walls() {
        for (way, expected) in (0..5).flat_map(|way| [(way, Exit::Code { code: 0 }), (way, Exit::TimedOut)]) {
            let mark = mark();
            let (wall, waits) = match expected {
                Exit::TimedOut => (Duration::from_secs(3), "sleep 300"),
                _ => (limits().wall, "until [ -e seen ]; do sleep 0.02; done"),
            };
            let sandbox = sandbox(walls).limits(Limits { wall, ..limits() });
            let folder = scratch();
            let line = format!("{} {waits}; exit 0", ways(&mark)[way]);
            let ran = std::thread::scope(|scope| {
                let running = scope.spawn(|| run_in(&sandbox, &line, folder.path()).unwrap());
                assert!(until(|| got_away(&mark)), "{walls:?} {way}: it never started");
                std::fs::write(folder.path().join("seen"), "").unwrap();
                running.join().unwrap()
            });
            assert_eq!(ran.exit, expected, "{walls:?} {way} {}", ran.stderr.text());
            assert_eq!(marked(&mark), 0, "{walls:?} {way} {expected:?}");
        }
    }
}

#[test]
fn a_dropped_future_ends_the_program() {
    for walls in walls() {
        for way in 0..5 {
            let mark = mark();
            let (sandbox, folder) = (sandbox(walls), scratch());
            let job = Job::shell(format!("{} sleep 300", ways(&mark)[way]), folder.path());
            block_on(async {
                let mut running = Box::pin(sandbox.run(&job));
                loop {
                    let tick = tokio::time::timeout(Duration::from_millis(20), &mut running).await;
                    assert!(tick.is_err(), "{walls:?} {way}: it ended by itself: {tick:?}");
                    if got_away(&mark) {
                        break;
                    }
                }
            });
            assert!(until(|| marked(&mark) == 0), "{walls:?} {way}");
        }
    }
}

/// The part of the next test that is killed: this test's program, started once more.
#[test]
fn victim() {
    let Ok(asked) = std::env::var("REDRAFT_TEST_VICTIM") else { return };
    let (walls, line) = asked.split_once('\n').unwrap();
    assert_eq!(walls, "landlock");
    let folder = scratch();
    println!("{}", folder.path().display());
    let _ = run_in(&sandbox(Walls::Landlock), line, folder.path());
}

#[test]
fn nothing_outlives_us_when_we_are_killed() {
    for walls in walls() {
        for way in 0..5 {
            let mark = mark();
            let line = format!("landlock\n{} sleep 300", ways(&mark)[way]);
            let mut victim = Command::new(std::env::current_exe().unwrap())
                .args(["survivors::victim", "--exact", "--nocapture"])
                .env("REDRAFT_TEST_VICTIM", line)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            assert!(until(|| got_away(&mark)), "{walls:?} {way}: it never started");
            victim.kill().unwrap();
            victim.wait().unwrap();
            assert!(until(|| marked(&mark) == 0), "{walls:?} {way}: {} left", marked(&mark));
        }
    }
}
