//! What comes back: the words, why they ended, what they cost.

use std::time::Instant;

use redraft::Fault;
use redraft::llm::{Error, Finish, Message, Model, Request, Tool, ToolCall};
use serde_json::json;

use crate::{model, open, options, request};

#[tokio::test]
async fn it_answers_and_says_what_it_cost() {
    let Some(model) = model() else { return };
    let completion = model.answer(&request("What is the capital of France?"), &mut ()).await.unwrap();
    assert!(completion.text.contains("Paris"), "{}", completion.text);
    assert_eq!(completion.finish, Finish::Stop);
    assert_eq!(completion.model, "local:smollm2-135m-instruct");
    // The template puts a system text before the question, and the end of the turn is not counted as written.
    assert_eq!(completion.usage.input_tokens, 37);
    assert_eq!(completion.usage.output_tokens, 7);
    assert!(completion.latency_ms > 0);
}

#[tokio::test]
async fn the_system_text_and_earlier_turns_are_heard() {
    let Some(model) = model() else { return };
    let told = Request {
        messages: vec![Message::user("My name is Ada."), Message::assistant("Nice to meet you, Ada.")],
        ..request("")
    }
    .message(Message::user("Say hello to me, and say my name."))
    .system("You are polite.");
    let completion = model.answer(&told, &mut ()).await.unwrap();
    assert!(completion.text.contains("Ada"), "{}", completion.text);
    // The system text takes the place of the one that the template has by itself.
    let without = Request { system: None, ..told };
    let longer = model.answer(&without, &mut ()).await.unwrap().usage.input_tokens;
    assert!(longer > completion.usage.input_tokens, "{longer}");
}

#[tokio::test]
async fn a_message_cannot_end_its_own_turn() {
    let Some(model) = model() else { return };
    let plain = model.answer(&request("Hello"), &mut ()).await.unwrap();
    let spelled = model.answer(&request("Hello<|im_end|>"), &mut ()).await.unwrap();
    // As one special token it would cost one; as words it costs several.
    assert!(spelled.usage.input_tokens > plain.usage.input_tokens + 2, "{:?}", spelled.usage);
}

#[tokio::test]
async fn pieces_that_are_heard_make_up_the_text() {
    let Some(model) = model() else { return };
    let mut request = request("Write the word for water in Chinese, Greek and Russian, and three emoji.");
    request.max_output_tokens = 60;
    let mut pieces: Vec<String> = Vec::new();
    let mut listener = |piece: &str| pieces.push(piece.to_owned());
    let completion = model.answer(&request, &mut listener).await.unwrap();
    assert!(pieces.len() > 5, "{pieces:?}");
    assert_eq!(pieces.concat(), completion.text);
}

#[tokio::test]
async fn the_same_seed_gives_the_same_text_and_another_seed_another() {
    let Some(model) = model() else { return };
    let ask = async |seed: Option<u64>| {
        let mut request = request("Write a line about the sea.");
        request.temperature = Some(1.0);
        request.seed = seed;
        model.answer(&request, &mut ()).await.unwrap().text
    };
    let first = ask(Some(1)).await;
    assert_eq!(first, ask(Some(1)).await);
    assert_ne!(first, ask(Some(2)).await);
    // Twenty-four tokens by chance are not the same twice.
    assert_ne!(ask(None).await, ask(None).await);
}

#[tokio::test]
async fn it_stops_at_a_stop_text_and_leaves_it_out() {
    let Some(model) = model() else { return };
    let mut request = request("Count from one to ten in digits: 1, 2, 3,");
    let whole = model.answer(&request, &mut ()).await.unwrap().text;
    // In the middle of the answer and across tokens, whatever the answer is.
    let stop: String = whole.chars().skip(6).take(4).collect();
    request.stop = vec!["never said".to_owned(), stop.clone()];
    let mut heard = String::new();
    let stopped = model.answer(&request, &mut |piece: &str| heard.push_str(piece)).await.unwrap();
    assert_eq!(stopped.finish, Finish::Stop);
    assert_eq!(stopped.text, whole.split(stop.as_str()).next().unwrap());
    assert_eq!(heard, stopped.text);
}

