//! Programs that want too much.

use std::time::Duration;

use redraft::sandbox::{Exit, Limits};

use super::support::{limits, marked, python, run_in, sandbox, scratch, walls};

#[test]
fn endless_output_ends_the_program_and_its_beginning_and_end_are_kept() {
    for walls in walls() {
        for line in ["yes endless", "yes endless >&2"] {
            let few = Limits { output: 1 << 20, kept: 1000, ..limits() };
            let ran = run_in(&sandbox(walls).limits(few), line, scratch().path()).unwrap();
            assert_eq!(ran.exit, Exit::OutputTooLong, "{walls:?} {line}");
            let captured = if line.ends_with('2') { ran.stderr } else { ran.stdout };
            assert!(captured.left_out > 1 << 19 && captured.head.len() == 500 && captured.tail.len() == 500);
            assert!(captured.text().contains("bytes left out"));
        }
    }
}

#[test]
fn time_on_the_wall_ends() {
    for walls in walls() {
        for line in ["sleep 1000", "trap '' TERM INT HUP; sleep 1000; sleep 1000"] {
            let short = Limits { wall: Duration::from_millis(500), ..limits() };
            let ran = run_in(&sandbox(walls).limits(short), line, scratch().path()).unwrap();
            assert_eq!(ran.exit, Exit::TimedOut, "{walls:?} {line}");
            assert!(ran.wall < Duration::from_secs(30));
        }
    }
}

#[test]
fn processor_time_ends_for_one_process_and_for_all_together() {
    for walls in walls() {
        let spin = "while :; do :; done";
        let many = format!("for i in 1 2 3 4; do ( {spin} ) & done; wait");
        for line in [spin, &many] {
            let short = Limits { cpu: Duration::from_secs(1), ..limits() };
            let ran = run_in(&sandbox(walls).limits(short), line, scratch().path()).unwrap();
            assert_eq!(ran.exit, Exit::CpuSpent, "{walls:?} {line}");
        }
    }
}

#[test]
fn a_memory_hog_does_not_get_what_it_wants() {
    let hog = "held = []\nfor i in range(32): held.append(b'x' * (64 << 20))\nprint('got all')";
    // Each is within what one process may have; together they are not.
    let herd = "import os, time\nfor i in range(4):\n  if os.fork() == 0:\n    held = b'x' * (120 << 20)\n    time.sleep(20)\n    os._exit(0)\nfor i in range(4): os.wait()\nprint('got all')";
    for walls in walls() {
        let sandbox = sandbox(walls).limits(Limits { memory: 256 << 20, ..limits() });
        let Some(ran) = python(&sandbox, hog) else { return };
        assert!(!ran.exit.success() && !ran.stdout.text().contains("got all"), "{walls:?} {}", ran.exit);
        let ran = python(&sandbox, herd).unwrap();
        assert_eq!(ran.exit, Exit::OutOfMemory, "{walls:?} {}", ran.stderr.text());
    }
}

#[test]
fn a_fork_bomb_stays_small_and_nothing_of_it_is_left() {
    for walls in walls() {
        let mark = format!("bomb-{walls:?}-{}", fastrand::u64(..));
        // Each process makes two more, ten times: a thousand at most, each of which ends by itself.
        let line = format!(
            ": {mark}; bomb() {{ [ $1 -gt 9 ] || {{ bomb $(($1 + 1)) & bomb $(($1 + 1)) & }}; sleep 5; }}; bomb 0; wait"
        );
        let sandbox = sandbox(walls).limits(Limits { processes: 40, ..limits() });
        let ran = run_in(&sandbox, &line, scratch().path()).unwrap();
        let refused = ran.stderr.text().contains("fork");
        assert!(
            refused || ran.exit == Exit::TooManyProcesses,
            "{walls:?} {} {}",
            ran.exit,
            ran.stderr.text()
        );
        assert_eq!(marked(&mark), 0, "{walls:?}");
    }
}

#[test]
fn a_file_does_not_grow_beyond_its_limit() {
    for walls in walls() {
        let folder = scratch();
        let sandbox = sandbox(walls).limits(Limits { file_size: 1 << 20, ..limits() });
        let ran = run_in(&sandbox, "head -c 4000000 /dev/zero > big", folder.path()).unwrap();
        assert!(!ran.exit.success(), "{walls:?}");
        assert!(folder.path().join("big").metadata().unwrap().len() <= 1 << 20, "{walls:?}");
    }
}

#[test]
fn programs_at_the_same_time_do_not_share_their_limits() {
    for walls in walls() {
        let line = "for i in $(seq 25); do sleep 1 & done; wait; echo done";
        let sandbox = sandbox(walls).limits(Limits { processes: 40, ..limits() });
        let run = || run_in(&sandbox, line, scratch().path()).unwrap();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
            for ran in running.into_iter().map(|running| running.join().unwrap()) {
                assert_eq!(ran.stdout.text(), "done\n", "{walls:?} {} {}", ran.exit, ran.stderr.text());
            }
        });
    }
}
