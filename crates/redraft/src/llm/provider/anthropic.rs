//! The language of Anthropic's messages.
//!
//! A shape for the answer is asked for as a tool that the model must call: that works for every model that knows tools.

use serde_json::{Value, json};

use super::Key;
use super::wire::{About, Complaint, Draft, PartialCall, Told, Trouble, Wire, count, text};
use crate::llm::{Finish, Message, Request};

pub(super) struct Anthropic;

/// The tool by which a shaped answer comes.
const ANSWER: &str = "answer";

impl Wire for Anthropic {
    fn path(&self, _: &str, _: bool) -> String {
        "/v1/messages".to_owned()
    }

    fn authorization(&self, key: &Key) -> (&'static str, String) {
        ("x-api-key", key.0.to_string())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn request_id(&self) -> &'static str {
        "request-id"
    }

    fn body(&self, model: &str, request: &Request, stream: bool) -> Value {
        let mut body = json!({
            "model": model,
            "max_tokens": request.max_output_tokens,
            "messages": request.messages.iter().map(message).collect::<Value>(),
        });
        if let Some(system) = &request.system {
            body["system"] = system.as_str().into();
        }
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        if !request.stop.is_empty() {
            body["stop_sequences"] = request.stop.clone().into();
        }
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
            })
            .collect();
        if let Some(schema) = &request.schema {
            tools.push(json!({
                "name": ANSWER, "description": "Gives the answer.", "input_schema": schema.schema,
            }));
            body["tool_choice"] = json!({"type": "tool", "name": ANSWER});
        }
        if !tools.is_empty() {
            body["tools"] = tools.into();
        }
        if stream {
            body["stream"] = true.into();
        }
        body
    }

    fn answer(&self, body: &Value) -> Result<Draft, Trouble> {
        let Some(blocks) = body["content"].as_array() else {
            return Err(Trouble::Malformed("it has no content".to_owned()));
        };
        let mut draft = Draft { model: body["model"].as_str().map(str::to_owned), ..Draft::default() };
        for block in blocks {
            match block["type"].as_str().unwrap_or_default() {
                "text" => draft.text.push_str(block["text"].as_str().unwrap_or_default()),
                "tool_use" => draft.calls.push(PartialCall {
                    id: text(&block["id"]),
                    name: text(&block["name"]),
                    arguments: block["input"].to_string(),
                }),
                _ => {}
            }
        }
        read_usage(&body["usage"], &mut draft);
        draft.finish = Some(finish(&body["stop_reason"])?);
        unwrap_shaped(&mut draft);
        Ok(draft)
    }

    fn piece(&self, event: &Value, draft: &mut Draft) -> Result<Told, Trouble> {
        let mut told = Told::default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                draft.model = event["message"]["model"].as_str().map(str::to_owned);
                read_usage(&event["message"]["usage"], draft);
            }
            "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                let block = &event["content_block"];
                draft.calls.push(PartialCall {
                    id: text(&block["id"]),
                    name: text(&block["name"]),
                    arguments: String::new(),
                });
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                if let Some(piece) = delta["text"].as_str() {
                    draft.text.push_str(piece);
                    told.text = piece.to_owned();
                }
                if let (Some(piece), Some(call)) = (delta["partial_json"].as_str(), draft.calls.last_mut()) {
                    call.arguments.push_str(piece);
                    if call.name == ANSWER {
                        told.text = piece.to_owned();
                    }
                }
            }
            "message_delta" => {
                draft.usage.output_tokens = count(&event["usage"]["output_tokens"]);
                draft.finish = Some(finish(&event["delta"]["stop_reason"])?);
            }
            "message_stop" => {
                unwrap_shaped(draft);
                told.whole = true;
            }
            "error" => return Err(Trouble::Broken(text(&event["error"]["message"]))),
            _ => {}
        }
        Ok(told)
    }

    fn complaint(&self, body: &Value) -> Complaint {
        let error = &body["error"];
        let message = text(&error["message"]);
        let about = match error["type"].as_str().unwrap_or_default() {
            "authentication_error" | "permission_error" => About::Key,
            "request_too_large" => About::Length,
            // There is no code for it; these are the words.
            "invalid_request_error" if message.starts_with("prompt is too long") => About::Length,
            _ => About::Status,
        };
        Complaint { message, about, retry_after_ms: None }
    }
}

/// The answer that came as a call is an answer.
fn unwrap_shaped(draft: &mut Draft) {
    if let Some(at) = draft.calls.iter().position(|call| call.name == ANSWER) {
        draft.text = draft.calls.remove(at).arguments;
        draft.finish = Some(Finish::Stop);
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } => {
            let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls.iter().map(
                |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}),
            );
            json!({"role": "assistant", "content": words.into_iter().chain(calls).collect::<Value>()})
        }
        Message::ToolResult { id, output, .. } => json!({
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id, "content": output}],
        }),
    }
}

fn finish(reason: &Value) -> Result<Finish, Trouble> {
    Ok(match reason.as_str().unwrap_or("end_turn") {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => return Err(Trouble::Refused("the model declined to answer".to_owned())),
        other => Finish::Other(other.to_owned()),
    })
}

/// What was read from the cache and what was written to it is not in `input_tokens`.
fn read_usage(usage: &Value, draft: &mut Draft) {
    let cached = count(&usage["cache_read_input_tokens"]);
    draft.usage.input_tokens =
        count(&usage["input_tokens"]) + cached + count(&usage["cache_creation_input_tokens"]);
    draft.usage.cached_tokens = cached;
    draft.usage.output_tokens = count(&usage["output_tokens"]);
}
