//! What is sent and what comes back, for each language.

use redraft::llm::{Completion, Finish, Message, Model, OutputSchema, Request, Tool, ToolCall};
use serde_json::{Value, json};

use crate::server::{SECRET, Say, Server};

const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Everything a request can hold.
fn full_request() -> Request {
    let mut request = Request::new("Is it high tide?")
        .system("You know the sea.")
        .message(Message::Assistant {
            text: "Let me look.".to_owned(),
            calls: vec![ToolCall {
                id: "c1".to_owned(),
                name: "tide".to_owned(),
                arguments: json!({"at": "noon"}),
            }],
        })
        .message(Message::ToolResult {
            id: "c1".to_owned(),
            name: "tide".to_owned(),
            output: "high".to_owned(),
        })
        .tool(Tool {
            name: "tide".to_owned(),
            description: "Tells the tide.".to_owned(),
            parameters: json!({"type": "object"}),
        });
    request.temperature = Some(0.5);
    request.seed = Some(7);
    request.stop = vec!["END".to_owned()];
    request.max_output_tokens = 99;
    request
}

fn sent(provider: &str) -> Value {
    match provider {
        "openai" => json!({
            "model": "some-model",
            "messages": [
                {"role": "system", "content": "You know the sea."},
                {"role": "user", "content": "Is it high tide?"},
                {"role": "assistant", "content": "Let me look.", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{\"at\":\"noon\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "high"},
            ],
            "max_completion_tokens": 99, "temperature": 0.5, "seed": 7, "stop": ["END"],
            "tools": [{"type": "function", "function": {
                "name": "tide", "description": "Tells the tide.", "parameters": {"type": "object"},
            }}],
        }),
        "anthropic" => json!({
            "model": "some-model",
            "system": "You know the sea.",
            "messages": [
                {"role": "user", "content": "Is it high tide?"},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "c1", "name": "tide", "input": {"at": "noon"}},
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "high"}]},
            ],
            "max_tokens": 99, "temperature": 0.5, "stop_sequences": ["END"],
            "tools": [{"name": "tide", "description": "Tells the tide.", "input_schema": {"type": "object"}}],
        }),
        _ => json!({
            "systemInstruction": {"parts": [{"text": "You know the sea."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Is it high tide?"}]},
                {"role": "model", "parts": [
                    {"text": "Let me look."}, {"functionCall": {"name": "tide", "args": {"at": "noon"}}},
                ]},
                {"role": "user", "parts": [{"functionResponse": {"name": "tide", "response": {"result": "high"}}}]},
            ],
            "generationConfig": {"maxOutputTokens": 99, "temperature": 0.5, "seed": 7, "stopSequences": ["END"]},
            "tools": [{"functionDeclarations": [
                {"name": "tide", "description": "Tells the tide.", "parametersJsonSchema": {"type": "object"}},
            ]}],
        }),
    }
}

/// `It is.` with 20 tokens read, 5 of them cached, and 3 written.
fn text_reply(provider: &str) -> Say {
    let body = match provider {
        "openai" => json!({
            "id": "x", "model": "some-model-2026",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is."}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 20, "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 1},
            },
        }),
        "anthropic" => json!({
            "type": "message", "model": "some-model-2026", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "It is."}],
            "usage": {"input_tokens": 13, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 3},
        }),
        _ => json!({
            "modelVersion": "some-model-2026",
            "candidates": [{"content": {"role": "model", "parts": [
                {"text": "hm", "thought": true}, {"text": "It is."},
            ]}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 20, "candidatesTokenCount": 2, "cachedContentTokenCount": 5, "thoughtsTokenCount": 1,
            },
        }),
    };
    let id = if provider == "anthropic" { "request-id" } else { "x-request-id" };
    Say::ok(body.to_string()).header(id, "req_42")
}

