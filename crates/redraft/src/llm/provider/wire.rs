//! What a language has to say: pure functions between our words and a service's JSON.

use serde_json::Value;

use super::Key;
use crate::llm::{Completion, Finish, Request, ToolCall, Usage};

/// A language that services speak. No I/O here.
pub(super) trait Wire: Send + Sync {
    /// Where a request is sent, below the base URL.
    fn path(&self, model: &str, stream: bool) -> String;

    /// How the key is shown: the name of the header, and its value.
    fn authorization(&self, key: &Key) -> (&'static str, String);

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The header in which a call is told from others, so that it is not made twice; nothing if services have none.
    fn idempotency(&self) -> Option<&'static str> {
        None
    }

    /// The header in which a response says by what id support knows it.
    fn request_id(&self) -> &'static str;

    /// What is sent.
    fn body(&self, model: &str, request: &Request, stream: bool) -> Value;

    /// What a whole answer means.
    fn answer(&self, body: &Value) -> Result<Draft, Trouble>;

    /// What a piece of a stream means. Says whether the answer has come to its end.
    fn piece(&self, event: &Value, draft: &mut Draft) -> Result<Told, Trouble>;

    /// What a service says when it says no.
    fn complaint(&self, body: &Value) -> Complaint;
}

/// An answer on its way to being complete.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) calls: Vec<PartialCall>,
    pub(super) finish: Option<Finish>,
    pub(super) usage: Usage,
    pub(super) model: Option<String>,
}

/// A tool call whose arguments may still be coming.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PartialCall {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON text.
    pub(super) arguments: String,
}

/// What a piece of a stream brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// New text, for those who listen.
    pub(super) text: String,
    /// The answer is whole.
    pub(super) whole: bool,
}

/// An answer that is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The service's policy forbids it.
    Refused(String),
    /// It cannot be read.
    Malformed(String),
    /// The service broke in the middle of a stream.
    Broken(String),
}

/// Why a service said no, as far as it tells beyond the status.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) message: String,
    pub(super) about: About,
    /// When it wants to be asked again, in milliseconds, if the body says so.
    pub(super) retry_after_ms: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum About {
    /// The status says it all.
    #[default]
    Status,
    Key,
    Length,
    Policy,
}

impl Draft {
    /// Makes a completion of it, or says what is missing.
    pub(super) fn complete(self) -> Result<Completion, String> {
        let mut calls = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
            let arguments = serde_json::from_str(text).map_err(|error| {
                format!("the arguments of its call of `{}` are no JSON: {error}", call.name)
            })?;
            calls.push(ToolCall { id: call.id, name: call.name, arguments });
        }
        if self.text.is_empty() && calls.is_empty() {
            return Err("it is empty".to_owned());
        }
        let mut completion = Completion::new(self.model.unwrap_or_default(), self.text);
        completion.finish = self.finish.unwrap_or(Finish::Stop);
        completion.calls = calls;
        completion.usage = self.usage;
        Ok(completion)
    }
}

/// Reads a number that may not be there.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Reads a text that may not be there.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
