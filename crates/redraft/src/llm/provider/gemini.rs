//! The language of Gemini's `generateContent`.

use serde_json::{Value, json};

use super::Key;
use super::wire::{About, Complaint, Draft, PartialCall, Told, Trouble, Wire, count, text};
use crate::llm::{Finish, Message, Request};

pub(super) struct Gemini;

impl Wire for Gemini {
    fn path(&self, model: &str, stream: bool) -> String {
        if stream {
            format!("/models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("/models/{model}:generateContent")
        }
    }

    fn authorization(&self, key: &Key) -> (&'static str, String) {
        ("x-goog-api-key", key.0.to_string())
    }

    fn request_id(&self) -> &'static str {
        "x-request-id"
    }

    fn body(&self, _: &str, request: &Request, _: bool) -> Value {
        let mut config = json!({ "maxOutputTokens": request.max_output_tokens });
        if let Some(temperature) = request.temperature {
            config["temperature"] = temperature.into();
        }
        if let Some(seed) = request.seed {
            config["seed"] = seed.into();
        }
        if !request.stop.is_empty() {
            config["stopSequences"] = request.stop.clone().into();
        }
        if let Some(schema) = &request.schema {
            config["responseMimeType"] = "application/json".into();
            config["responseJsonSchema"] = schema.schema.clone();
        }
        let mut body = json!({
            "contents": request.messages.iter().map(content).collect::<Value>(),
            "generationConfig": config,
        });
        if let Some(system) = &request.system {
            body["systemInstruction"] = json!({"parts": [{"text": system}]});
        }
        if !request.tools.is_empty() {
            let tool = |tool: &crate::llm::Tool| {
                json!({
                    "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters,
                })
            };
            body["tools"] =
                json!([{"functionDeclarations": request.tools.iter().map(tool).collect::<Value>()}]);
        }
        body
    }

    fn answer(&self, body: &Value) -> Result<Draft, Trouble> {
        let mut draft = Draft::default();
        let told = self.piece(body, &mut draft)?;
        if told.whole {
            Ok(draft)
        } else {
            Err(Trouble::Malformed("it does not say why it ended".to_owned()))
        }
    }

    /// A piece has the form of a whole answer; the last one says why it ended.
    fn piece(&self, event: &Value, draft: &mut Draft) -> Result<Told, Trouble> {
        if let Some(error) = event.get("error") {
            return Err(Trouble::Broken(text(&error["message"])));
        }
        if let Some(reason) = event["promptFeedback"]["blockReason"].as_str() {
            return Err(Trouble::Refused(format!("the prompt was blocked: {reason}")));
        }
        if let Some(model) = event["modelVersion"].as_str() {
            draft.model = Some(model.to_owned());
        }
        let usage = &event["usageMetadata"];
        if usage.is_object() {
            let thoughts = count(&usage["thoughtsTokenCount"]);
            draft.usage.input_tokens = count(&usage["promptTokenCount"]);
            draft.usage.output_tokens = count(&usage["candidatesTokenCount"]) + thoughts;
            draft.usage.cached_tokens = count(&usage["cachedContentTokenCount"]);
            draft.usage.reasoning_tokens = thoughts;
        }
        let candidate = &event["candidates"][0];
        let mut told = Told::default();
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            if part["thought"] == true {
                continue;
            }
            told.text.push_str(part["text"].as_str().unwrap_or_default());
            if let Some(call) = part.get("functionCall") {
                let n = draft.calls.len() + 1;
                draft.calls.push(PartialCall {
                    // It gives no ids of its own, or not always.
                    id: call["id"].as_str().map_or_else(|| format!("call_{n}"), str::to_owned),
                    name: text(&call["name"]),
                    arguments: call["args"].to_string(),
                });
            }
        }
        draft.text.push_str(&told.text);
        if let Some(reason) = candidate["finishReason"].as_str() {
            draft.finish = Some(finish(reason, !draft.calls.is_empty())?);
            told.whole = true;
        }
        Ok(told)
    }

    fn complaint(&self, body: &Value) -> Complaint {
        // A failed stream may come as a list with one error in it.
        let error = if body.is_array() { &body[0]["error"] } else { &body["error"] };
        let details = || error["details"].as_array().into_iter().flatten();
        let bad_key = details().any(|detail| detail["reason"] == "API_KEY_INVALID");
        let retry = details()
            .find_map(|detail| detail["retryDelay"].as_str()?.strip_suffix('s')?.parse::<f64>().ok());
        Complaint {
            message: text(&error["message"]),
            about: if bad_key { About::Key } else { About::Status },
            retry_after_ms: retry.map(|seconds| (seconds.max(0.0) * 1000.0) as u64),
        }
    }
}

fn content(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "parts": [{"text": text}]}),
        Message::Assistant { text, calls } => {
            let words = (!text.is_empty()).then(|| json!({"text": text}));
            let calls =
                calls.iter().map(|call| json!({"functionCall": {"name": call.name, "args": call.arguments}}));
            json!({"role": "model", "parts": words.into_iter().chain(calls).collect::<Value>()})
        }
        Message::ToolResult { name, output, .. } => json!({
            "role": "user",
            "parts": [{"functionResponse": {"name": name, "response": {"result": output}}}],
        }),
    }
}

fn finish(reason: &str, called: bool) -> Result<Finish, Trouble> {
    Ok(match reason {
        "STOP" if called => Finish::ToolCalls,
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            return Err(Trouble::Refused(format!("the answer was blocked: {reason}")));
        }
        "MALFORMED_FUNCTION_CALL" => return Err(Trouble::Malformed("its tool call is malformed".to_owned())),
        other => Finish::Other(other.to_owned()),
    })
}
