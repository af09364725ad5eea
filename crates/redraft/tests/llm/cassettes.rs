//! Recorded once, played ever after.

use redraft::Fault;
use redraft::llm::{Model, Player, Recorder, Request, Scripted};

use crate::server::{SECRET, Say, Server};

#[tokio::test]
async fn what_was_recorded_is_played_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let model = Recorder::new(Scripted::new("m", ["one", "two", "three"]), &path).unwrap();
    for prompt in ["a", "b", "a"] {
        model.answer(&Request::new(prompt), &mut ()).await.unwrap();
    }
    let player = Player::new("scripted:m", &path).unwrap();
    let mut heard = String::new();
    let mut listener = |piece: &str| heard.push_str(piece);
    // In another order; the same question gets its answers in the order in which they came.
    let mut said = Vec::new();
    for prompt in ["a", "a", "b"] {
        said.push(player.answer(&Request::new(prompt), &mut listener).await.unwrap().text);
    }
    assert_eq!((said.join(" "), heard.as_str()), ("one three two".to_owned(), "onethreetwo"));
    assert_eq!(player.left_over(), 0);
    for request in [Request::new("a"), Request::new("a "), Request::new("b").system("You.")] {
        let error = player.answer(&request, &mut ()).await.unwrap_err();
        assert_eq!(error.code(), "model-not-recorded");
    }
    let other = Player::new("scripted:other", &path).unwrap();
    assert_eq!(other.answer(&Request::new("a"), &mut ()).await.unwrap_err().code(), "model-not-recorded");
}

#[tokio::test]
async fn real_traffic_is_recorded_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let reply = r#"{"choices":[{"message":{"content":"It is."},"finish_reason":"stop"}],"usage":{"prompt_tokens":4}}"#;
    let server = Server::saying(Say::ok(reply)).await;
    let recorder = Recorder::new(server.model("openai"), &path).unwrap();
    let live = recorder.answer(&Request::new("Is it?"), &mut ()).await.unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains(SECRET));
    let player = Player::new("openai:some-model", &path).unwrap();
    assert_eq!(player.answer(&Request::new("Is it?"), &mut ()).await.unwrap(), live);
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn a_failure_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let server = Server::saying(Say::status(500, "{}")).await;
    let recorder = Recorder::new(server.model("openai"), &path).unwrap();
    recorder.answer(&Request::new("?"), &mut ()).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn a_cassette_that_cannot_be_read_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    std::fs::write(&path, "{\"not\": \"an exchange\"}\n").unwrap();
    let error = Player::new("m", &path).unwrap_err();
    assert_eq!(error.code(), "model-cassette");
    assert!(error.to_string().contains("line 1"), "{error}");
    assert_eq!(Player::new("m", folder.path().join("none")).unwrap_err().code(), "model-cassette");
}
