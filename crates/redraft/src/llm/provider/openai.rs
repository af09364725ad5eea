//! The language of OpenAI's chat completions, which most others have learned.

use serde_json::{Value, json};

use super::Key;
use super::wire::{About, Complaint, Draft, PartialCall, Told, Trouble, Wire, count, text};
use crate::llm::{Finish, Message, Request, Usage};

pub(super) struct OpenAi {
    /// OpenAI itself wants `max_completion_tokens`; those who speak its language know `max_tokens`.
    pub(super) latest: bool,
}

impl Wire for OpenAi {
    fn path(&self, _: &str, _: bool) -> String {
        "/chat/completions".to_owned()
    }

    fn authorization(&self, key: &Key) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", key.0))
    }

    fn idempotency(&self) -> Option<&'static str> {
        Some("idempotency-key")
    }

    fn request_id(&self) -> &'static str {
        "x-request-id"
    }

    fn body(&self, model: &str, request: &Request, stream: bool) -> Value {
        let system = request.system.iter().map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.chain(request.messages.iter().map(message)).collect();
        let ceiling = if self.latest { "max_completion_tokens" } else { "max_tokens" };
        let mut body = json!({ "model": model, "messages": messages, ceiling: request.max_output_tokens });
        if let Some(temperature) = request.temperature {
            body["temperature"] = temperature.into();
        }
        if let Some(seed) = request.seed {
            body["seed"] = seed.into();
        }
        if !request.stop.is_empty() {
            body["stop"] = request.stop.clone().into();
        }
        if let Some(schema) = &request.schema {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": schema.name, "schema": schema.schema, "strict": is_strict(&schema.schema) },
            });
        }
        if !request.tools.is_empty() {
            let tool = |tool: &crate::llm::Tool| {
                json!({
                    "type": "function",
                    "function": {
                        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                    },
                })
            };
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        if stream {
            body["stream"] = true.into();
            body["stream_options"] = json!({"include_usage": true});
        }
        body
    }

    fn answer(&self, body: &Value) -> Result<Draft, Trouble> {
        let choice = &body["choices"][0];
        let message = &choice["message"];
        if !message.is_object() {
            return Err(Trouble::Malformed("it has no message".to_owned()));
        }
        if let Some(refusal) = message["refusal"].as_str() {
            return Err(Trouble::Refused(refusal.to_owned()));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| PartialCall {
            id: text(&call["id"]),
            name: text(&call["function"]["name"]),
            arguments: text(&call["function"]["arguments"]),
        });
        Ok(Draft {
            text: text(&message["content"]),
            calls: calls.collect(),
            finish: Some(finish(&choice["finish_reason"])?),
            usage: usage(&body["usage"]),
            model: body["model"].as_str().map(str::to_owned),
        })
    }

    fn piece(&self, event: &Value, draft: &mut Draft) -> Result<Told, Trouble> {
        if let Some(error) = event.get("error") {
            return Err(Trouble::Broken(text(&error["message"])));
        }
        if event["usage"].is_object() {
            draft.usage = usage(&event["usage"]);
        }
        if draft.model.is_none() {
            draft.model = event["model"].as_str().map(str::to_owned);
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        if let Some(refusal) = delta["refusal"].as_str() {
            return Err(Trouble::Refused(refusal.to_owned()));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(count(&call["index"])).unwrap_or(usize::MAX);
            if at > draft.calls.len() {
                return Err(Trouble::Malformed("its tool calls come out of order".to_owned()));
            }
            if at == draft.calls.len() {
                draft.calls.push(PartialCall::default());
            }
            if let Some(partial) = draft.calls.get_mut(at) {
                partial.id.push_str(call["id"].as_str().unwrap_or_default());
                partial.name.push_str(call["function"]["name"].as_str().unwrap_or_default());
                partial.arguments.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
            }
        }
        if !choice["finish_reason"].is_null() {
            draft.finish = Some(finish(&choice["finish_reason"])?);
        }
        let text = text(&delta["content"]);
        draft.text.push_str(&text);
        // The usage may follow the last words, so the end is the end of the stream: `[DONE]`.
        Ok(Told { text, whole: false })
    }

    fn complaint(&self, body: &Value) -> Complaint {
        let error = &body["error"];
        let about = match error["code"].as_str().or(error["type"].as_str()).unwrap_or_default() {
            "context_length_exceeded" => About::Length,
            "content_filter" | "content_policy_violation" => About::Policy,
            "invalid_api_key" => About::Key,
            _ => About::Status,
        };
        let message = error["message"].as_str().or(error.as_str()).or(body["message"].as_str());
        Complaint { message: message.unwrap_or_default().to_owned(), about, retry_after_ms: None }
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let call = |call: &crate::llm::ToolCall| {
                json!({
                    "id": call.id,
                    "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments.to_string() },
                })
            };
            json!({"role": "assistant", "content": text, "tool_calls": calls.iter().map(call).collect::<Value>()})
        }
        Message::ToolResult { id, output, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": output})
        }
    }
}

/// Says whether a schema is one that OpenAI holds a model to: every object closed, every property required. Others it
/// takes as advice, and the answer is checked by us either way.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Array(parts) => parts.iter().all(is_strict),
        Value::Object(parts) => {
            let properties = parts.get("properties").and_then(Value::as_object);
            let required = parts.get("required").and_then(Value::as_array).map_or(0, Vec::len);
            let closed = properties.is_none_or(|properties| {
                required == properties.len() && parts.get("additionalProperties") == Some(&Value::Bool(false))
            });
            closed && parts.values().all(is_strict)
        }
        _ => true,
    }
}

fn finish(reason: &Value) -> Result<Finish, Trouble> {
    Ok(match reason.as_str().unwrap_or("stop") {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "content_filter" => return Err(Trouble::Refused("the content filter cut the answer off".to_owned())),
        other => Finish::Other(other.to_owned()),
    })
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: count(&usage["prompt_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        cached_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"]),
        reasoning_tokens: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
    }
}
