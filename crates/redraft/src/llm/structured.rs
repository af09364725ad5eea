//! Answers of a type: asked for with a schema, checked against it, asked for again with what was wrong.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::calling::call_model;
use super::{Completion, Message, Model, OutputSchema, Request};
use crate::failure::Failure;
use crate::run::{Ctx, Step};

/// How much of an answer that cannot be used is kept to look at.
const KEPT_CHARACTERS: usize = 2000;

/// Asks a model for a value of type `T`, inside a run.
///
/// The answer is checked against the type's JSON Schema before it counts. One that does not fit is journaled as a
/// failed step, with what it cost and what was wrong, and the model is asked again with the list of faults, `tries`
/// times in all. On replay nothing is asked.
///
/// ```
/// use redraft::llm::{Request, Scripted, ask};
/// use redraft::{Ctx, Engine, flow, store::MemoryStore};
///
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// struct Critique {
///     score: u8,
///     improvements: Vec<String>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let critic = Scripted::new("critic", [r#"{"score": 8}"#, r#"{"score": 8, "improvements": ["be bolder"]}"#]);
/// let judge = flow("judge", move |ctx: Ctx, draft: String| {
///     let critic = critic.clone();
///     async move {
///         let request = Request::new(format!("Judge this draft from 1 to 10:\n{draft}"));
///         ask::<Critique>(&ctx, "critique", &critic, request, 3).await
///     }
/// });
/// let engine = Engine::on(MemoryStore::new()).workflow(judge.clone()).open().await?;
/// let critique = engine.start(&judge, "On tides.".to_owned()).await?.outcome().await?.into_output()?;
/// assert_eq!(critique.improvements, ["be bolder"]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Gives the failure of the model, or `model-malformed` when no answer fitted.
pub async fn ask<T>(
    ctx: &Ctx,
    name: &str,
    model: &dyn Model,
    request: Request,
    tries: u32,
) -> Result<T, Failure>
where
    T: JsonSchema + DeserializeOwned,
{
    converse(ctx, name, model, request, tries, Shape::of::<T>()?, |_| Ok(())).await
}

/// Asks a model for a value of a shape that is known only at run time, as [`ask`] does: `schema` says what the answer
/// looks like, and `check` everything that is wrong with one that looks right. An answer with faults is asked for again.
///
/// ```
/// use redraft::llm::{OutputSchema, Request, Scripted, ask_shaped};
/// use redraft::{Ctx, Engine, flow, store::MemoryStore};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Scripted::new("picker", [r#"["tide", "tide"]"#, r#"["tide", "moon"]"#]);
/// let pick = flow("pick", move |ctx: Ctx, words: Vec<String>| {
///     let model = model.clone();
///     async move {
///         let schema = OutputSchema { name: "words".to_owned(), schema: json!({ "items": { "enum": words } }) };
///         let check = |picked: &Vec<String>| match picked.as_slice() {
///             [first, second] if first == second => vec![format!("`{first}` is there twice")],
///             _ => Vec::new(),
///         };
///         ask_shaped(&ctx, "pick", &model, Request::new("Pick two."), 3, schema, check).await
///     }
/// });
/// let engine = Engine::on(MemoryStore::new()).workflow(pick.clone()).open().await?;
/// let words = vec!["tide".to_owned(), "moon".to_owned(), "sun".to_owned()];
/// assert_eq!(engine.start(&pick, words).await?.outcome().await?.into_output()?, ["tide", "moon"]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Gives the failure of the model, or `model-malformed` when no answer could be used.
pub async fn ask_shaped<T>(
    ctx: &Ctx,
    name: &str,
    model: &dyn Model,
    request: Request,
    tries: u32,
    schema: OutputSchema,
    check: impl Fn(&T) -> Vec<String> + Send + Sync,
) -> Result<T, Failure>
where
    T: DeserializeOwned,
{
    let check = |value: &Value| {
        let faults = match T::deserialize(value) {
            Ok(value) => check(&value),
            Err(error) => vec![error.to_string()],
        };
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    };
    converse(ctx, name, model, request, tries, Shape::new(schema)?, check).await
}

/// Asks until an answer has the shape and passes the check, `tries` times in all.
async fn converse<T: DeserializeOwned>(
    ctx: &Ctx,
    name: &str,
    model: &dyn Model,
    request: Request,
    tries: u32,
    shape: Shape,
    check: impl Fn(&Value) -> Result<(), Vec<String>> + Send + Sync,
) -> Result<T, Failure> {
    let (shape, check) = (&shape, &check);
    let mut request = shape.asked_for(model, request);
    let mut left = tries.max(1);
    loop {
        let step = Step::named(name.to_owned()).input(&model.name()).input(&model.tuned(&request));
        let mut replayed = true;
        let answered = ctx
            .step_with(step, |call| {
                replayed = false;
                let (request, shape, check) = (&request, &shape, &check);
                async move {
                    let completion = call_model(ctx, &call, model, request).await?;
                    let value = shape.read(&completion.text).and_then(|value| check(&value).map(|()| value));
                    match value {
                        Ok(value) => Ok(Completion { text: value.to_string(), ..completion }),
                        Err(faults) => Err(unusable(model, &completion, &faults)),
                    }
                }
            })
            .await;
        if replayed {
            model.recall(answered.as_ref().ok());
        }
        left -= 1;
        match answered {
            Ok(completion) => {
                return serde_json::from_str(&completion.text).map_err(|error| {
                    let message =
                        format!("the answer has the shape that was asked for, but does not fit: {error}");
                    Failure::terminal("output-not-readable", message)
                });
            }
            Err(failure) => match faults_of(&failure).filter(|_| left > 0) {
                Some((text, faults)) => request = asked_again(request, text, &faults),
                None => return Err(failure),
            },
        }
    }
}