fn stream_reply(provider: &str) -> Say {
    let body = match provider {
        "openai" => "\
data: {\"model\":\"some-model-2026\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"It \"}}]}

data: {\"choices\":[{\"delta\":{\"content\":\"is.\"},\"finish_reason\":null}]}

data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}

data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":3,\"prompt_tokens_details\":{\"cached_tokens\":5}}}

data: [DONE]

",
        "anthropic" => "\
event: message_start
data: {\"type\":\"message_start\",\"message\":{\"model\":\"some-model-2026\",\"usage\":{\"input_tokens\":15,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}

event: content_block_start
data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}

event: ping
data: {\"type\":\"ping\"}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"It \"}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"is.\"}}

event: message_delta
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}

event: message_stop
data: {\"type\":\"message_stop\"}

",
        _ => "\
data: {\"modelVersion\":\"some-model-2026\",\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"It \"}]}}]}\r
\r
data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"is.\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":20,\"candidatesTokenCount\":3,\"cachedContentTokenCount\":5}}\r
\r
",
    };
    Say::ok(body).header("content-type", "text/event-stream")
}

fn call_reply(provider: &str) -> Say {
    let body = match provider {
        "openai" => json!({"choices": [{"message": {"content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "approve", "arguments": "{\"reason\":\"fine\"}"}},
        ]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        "anthropic" => json!({"content": [
            {"type": "tool_use", "id": "call_1", "name": "approve", "input": {"reason": "fine"}},
        ], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        _ => json!({"candidates": [{"content": {"parts": [
            {"functionCall": {"name": "approve", "args": {"reason": "fine"}}},
        ]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}}),
    };
    Say::ok(body.to_string())
}

fn streamed_call(provider: &str) -> Say {
    let body = match provider {
        "openai" => "\
data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"function\":{\"name\":\"approve\",\"arguments\":\"\"}}]}}]}

data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"reason\\\":\"}}]}}]}

data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"fine\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}

data: [DONE]

",
        "anthropic" => "\
data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}

data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"call_1\",\"name\":\"approve\",\"input\":{}}}

data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"reason\\\":\"}}

data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"fine\\\"}\"}}

data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":1}}

data: {\"type\":\"message_stop\"}

",
        _ => "\
data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"approve\",\"args\":{\"reason\":\"fine\"}}}]},\"finishReason\":\"STOP\"}]}

",
    };
    Say::ok(body)
}

fn check_text(provider: &str, completion: &Completion) {
    assert_eq!((completion.text.as_str(), &completion.finish), ("It is.", &Finish::Stop), "{provider}");
    let usage = completion.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cached_tokens), (20, 3, 5), "{provider}");
    assert_eq!(completion.model, "some-model-2026", "{provider}");
}

#[tokio::test]
async fn a_request_is_said_in_the_words_of_each_service() {
    for provider in PROVIDERS {
        let server = Server::saying(text_reply(provider)).await;
        let completion = server.model(provider).answer(&full_request(), &mut ()).await.unwrap();
        check_text(provider, &completion);
        assert_eq!(completion.request_id.as_deref(), Some("req_42"), "{provider}");
        let heard = server.heard();
        assert_eq!(heard[0].body, sent(provider), "{provider}");
        assert!(heard[0].head.contains(SECRET), "{provider}: the key was not sent");
        let path = ["/chat/completions", "/v1/messages", "/models/some-model:generateContent"];
        let path = path[PROVIDERS.iter().position(|known| *known == provider).unwrap()];
        assert!(heard[0].head.starts_with(&format!("POST {path} ")), "{}", heard[0].head);
    }
}

#[tokio::test]
async fn text_is_heard_as_it_comes_and_the_whole_is_the_same() {
    for provider in PROVIDERS {
        let server = Server::saying(stream_reply(provider)).await;
        let mut pieces: Vec<String> = Vec::new();
        let mut listener = |piece: &str| pieces.push(piece.to_owned());
        let completion = server.model(provider).answer(&full_request(), &mut listener).await.unwrap();
        check_text(provider, &completion);
        assert_eq!(pieces, ["It ", "is."], "{provider}");
    }
}

#[tokio::test]
async fn a_tool_call_comes_whole_or_in_pieces() {
    for provider in PROVIDERS {
        for streamed in [false, true] {
            let server =
                Server::saying(if streamed { streamed_call(provider) } else { call_reply(provider) }).await;
            let model = server.model(provider);
            let completion = if streamed {
                model.answer(&full_request(), &mut |_: &str| ()).await.unwrap()
            } else {
                model.answer(&full_request(), &mut ()).await.unwrap()
            };
            assert_eq!(completion.finish, Finish::ToolCalls, "{provider}");
            let [call] = completion.calls.as_slice() else { panic!("{provider}: {completion:?}") };
            assert_eq!((call.id.as_str(), call.name.as_str()), ("call_1", "approve"), "{provider}");
            assert_eq!(call.arguments, json!({"reason": "fine"}), "{provider}");
        }
    }
}

#[tokio::test]
async fn a_shape_is_asked_for_in_the_way_of_each_service() {
    let schema = json!({"type": "object", "properties": {"score": {"type": "number"}}});
    let request =
        Request::new("Judge.").shaped(OutputSchema { name: "verdict".to_owned(), schema: schema.clone() });
    for provider in PROVIDERS {
        let reply = match provider {
            "openai" => {
                json!({"choices": [{"message": {"content": "{\"score\":0.5}"}, "finish_reason": "stop"}]})
            }
            "anthropic" => json!({"content": [
                {"type": "tool_use", "id": "t", "name": "answer", "input": {"score": 0.5}},
            ], "stop_reason": "tool_use"}),
            _ => {
                json!({"candidates": [{"content": {"parts": [{"text": "{\"score\":0.5}"}]}, "finishReason": "STOP"}]})
            }
        };
        let server = Server::saying(Say::ok(reply.to_string())).await;
        let completion = server.model(provider).answer(&request, &mut ()).await.unwrap();
        assert_eq!(
            (completion.text.as_str(), &completion.finish),
            ("{\"score\":0.5}", &Finish::Stop),
            "{provider}"
        );
        let body = &server.heard()[0].body;
        let asked = match provider {
            "openai" => &body["response_format"]["json_schema"]["schema"],
            "anthropic" => &body["tools"][0]["input_schema"],
            _ => &body["generationConfig"]["responseJsonSchema"],
        };
        assert_eq!(*asked, schema, "{provider}");
    }
}

#[tokio::test]
async fn those_who_speak_openais_language_hear_it_as_they_know_it() {
    for provider in ["ollama", "groq", "openrouter", "vllm", "lmstudio", "llamacpp"] {
        let server = Server::saying(text_reply("openai")).await;
        let completion = server.model(provider).answer(&Request::new("?"), &mut ()).await.unwrap();
        assert_eq!(completion.text, "It is.");
        let body = &server.heard()[0].body;
        assert_eq!(
            (&body["max_tokens"], &body["max_completion_tokens"]),
            (&json!(4096), &Value::Null),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn an_answer_of_ten_megabytes_is_taken_and_a_larger_one_than_allowed_is_not() {
    let long = "x".repeat(10 << 20);
    let reply = json!({"choices": [{"message": {"content": long}, "finish_reason": "length"}]}).to_string();
    let server = Server::saying(Say::ok(reply)).await;
    let completion = server.model("openai").answer(&Request::new("?"), &mut ()).await.unwrap();
    assert_eq!((completion.text.len(), &completion.finish), (10 << 20, &Finish::Length));
    let mut settings = server.settings();
    settings.max_response = 1 << 20;
    let model = redraft::llm::provider::Provider::new("openai", settings).unwrap().model("m");
    let error = model.answer(&Request::new("?"), &mut ()).await.unwrap_err();
    assert!(error.to_string().ends_with("it is larger than 1048576 bytes"), "{error}");
}