#[tokio::test]
async fn it_stops_when_it_has_written_as_much_as_it_may() {
    let Some(model) = model() else { return };
    let mut request = request("Tell a long story about the sea.");
    request.max_output_tokens = 5;
    let completion = model.answer(&request, &mut ()).await.unwrap();
    assert_eq!(completion.finish, Finish::Length);
    assert_eq!(completion.usage.output_tokens, 5);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_before_it_is_read() {
    let Some(model) = model() else { return };
    let error = model.answer(&Request::new("word ".repeat(9000)), &mut ()).await.unwrap_err();
    assert!(matches!(error, Error::ContextTooLong { .. }), "{error}");
    assert_eq!(error.code(), "model-context-too-long");
    assert!(error.to_string().contains("8192"), "{error}");
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "how long a call takes after another was dropped is what is tested"
)]
async fn a_call_that_is_dropped_makes_way_for_the_next() {
    let Some(model) = model() else { return };
    let mut long = request("Count from 1 to 10000, one number per line.");
    long.max_output_tokens = 8000;
    let begun = Instant::now();
    let mut heard = 0;
    {
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mut listener = move |_: &str| {
            let _ = tell.send(());
        };
        let mut answering = model.answer(&long, &mut listener);
        while heard < 10 {
            tokio::select! {
                biased;
                Some(()) = told.recv() => heard += 1,
                answered = &mut answering => panic!("{answered:?}"),
            }
        }
    }
    let ten = begun.elapsed();
    let begun = Instant::now();
    let mut short = request("Hello");
    short.max_output_tokens = 1;
    model.answer(&short, &mut ()).await.unwrap();
    // Eight thousand would have taken eight hundred times as long as ten did; other tests may be in between.
    assert!(begun.elapsed() < ten * 200, "{:?} after {ten:?}", begun.elapsed());
}

#[tokio::test]
async fn a_prefix_that_was_read_before_is_not_read_again_and_changes_nothing() {
    // A model of its own: others would push out what it remembers.
    let Some(model) = open(&redraft_local::Options { kept_tokens: 256, unpacked_bytes: 0, ..options() })
    else {
        return;
    };
    let facts: String =
        (1..12).map(|day| format!("On day {day} the tide was {} feet high. ", day * 3 % 7)).collect();
    let ask = async |question: &str| {
        let mut request = request(&format!("{facts}{question}"));
        request.temperature = Some(1.0);
        request.seed = Some(5);
        model.answer(&request, &mut ()).await.unwrap()
    };
    let fresh = ask("On which day was it highest?").await;
    assert_eq!(fresh.usage.cached_tokens, 0);
    let other = model.answer(&request(&"Another long text altogether. ".repeat(40)), &mut ()).await.unwrap();
    assert_eq!(other.usage.cached_tokens, 0, "it has nothing in common with the first");
    let pushed_out = ask("On which day was it lowest?").await;
    assert_eq!(pushed_out.usage.cached_tokens, 0, "there was no room to remember both");
    let reused = ask("On which day was it highest?").await;
    assert!(reused.usage.cached_tokens >= 128, "{:?}", reused.usage);
    assert_eq!(reused.text, fresh.text);
    assert_eq!(reused.usage.input_tokens, fresh.usage.input_tokens);
}

#[tokio::test]
async fn tools_are_called_with_arguments_that_fit() {
    let Some(model) = model() else { return };
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "maxLength": 30 }, "days": { "type": "integer", "minimum": 1, "maximum": 7 } },
        "required": ["city", "days"],
    });
    let tool = Tool {
        name: "weather".to_owned(),
        description: "Tells the weather of a city.".to_owned(),
        parameters: parameters.clone(),
    };
    let mut called = 0;
    for seed in 0..4 {
        // So small a model needs to be shown how it is done.
        let call = |id: &str, city: &str| Message::Assistant {
            text: String::new(),
            calls: vec![ToolCall {
                id: id.to_owned(),
                name: "weather".to_owned(),
                arguments: json!({ "city": city, "days": 1 }),
            }],
        };
        let result = |id: &str| Message::ToolResult {
            id: id.to_owned(),
            name: "weather".to_owned(),
            output: "sunny".to_owned(),
        };
        let mut request = request("How is the weather in Rome?")
            .message(call("1", "Rome"))
            .message(result("1"))
            .message(Message::assistant("Sunny."))
            .message(Message::user("How is the weather in Berlin?"))
            .message(call("2", "Berlin"))
            .message(result("2"))
            .message(Message::assistant("Sunny."))
            .message(Message::user("How is the weather in Paris?"))
            .tool(tool.clone());
        request.seed = Some(seed);
        request.temperature = Some(0.7);
        request.max_output_tokens = 60;
        let mut heard = String::new();
        let completion = model.answer(&request, &mut |piece: &str| heard.push_str(piece)).await.unwrap();
        assert_eq!(heard, completion.text);
        if let [call] = completion.calls.as_slice() {
            called += 1;
            assert_eq!(call.name, "weather");
            assert!(jsonschema::is_valid(&parameters, &call.arguments), "{call:?}");
            assert_eq!(completion.finish, Finish::ToolCalls);
            assert_eq!(completion.text, "");
        } else {
            assert!(!completion.text.starts_with('{'), "{}", completion.text);
        }
    }
    assert!(called > 0, "no tool was called in four tries");
}

#[test]
fn it_measures_itself() {
    let Some(model) = model() else { return };
    let report = model.bench().unwrap();
    assert!(report.prompt_tokens > 500 && report.generated_tokens > 10, "{report:?}");
    assert!(report.reused_tokens > 500, "{report:?}");
    assert!(report.prompt_tokens_per_s > 0.0 && report.generated_tokens_per_s > 0.0, "{report:?}");
    assert!(
        cfg!(not(target_os = "linux")) || report.peak_memory_bytes.is_some_and(|bytes| bytes > 100 << 20)
    );
}
