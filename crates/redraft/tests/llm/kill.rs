//! A process that is killed while a model is answering asks that one question again, and no other.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redraft::llm::provider::{Key, Provider, Settings};
use redraft::llm::{Request, say};
use redraft::store::SqliteStore;
use redraft::{Ctx, Engine, Failure, flow};
use serde_json::json;

use crate::server::{SECRET, Say, Server};

const PLACE: &str = "REDRAFT_LLM_KILL_TEST";

/// The child. As a test of its own it has nothing to do and passes.
#[test]
fn child_process() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let (address, file) = place.split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut settings = Settings::default();
        settings.base_url = Some(address.to_owned());
        settings.key = Some(Key::new(SECRET));
        let model = Provider::new("openai", settings).unwrap().model("m");
        let interview = flow("interview", move |ctx: Ctx, ()| {
            let model = model.clone();
            async move {
                for question in ["one", "two", "three"] {
                    say(&ctx, "ask", &model, &Request::new(question)).await?;
                }
                Ok::<_, Failure>(())
            }
        });
        let store = SqliteStore::open(file).unwrap();
        let engine = Engine::on(store).workflow(interview.clone()).open().await.unwrap();
        let run = match engine.driving().first() {
            Some(run) => engine.handle(*run).await.unwrap().typed(),
            None => engine.start(&interview, ()).await.unwrap(),
        };
        run.outcome().await.unwrap().into_output().unwrap();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_call_in_flight_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let slow = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&slow);
    let server = Server::by(move |heard, _| {
        if heard.body["messages"][0]["content"] == "two" && asked.load(Ordering::SeqCst) {
            return Say::Nothing;
        }
        Say::ok(json!({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).to_string())
    })
    .await;
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child_process"])
            .env(PLACE, format!("{} {}", server.address, folder.path().join("kill.db").display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut child = start();
    while server.heard().len() < 2 {
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    slow.store(false, Ordering::SeqCst);
    let mut child = start();
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert!(ended.success());
    let questions: Vec<String> = server
        .heard()
        .iter()
        .map(|heard| heard.body["messages"][0]["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(questions, ["one", "two", "two", "three"]);

    // The service can tell that it is the same call.
    let keys: Vec<String> = server
        .heard()
        .iter()
        .map(|heard| {
            heard.head.lines().find(|line| line.starts_with("idempotency-key: ")).unwrap().to_owned()
        })
        .collect();
    assert_eq!(keys[1], keys[2]);
    assert!(keys[0] != keys[1] && keys[2] != keys[3]);
}
