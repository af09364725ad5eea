//! Every way to fail has its type, and the type decides how often it is tried.

use std::time::Duration;

use redraft::llm::provider::{Provider, Settings};
use redraft::llm::{Model, Request};
use redraft::store::MemoryStore;
use redraft::{Backoff, Ctx, Engine, Failure, Fault, Policy, flow};
use serde_json::json;

use crate::server::{SECRET, Say, Server};

/// What the server says, the code it must become, and how many of three attempts are made.
fn cases(provider: &str) -> Vec<(&'static str, Say, &'static str, usize)> {
    let error = |status: u16, kind: &str, message: &str| {
        let body = match provider {
            "openai" => json!({"error": {"message": message, "type": kind, "code": kind}}),
            "anthropic" => json!({"type": "error", "error": {"type": kind, "message": message}}),
            _ => json!({"error": {"code": status, "message": message, "status": kind}}),
        };
        Say::status(status, body.to_string())
    };
    let mut cases = vec![
        ("401", error(401, "authentication_error", "bad key"), "model-authentication", 1),
        ("403", error(403, "permission_error", "not yours"), "model-authentication", 1),
        ("404", error(404, "not_found_error", "no such model"), "model-not-found", 1),
        ("400", error(400, "invalid_request_error", "what?"), "model-bad-request", 1),
        ("429", error(429, "rate_limit_error", "slow down"), "model-rate-limited", 3),
        (
            "429 with seconds",
            error(429, "x", "slow down").header("retry-after", "0"),
            "model-rate-limited",
            3,
        ),
        (
            "429 with millis",
            error(429, "x", "slow down").header("retry-after-ms", "1"),
            "model-rate-limited",
            3,
        ),
        (
            "429 with a date",
            error(429, "x", "slow down").header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            "model-rate-limited",
            3,
        ),
        ("500", error(500, "api_error", "oops"), "model-overloaded", 3),
        ("503 without a body", Say::status(503, ""), "model-overloaded", 3),
        ("529", error(529, "overloaded_error", "too many"), "model-overloaded", 3),
        ("a page instead of JSON", Say::status(502, "<html>bad gateway</html>"), "model-overloaded", 3),
        ("invalid JSON", Say::ok("{\"choices\": [tru"), "model-malformed", 3),
        ("other JSON", Say::ok("[1, 2, 3]"), "model-malformed", 3),
        ("an empty body", Say::ok(""), "model-malformed", 3),
        ("a body that breaks off", Say::Part { body: "{\"cho".to_owned() }, "model-truncated", 3),
        (
            "a redirect",
            Say::status(302, "").header("location", "http://127.0.0.1:1/"),
            "model-bad-request",
            1,
        ),
    ];
    cases.extend(match provider {
        "openai" => vec![
            ("too long", error(400, "context_length_exceeded", "too long"), "model-context-too-long", 1),
            ("filtered", error(400, "content_filter", "no"), "model-refused", 1),
            ("refused", Say::ok(r#"{"choices":[{"message":{"refusal":"I will not"}}]}"#), "model-refused", 1),
            ("empty", Say::ok(r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#), "model-malformed", 3),
            (
                "arguments that are no JSON",
                Say::ok(r#"{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{"}}]}}]}"#),
                "model-malformed",
                3,
            ),
        ],
        "anthropic" => vec![
            ("too long", error(400, "invalid_request_error", "prompt is too long: 9 > 8"), "model-context-too-long", 1),
            ("refused", Say::ok(r#"{"content":[],"stop_reason":"refusal"}"#), "model-refused", 1),
            ("empty", Say::ok(r#"{"content":[],"stop_reason":"end_turn"}"#), "model-malformed", 3),
        ],
        _ => vec![
            (
                "a bad key",
                Say::status(400, r#"{"error":{"message":"bad key","details":[{"reason":"API_KEY_INVALID"}]}}"#),
                "model-authentication",
                1,
            ),
            ("blocked", Say::ok(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#), "model-refused", 1),
            (
                "cut off by policy",
                Say::ok(r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"SAFETY"}]}"#),
                "model-refused",
                1,
            ),
            ("empty", Say::ok(r#"{"candidates":[{"finishReason":"STOP"}]}"#), "model-malformed", 3),
        ],
    });
    cases
}

/// Asks inside a step, and returns the failure with everything that was written down and shown on the way.
async fn ask_in_a_step(server: &Server, provider: &str, streamed: bool) -> (Failure, String) {
    let model = server.model(provider);
    let shown = format!("{model:?} {:?}", Provider::new(provider, server.settings()).unwrap());
    let ask = flow("ask", move |ctx: Ctx, ()| {
        let model = model.clone();
        async move {
            ctx.step("model", || async {
                let request = Request::new("Is it high tide?");
                if streamed {
                    model.answer(&request, &mut |_: &str| ()).await
                } else {
                    model.answer(&request, &mut ()).await
                }
            })
            .await
        }
    });
    let backoff = Backoff { first: Duration::ZERO, most: Duration::ZERO, ..Backoff::default() };
    let policy = Policy { attempts: 3, backoff, timeout: None };
    let engine = Engine::on(MemoryStore::new()).workflow(ask.clone()).policy(policy).open().await.unwrap();
    let run = engine.start(&ask, ()).await.unwrap();
    let failure = run.outcome().await.unwrap().into_output().unwrap_err();
    let mut events = engine.events(run.run(), 0).await.unwrap();
    let mut journal = String::new();
    while let Some(event) = events.next().await.unwrap() {
        journal.push_str(&serde_json::to_string(&event).unwrap());
    }
    (failure.clone(), format!("{shown} {failure:?} {failure} {journal}"))
}

#[tokio::test]
async fn each_failure_has_its_code_and_its_number_of_attempts_and_shows_no_key() {
    for provider in ["openai", "anthropic", "gemini"] {
        for streamed in [false, true] {
            for (case, say, code, attempts) in cases(provider) {
                // Even if a stream was asked for: some servers answer as a whole.
                let server = Server::saying(say.header("content-type", "application/json")).await;
                let (failure, seen) = ask_in_a_step(&server, provider, streamed).await;
                assert_eq!(failure.code, code, "{provider}, {case}, streamed {streamed}: {failure}");
                assert_eq!(server.heard().len(), attempts, "{provider}, {case}, streamed {streamed}");
                assert!(!seen.contains(SECRET), "{provider}, {case}: the key was shown in {seen}");
                assert!(redraft::explain(&failure.code).is_some(), "there is no page about {}", failure.code);
            }
        }
    }
}

#[tokio::test]
async fn a_provider_that_says_when_to_come_back_is_heard() {
    let retry = |say: Say| async {
        let server = Server::saying(say).await;
        server.model("gemini").answer(&Request::new("?"), &mut ()).await.unwrap_err().retry()
    };
    let says = Say::status(429, "{}").header("retry-after", "17");
    assert_eq!(retry(says).await, redraft::Retry::After(Duration::from_secs(17)));
    let says = Say::status(503, "{}").header("retry-after-ms", "250");
    assert_eq!(retry(says).await, redraft::Retry::After(Duration::from_millis(250)));
    let body = r#"{"error":{"message":"quota","details":[{"retryDelay":"1.5s"}]}}"#;
    assert_eq!(retry(Say::status(429, body)).await, redraft::Retry::After(Duration::from_millis(1500)));
    assert_eq!(retry(Say::status(429, "{}")).await, redraft::Retry::Backoff);
    let nonsense = Say::status(429, "{}").header("retry-after", "-5");
    assert_eq!(retry(nonsense).await, redraft::Retry::Backoff);
}

#[tokio::test]
async fn streams_that_break_are_not_answers() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"It \"}}]}\n\n";
    let broken = "data: {\"choices\":[{\"delta\":{\"content\":\"It \"}}]}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let cases = [
        (Say::ok(half), "model-truncated"),
        (Say::Part { body: half.to_owned() }, "model-truncated"),
        (Say::ok(broken), "model-overloaded"),
        (Say::ok("data: {not json\n\n"), "model-malformed"),
        (Say::ok(""), "model-truncated"),
    ];
    for (say, code) in cases {
        let server = Server::saying(say.clone()).await;
        let mut heard = String::new();
        let mut listener = |piece: &str| heard.push_str(piece);
        let error = server.model("openai").answer(&Request::new("?"), &mut listener).await.unwrap_err();
        assert_eq!(error.code(), code, "{say:?}");
    }
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let server = Server::saying(Say::Nothing).await;
    let mut settings = server.settings();
    settings.timeout = Duration::from_millis(50);
    let model = Provider::new("openai", settings).unwrap().model("m");
    let error = model.answer(&Request::new("?"), &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-timeout");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error() {
    let mut settings = Settings::default();
    // Nobody listens on the port of a listener that was closed.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    settings.base_url = Some(format!("http://127.0.0.1:{port}/{SECRET}"));
    let model = Provider::new("ollama", settings).unwrap().model("m");
    let error = model.answer(&Request::new("?"), &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-network");
    assert!(!format!("{error:?} {error}").contains(SECRET), "{error:?}");
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_is_refused_before_anything_is_sent() {
    let error = Provider::new("opnai", Settings::default()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("unknown-provider", "there is no provider `opnai`; did you mean `openai`?")
    );
    let mut settings = Settings::default();
    settings.base_url = Some("not a url".to_owned());
    assert_eq!(Provider::new("openai", settings).unwrap_err().code(), "provider-unusable");
    let mut settings = Settings::default();
    settings.key = Some(redraft::llm::provider::Key::new("line\nbreak-secret"));
    let error = Provider::new("openai", settings).unwrap_err();
    assert_eq!(error.code(), "provider-unusable");
    assert!(!format!("{error:?} {error}").contains("secret"));
    let model = Provider::new("openai", Settings::default()).unwrap().model("m");
    let error = model.answer(&Request::new("?"), &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-authentication");
    assert!(error.hint().unwrap().contains("OPENAI_API_KEY"));
}

#[tokio::test]
async fn a_service_that_repeats_the_key_is_not_repeated() {
    let echo =
        format!(r#"{{"error":{{"message":"the key {SECRET} is not valid","code":"invalid_api_key"}}}}"#);
    let broken = format!("data: {{\"error\":{{\"message\":\"{SECRET}\"}}}}\n\n");
    let page = format!("<html>{}{SECRET}</html>", "x".repeat(490));
    for say in
        [Say::status(401, echo.clone()), Say::status(500, echo), Say::status(502, page), Say::ok(broken)]
    {
        let server = Server::saying(say).await;
        let (failure, seen) = ask_in_a_step(&server, "openai", true).await;
        assert!(!seen.contains(&SECRET[..12]), "{failure}");
    }
    let mut settings = Settings::default();
    settings.base_url = Some(format!("http://ada:{SECRET}@127.0.0.1:1/v1"));
    let shown = format!("{settings:?} {:?}", Provider::new("ollama", settings.clone()).unwrap());
    assert!(!shown.contains(SECRET) && shown.contains("127.0.0.1:1/v1"), "{shown}");
}
