//! What is said to a model, and what it says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spend::Usage;

/// How much a model may write unless the request says otherwise: a ceiling for every call.
pub(crate) const MAX_OUTPUT_TOKENS: u32 = 4096;

/// What is asked of a model.
///
/// It serialises, so that it can be named as the input of a step: another prompt, another step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Who the model is to be, and what always holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation so far; the last one is usually the user's.
    pub messages: Vec<Message>,
    /// How much is left to chance; the provider's default if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Asks for the same answer to the same request, where a provider can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the model is to stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The most the model may write.
    pub max_output_tokens: u32,
    /// The shape the answer must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<OutputSchema>,
    /// What the model may call instead of answering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Tells a service that takes one that this is the same call as before, made again after a crash. Not a part of
    /// what is asked.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

impl Request {
    /// Asks `prompt` and nothing else.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            system: None,
            messages: vec![Message::user(prompt)],
            temperature: None,
            seed: None,
            stop: Vec::new(),
            max_output_tokens: MAX_OUTPUT_TOKENS,
            schema: None,
            tools: Vec::new(),
            idempotency_key: None,
        }
    }

    /// Says who the model is to be.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Adds to the conversation.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Asks for an answer of this shape.
    #[must_use]
    pub fn shaped(mut self, schema: OutputSchema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Offers a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the user said.
    User {
        /// The words.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// The words; empty if it only called tools.
        text: String,
        /// What it called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What a tool gave.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// What it gave, as text.
        output: String,
    },
}

impl Message {
    /// Says something as the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Says something as the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new() }
    }
}

/// A shape for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// A short name; some providers want one.
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
}

/// Something a model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Its parameters, as JSON Schema.
    pub parameters: Value,
}

/// A call that a model makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What the result is to be given back under.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Value,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Completion {
    /// The words; empty if it only called tools.
    pub text: String,
    /// What it called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost, in tokens.
    pub usage: Usage,
    /// The model that answered, as the provider calls it.
    pub model: String,
    /// What the provider's support wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long it took.
    pub latency_ms: u64,
}

impl Completion {
    /// Makes a completion; the rest can be filled in.
    #[must_use]
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
            finish: Finish::Stop,
            usage: Usage::default(),
            model: model.into(),
            request_id: None,
            latency_ms: 0,
        }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// It had nothing more to say, or came to a stop text.
    Stop,
    /// It wrote as much as it was allowed to.
    Length,
    /// It wants tools to be called.
    ToolCalls,
    /// Something else, in the provider's words.
    Other(String),
}