/// The schema of an answer, ready to be checked against.
struct Shape {
    schema: OutputSchema,
    validator: jsonschema::Validator,
}

impl Shape {
    fn of<T: JsonSchema>() -> Result<Self, Failure> {
        // Providers take letters, digits, `_` and `-`.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name = T::schema_name().chars().map(plain).take(60).collect();
        Self::new(OutputSchema { name, schema: schemars::schema_for!(T).to_value() })
    }

    fn new(schema: OutputSchema) -> Result<Self, Failure> {
        let validator = jsonschema::validator_for(&schema.schema).map_err(|error| {
            Failure::terminal("bad-schema", format!("the schema of the answer cannot be used: {error}"))
        })?;
        Ok(Self { schema, validator })
    }

    /// Asks for the shape in the model's own way if it has one, and in words if it has none.
    fn asked_for(&self, model: &dyn Model, mut request: Request) -> Request {
        if model.takes_schemas() {
            return request.shaped(self.schema.clone());
        }
        let words = format!(
            "Answer with one JSON value and nothing else. It must fit this JSON Schema:\n{}",
            self.schema.schema
        );
        request.system = Some(match request.system.take() {
            Some(system) => format!("{system}\n\n{words}"),
            None => words,
        });
        request
    }

    /// Reads an answer, or tells everything that is wrong with it.
    fn read(&self, text: &str) -> Result<Value, Vec<String>> {
        let Some(value) = find_json(text) else {
            return Err(vec!["it is not JSON".to_owned()]);
        };
        let faults: Vec<String> = self
            .validator
            .iter_errors(&value)
            .map(|fault| match fault.instance_path().as_str() {
                "" => fault.to_string(),
                place => format!("at {place}: {fault}"),
            })
            .collect();
        if faults.is_empty() { Ok(value) } else { Err(faults) }
    }
}

/// Finds the JSON in an answer: all of it, what stands in a fence, or what stands between the first and the last brace.
fn find_json(text: &str) -> Option<Value> {
    let text = text.trim();
    let fenced = || {
        let (_, after) = text.split_once("```")?;
        let (inside, _) = after.split_once("```")?;
        Some(inside.strip_prefix("json").unwrap_or(inside).trim())
    };
    let between = |open: char, close: char| text.get(text.find(open)?..=text.rfind(close)?);
    [Some(text), fenced(), between('{', '}'), between('[', ']')]
        .into_iter()
        .flatten()
        .find_map(|candidate| serde_json::from_str(candidate).ok())
}

fn unusable(model: &dyn Model, completion: &Completion, faults: &[String]) -> Failure {
    let message = format!("the answer of `{}` does not have the shape that was asked for", model.name());
    let text: String = completion.text.chars().take(KEPT_CHARACTERS).collect();
    Failure::terminal("model-malformed", message)
        .with_detail(json!({ "answer": text, "faults": faults, "usage": completion.usage }))
}

/// What an answer said and what was wrong with it, as the journal keeps it: life and replay ask the same next.
fn faults_of(failure: &Failure) -> Option<(String, Vec<String>)> {
    let detail = failure.detail.as_deref()?;
    let faults =
        detail.get("faults")?.as_array()?.iter().filter_map(|fault| fault.as_str().map(str::to_owned));
    Some((detail.get("answer")?.as_str()?.to_owned(), faults.collect()))
}

fn asked_again(request: Request, text: String, faults: &[String]) -> Request {
    let list: String = faults.iter().map(|fault| format!("\n- {fault}")).collect();
    request
        .message(Message::assistant(text))
        .message(Message::user(format!("That answer cannot be used:{list}\nAnswer again, with JSON only.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_where_models_put_it() {
        let cases = [
            (r#"{"a":1}"#, Some(json!({"a": 1}))),
            ("  [1, 2]\n", Some(json!([1, 2]))),
            ("Here you are:\n```json\n{\"a\":1}\n```\nAnything else?", Some(json!({"a": 1}))),
            ("```\n7\n```", Some(json!(7))),
            ("Sure! {\"a\":{\"b\":2}} Done.", Some(json!({"a": {"b": 2}}))),
            ("The list is [1,2].", Some(json!([1, 2]))),
            ("no JSON here", None),
            ("{broken", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(find_json(text), wanted, "{text}");
        }
    }
}
