//! `redraft watch`

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use redraft::store::SqliteStore;
use redraft::{Ctx, Engine, Failure, Question, flow};
use serde_json::Value;

use crate::support::{GOOD, HOSTILE, Store, settled, stderr, stdout};

#[test]
fn what_has_happened_is_told_and_the_exit_code_is_that_of_the_run() {
    let store = Store::new();
    let run = store.refined(&GOOD);
    let output = store.redraft(&["watch", "last"]);
    assert_eq!(output.status.code(), Some(0));
    let text = settled(&stdout(&output), run);
    assert!(text.starts_with("MOMENT  ● essay started\nMOMENT  ✓ 1/draft\n"), "{text}");
    assert!(text.ends_with("MOMENT  ✓ iteration 3  score 1.00  0 findings\n"), "{text}");
    assert!(stderr(&output).starts_with("✓ accepted: a draft was proven good enough\n"));

    store.refined(&HOSTILE);
    assert_eq!(store.redraft(&["watch", "last"]).status.code(), Some(1));
}

#[test]
fn programs_get_every_event_as_json() {
    let store = Store::new();
    store.refined(&GOOD);
    let output = store.redraft(&["watch", "last", "--jsonl"]);
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["type"], "run_finished");
    assert_eq!(stderr(&output), "");
}

/// The run is driven here; the program follows it from another process, and sees what happens after it began.
#[test]
fn a_run_that_another_process_drives_is_followed_to_its_end() {
    let store = Store::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let ask = flow("ask", |ctx: Ctx, (): ()| async move {
            let answer = ctx.gate("go", Question::new("Shall it go on?").option("yes").option("no")).await?;
            ctx.step("after", || async { Ok::<_, Failure>(answer.choice.clone()) }).await
        });
        let engine =
            Engine::on(SqliteStore::open(store.file()).unwrap()).workflow(ask.clone()).open().await.unwrap();
        let run = engine.start(&ask, ()).await.unwrap();
        run.settled().await.unwrap();

        let mut watch = Command::new(env!("CARGO_BIN_EXE_redraft"))
            .args(["watch", "last"])
            .env("REDRAFT_STORE", store.file())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut next = || lines.next().unwrap_or_default();
        assert!(next().ends_with("● ask started"));
        assert!(next().ends_with("◔ go asks: Shall it go on?"));
        let answer = redraft::Answer::new("yes").by("somebody");
        engine.answer(run.run(), "go", answer).await.unwrap();
        assert!(next().ends_with("✓ go: yes by somebody"));
        assert!(next().ends_with("✓ after"));
        let ended = tokio::task::spawn_blocking(move || watch.wait_with_output().unwrap()).await.unwrap();
        assert_eq!(ended.status.code(), Some(0));
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains("◔ it waits for a person\n  next: redraft approve run_"), "{said}");
        assert!(said.contains("✓ completed: it came to its end"), "{said}");
    });
}
