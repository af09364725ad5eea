//! Turns a request into the one text that a model continues.
//!
//! The file's own chat template is used; without one, ChatML. Tools are offered in the system text and called with JSON,
//! the same for every model: small ones know no format of their own, and `constrain` holds them to this one.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, from_args};
use minijinja::{Environment, Error, ErrorKind, context};
use redraft::llm::{Message, Request, Tool, ToolCall};
use serde_json::json;

use crate::tokenizer::Tokenizer;

const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const TEMPLATE: &str = "chat";

pub(crate) struct Chat {
    environment: Environment<'static>,
}

#[derive(Clone, Debug)]
struct Turn {
    role: &'static str,
    content: String,
}

impl Turn {
    fn value(&self) -> Value {
        Value::from_pairs([("role", Value::from(self.role)), ("content", Value::from(self.content.clone()))])
    }
}

impl Chat {
    /// Takes a template; one that cannot be read is the file's fault.
    pub(crate) fn new(template: Option<&str>) -> Result<Self, String> {
        let mut environment = Environment::new();
        // As the library does that templates are written for.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| said(&error))?);
        environment
            .set_unknown_method_callback(|_, value, method, arguments| python(value, method, arguments));
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        let template = template.unwrap_or(CHATML).to_owned();
        environment.add_template_owned(TEMPLATE, template).map_err(|error| said(&error))?;
        Ok(Self { environment })
    }

    /// Writes the text that the model's answer continues.
    pub(crate) fn prompt(&self, request: &Request, tokenizer: &Tokenizer) -> Result<String, String> {
        let turns = turns(request, tokenizer);
        self.render(&turns, tokenizer).or_else(|error| match turns.as_slice() {
            // Some templates know no system text; the first words of the user are the next best place for it.
            [system, user, rest @ ..] if system.role == "system" && user.role == "user" => {
                let content = format!("{}\n\n{}", system.content, user.content);
                let turns: Vec<Turn> =
                    std::iter::once(Turn { role: "user", content }).chain(rest.iter().cloned()).collect();
                self.render(&turns, tokenizer)
            }
            _ => Err(error),
        })
    }

    fn render(&self, turns: &[Turn], tokenizer: &Tokenizer) -> Result<String, String> {
        let template = self.environment.get_template(TEMPLATE).map_err(|error| said(&error))?;
        let context = context! {
            messages => turns.iter().map(Turn::value).collect::<Vec<_>>(),
            add_generation_prompt => true,
            enable_thinking => false,
            bos_token => tokenizer.begin_text.as_str(),
            eos_token => tokenizer.end_text.as_str(),
        };
        template.render(context).map_err(|error| said(&error))
    }
}

fn said(error: &Error) -> String {
    format!("its chat template: {}", error.detail().unwrap_or("it cannot be rendered"))
}

fn turns(request: &Request, tokenizer: &Tokenizer) -> Vec<Turn> {
    let system = [request.system.clone(), (!request.tools.is_empty()).then(|| offer(&request.tools))];
    let system: Vec<String> = system.into_iter().flatten().collect();
    let mut turns = Vec::new();
    if !system.is_empty() {
        turns.push(Turn { role: "system", content: system.join("\n\n") });
    }
    for message in &request.messages {
        turns.push(match message {
            Message::User { text } => Turn { role: "user", content: text.clone() },
            Message::Assistant { text, calls } => {
                let calls = calls.iter().map(spoken);
                let said = Some(text.clone()).filter(|text| !text.is_empty()).into_iter().chain(calls);
                Turn { role: "assistant", content: said.collect::<Vec<_>>().join("\n") }
            }
            Message::ToolResult { name, output, .. } => {
                Turn { role: "user", content: format!("The tool `{name}` gave:\n{output}") }
            }
        });
    }
    for turn in &mut turns {
        turn.content = tokenizer.disarm(&turn.content);
    }
    turns
}

/// A call as the model is to write it.
fn spoken(call: &ToolCall) -> String {
    json!({ "tool": call.name, "arguments": call.arguments }).to_string()
}

fn offer(tools: &[Tool]) -> String {
    let list: String = tools
        .iter()
        .map(|tool| format!("\n- {}: {} Arguments: {}", tool.name, tool.description, tool.parameters))
        .collect();
    format!(
        "You can call a tool. To call one, answer with this JSON and nothing else: \
         {{\"tool\": \"NAME\", \"arguments\": {{...}}}}. If no tool helps, answer in words. The tools:{list}"
    )
}

/// The methods of Python's strings and dictionaries that templates in the wild use.
fn python(value: &Value, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let unknown = || Error::new(ErrorKind::UnknownMethod, format!("there is no method `{method}`"));
    if let Some(text) = value.as_str() {
        let one = || from_args::<(&str,)>(arguments).map(|(argument,)| argument);
        let letters = || from_args::<(Option<&str>,)>(arguments).map(|(letters,)| letters);
        return Ok(match method {
            "strip" => trimmed(text, letters()?, true, true),
            "lstrip" => trimmed(text, letters()?, true, false),
            "rstrip" => trimmed(text, letters()?, false, true),
            "startswith" => Value::from(text.starts_with(one()?)),
            "endswith" => Value::from(text.ends_with(one()?)),
            "upper" => Value::from(text.to_uppercase()),
            "lower" => Value::from(text.to_lowercase()),
            "split" => Value::from(text.split(one()?).map(str::to_owned).collect::<Vec<_>>()),
            "replace" => {
                let (from, to) = from_args::<(&str, &str)>(arguments)?;
                Value::from(text.replace(from, to))
            }
            _ => return Err(unknown()),
        });
    }
    match method {
        "get" => {
            let (key, default, _) = from_args::<(&Value, Option<Value>, Kwargs)>(arguments)?;
            let found = value.get_item(key)?;
            Ok(if found.is_undefined() { default.unwrap_or_else(|| Value::from(())) } else { found })
        }
        "keys" => Ok(Value::from(value.try_iter()?.collect::<Vec<_>>())),
        "items" => {
            let pair = |key: Value| value.get_item(&key).map(|item| Value::from(vec![key, item]));
            Ok(Value::from(value.try_iter()?.map(pair).collect::<Result<Vec<_>, _>>()?))
        }
        _ => Err(unknown()),
    }
}

fn trimmed(text: &str, letters: Option<&str>, left: bool, right: bool) -> Value {
    let cut = |letter: char| match letters {
        Some(letters) => letters.contains(letter),
        None => letter.is_whitespace(),
    };
    let text = if left { text.trim_start_matches(cut) } else { text };
    Value::from(if right { text.trim_end_matches(cut) } else { text })
}
