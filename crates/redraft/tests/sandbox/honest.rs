//! Programs that do no harm work as they do outside.

use std::fs;

use redraft::sandbox::{Containment, Exit, Job};

use super::support::{block_on, limits, python, run, run_in, sandbox, scratch, walls};

#[test]
fn a_program_runs_and_its_result_says_what_held_it() {
    for walls in walls() {
        let ran = run(walls, "echo out; echo err >&2; exit 3");
        assert_eq!(ran.exit, Exit::Code { code: 3 }, "{walls:?} {}", ran.stderr.text());
        assert_eq!((ran.stdout.text(), ran.stderr.text()), ("out\n".to_owned(), "err\n".to_owned()));
        assert_eq!(ran.contained, Containment::Landlock);
        assert_eq!(ran.contained.to_string(), "landlock, seccomp");
    }
}

#[test]
fn the_scratch_folder_is_where_it_works_and_nothing_else_is_left_there() {
    for walls in walls() {
        let folder = scratch();
        fs::write(folder.path().join("draft.txt"), "draft").unwrap();
        let line = r#"cat draft.txt; mkdir -p sub; echo made > sub/made.txt; mv draft.txt sub/
            echo kept > "$HOME/file"; t=$(mktemp); echo "$t" > "$t"; test -w "$HOME""#;
        let ran = run_in(&sandbox(walls), line, folder.path()).unwrap();
        assert!(ran.exit.success(), "{walls:?}: {} {}", ran.exit, ran.stderr.text());
        assert_eq!(ran.stdout.text(), "draft");
        assert_eq!(fs::read_to_string(folder.path().join("sub/made.txt")).unwrap(), "made\n");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["sub"], "{walls:?}");
        // What the program made belongs to us: we can remove it.
        fs::remove_dir_all(folder.path().join("sub")).unwrap();
    }
}

#[test]
fn standard_input_is_read_or_not() {
    let long = vec![b'x'; 1 << 20];
    for walls in walls() {
        let folder = scratch();
        let count = Job::new("wc", folder.path()).arguments(["-c"]).stdin(long.clone());
        let ran = block_on(sandbox(walls).run(&count)).unwrap();
        assert_eq!(ran.stdout.text().trim(), "1048576");
        let ignored = Job::new("true", folder.path()).stdin(long.clone());
        assert!(block_on(sandbox(walls).run(&ignored)).unwrap().exit.success());
        let none = run(walls, "cat; echo end");
        assert_eq!(none.stdout.text(), "end\n");
    }
}

#[test]
fn a_program_of_the_draft_can_be_run_and_variables_set() {
    for walls in walls() {
        let folder = scratch();
        let ran = run_in(
            &sandbox(walls),
            "printf '#!/bin/sh\necho \"$GREETING $1\"\n' > hello; chmod 755 hello",
            folder.path(),
        );
        assert!(ran.unwrap().exit.success());
        let job = Job::new("./hello", folder.path()).arguments(["you"]).variable("GREETING", "hi");
        let ran = block_on(sandbox(walls).run(&job)).unwrap();
        assert_eq!(ran.stdout.text(), "hi you\n", "{walls:?} {}", ran.stderr.text());
    }
}

#[test]
fn an_end_by_a_signal_is_told_from_a_code() {
    for walls in walls() {
        for (line, exit) in [
            ("kill -SEGV $$", Exit::Signal { signal: 11 }),
            ("kill -ABRT $$", Exit::Signal { signal: 6 }),
            ("exit 7", Exit::Code { code: 7 }),
            ("no-such-program-anywhere", Exit::Code { code: 127 }),
        ] {
            assert_eq!(run(walls, line).exit, exit, "{walls:?} {line}");
        }
    }
}

/// Runs a line that needs programs which not every machine, or not every user, has.
fn tool(program: &str, line: &str, expected: &str) {
    for walls in walls() {
        let folder = scratch();
        let generous = redraft::sandbox::Limits { memory: 4 << 30, ..limits() };
        let sandbox = sandbox(walls).limits(generous);
        let probe = run_in(&sandbox, &format!("{program} --version"), folder.path()).unwrap();
        if !probe.exit.success() {
            // Toolchains in root's home are of no use to others, nor to programs that had to become others.
            let theirs = std::path::Path::new("/usr/bin").join(program).exists();
            assert!(!theirs, "{walls:?}: {program} is installed: {}", probe.stderr.text());
            continue;
        }
        let ran = run_in(&sandbox, line, folder.path()).unwrap();
        assert!(ran.exit.success(), "{walls:?}: {}\n{}\n{}", ran.exit, ran.stdout.text(), ran.stderr.text());
        assert_eq!(ran.stdout.text(), expected, "{walls:?}");
    }
}

#[test]
fn python_works() {
    tool(
        "python3",
        "python3 -c 'import json, subprocess; subprocess.run([\"echo\", json.dumps([1])])'",
        "[1]\n",
    );
    for walls in walls() {
        let threads = "import concurrent.futures as f\nwith f.ThreadPoolExecutor(4) as p: print(sum(p.map(int, range(9))))";
        if let Some(ran) = python(&sandbox(walls), threads) {
            assert_eq!(ran.stdout.text(), "36\n", "{walls:?} {}", ran.stderr.text());
        }
    }
}

#[test]
fn node_works() {
    tool("node", "node -e 'setTimeout(() => console.log(6 * 7), 1)'", "42\n");
}

#[test]
fn a_c_compiler_and_its_linker_work() {
    tool(
        "gcc",
        r#"printf '#include <stdio.h>\nint main(){puts("made");}' > m.c && gcc m.c -o m && ./m"#,
        "made\n",
    );
}

#[test]
fn rustc_and_its_linker_work() {
    tool("rustc", r#"printf 'fn main(){println!("made");}' > m.rs && rustc m.rs && ./m"#, "made\n");
}

#[test]
fn cargo_works_without_a_network() {
    tool(
        "cargo",
        r#"mkdir -p p/src && cd p && printf '[package]\nname="p"\nedition="2024"\n[lib]\npath="src/lib.rs"\n' > Cargo.toml &&
        printf '#[test]\nfn holds() { assert_eq!(2 + 2, 4); }\n' > src/lib.rs &&
        cargo test --offline --quiet > log 2>&1 && grep -c '1 passed' log || { cat log >&2; false; }"#,
        "1\n",
    );
}
