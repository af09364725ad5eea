//! Many at once, but never more than allowed.

use redraft::llm::provider::Provider;
use redraft::llm::{Model, Request};
use serde_json::json;

use crate::server::{Say, Server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_through_a_limit_of_fifty() {
    let reply = json!({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).to_string();
    let server = Server::saying(Say::ok(reply)).await;
    let mut settings = server.settings();
    settings.concurrency = 50;
    let provider = Provider::new("openai", settings).unwrap();
    // Two models of one provider share its limit.
    let models = [provider.model("a"), provider.model("b")];
    let calls: Vec<_> = (0..1000)
        .map(|n: usize| {
            let model = models[n % 2].clone();
            tokio::spawn(async move { model.answer(&Request::new(n.to_string()), &mut ()).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().text, "ok");
    }
    assert_eq!(server.heard().len(), 1000);
    assert!(server.most_at_once() <= 50, "{} were under way at once", server.most_at_once());
    assert!(server.most_at_once() > 5, "only {} were under way at once", server.most_at_once());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a pace is kept in real time")]
async fn requests_begin_no_faster_than_allowed() {
    let reply = json!({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).to_string();
    let server = Server::saying(Say::ok(reply)).await;
    let mut settings = server.settings();
    settings.per_minute = Some(1200);
    let provider = Provider::new("openai", settings).unwrap();
    let begun = std::time::Instant::now();
    let calls = (0..5).map(|n: u32| {
        let model = provider.model(&n.to_string());
        async move { model.answer(&Request::new("?"), &mut ()).await.unwrap() }
    });
    futures_util::future::join_all(calls).await;
    // Five at 50 ms apart: the last begins after 200 ms, however slow the machine is.
    assert!(begun.elapsed() >= std::time::Duration::from_millis(199));
}
