//! GGUF files: of every architecture and tokenizer that is known, and broken in every way that is told apart.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::quantized::GgmlDType;
use redraft::Fault;
use redraft::llm::{Finish, Message, Model, OutputSchema, Request};
use redraft_local::{Error, LocalModel, Options};
use serde_json::json;

use crate::tiny::{CONTEXT, Tiny};

fn opened(path: &Path) -> Result<LocalModel, Error> {
    LocalModel::open(&format!("local:{}", path.display()), &Options::new("/nowhere"), &mut |_| {})
}

fn written(folder: &Path, tiny: &Tiny<'_>) -> PathBuf {
    let path = folder.join("tiny.gguf");
    tiny.write(&path);
    path
}

async fn said(model: &LocalModel, prompt: &str, seed: u64) -> String {
    let mut request = Request::new(prompt);
    request.seed = Some(seed);
    request.temperature = Some(1.0);
    request.max_output_tokens = 12;
    model.answer(&request, &mut ()).await.unwrap().text
}

#[tokio::test]
async fn every_architecture_and_tokenizer_and_format_loads_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let plain = Tiny::default;
    let cases = [
        plain(),
        Tiny { architecture: "qwen2", cut: "qwen2", ..plain() },
        Tiny { architecture: "qwen3", cut: "qwen2", ..plain() },
        Tiny { cut: "llama-bpe", ..plain() },
        Tiny { cut: "smollm", ..plain() },
        Tiny { tokenizer: "llama", ..plain() },
        Tiny { weights: GgmlDType::Q4_0, ..plain() },
        Tiny { weights: GgmlDType::Q4_1, ..plain() },
        Tiny { weights: GgmlDType::Q5_0, ..plain() },
        Tiny { weights: GgmlDType::F16, ..plain() },
        Tiny { weights: GgmlDType::F32, ..plain() },
    ];
    for tiny in cases {
        let path = written(folder.path(), &tiny);
        let case = format!("{} {} {} {:?}", tiny.architecture, tiny.tokenizer, tiny.cut, tiny.weights);
        let model = opened(&path).unwrap_or_else(|error| panic!("{case}: {error}"));
        // Long enough for two blocks, so that places count; another prompt must lead elsewhere.
        let prompt = "the tide, ".repeat(8);
        let first = said(&model, &prompt, 1).await;
        assert_eq!(first, said(&model, &prompt, 1).await, "{case}");
        assert_ne!(first, said(&model, "something else", 1).await, "{case}");
        let schema =
            json!({ "type": "object", "properties": { "the": { "type": "integer" } }, "required": ["the"] });
        let mut shaped = Request::new("Hi").shaped(OutputSchema { name: "x".to_owned(), schema });
        shaped.max_output_tokens = 40;
        let text = model.answer(&shaped, &mut ()).await.unwrap().text;
        let value: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{case}: {text}"));
        assert!(value["the"].is_i64(), "{case}: {value}");
    }
}

#[tokio::test]
async fn text_is_cut_into_the_tokens_that_the_file_has() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing but the message, so that its tokens can be counted.
    let template = Some("{{ messages[0].content }}");
    let gpt2 = Tiny { template, ..Tiny::default() };
    let cases = [
        (&gpt2, "the", 1),
        (&gpt2, "the the", 2),
        (&gpt2, "12", 1),
        (&gpt2, "é", 2),
        (&gpt2, "<|im_end|>", 10),
        (&Tiny { cut: "smollm", template, ..Tiny::default() }, "12", 2),
        (&Tiny { cut: "qwen2", template, ..Tiny::default() }, "12", 2),
        (&Tiny { cut: "llama-bpe", template, ..Tiny::default() }, "12", 1),
        // A first token, and a space before the first word.
        (&Tiny { tokenizer: "llama", template, ..Tiny::default() }, "the", 2),
        (&Tiny { tokenizer: "llama", template, ..Tiny::default() }, "the é", 5),
    ];
    for (tiny, text, tokens) in cases {
        let model = opened(&written(folder.path(), tiny)).unwrap();
        let mut request = Request::new(text);
        request.max_output_tokens = 1;
        let usage = model.answer(&request, &mut ()).await.unwrap().usage;
        assert_eq!(usage.input_tokens, tokens, "{} {} {text}", tiny.tokenizer, tiny.cut);
    }
}

#[tokio::test]
async fn a_template_that_knows_no_system_text_gets_it_with_the_first_message() {
    let folder = tempfile::tempdir().unwrap();
    let template = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m['content'].strip() }}{% endfor %}";
    let model =
        opened(&written(folder.path(), &Tiny { template: Some(template), ..Tiny::default() })).unwrap();
    let mut request = Request::new("bb ").system("aa");
    request.max_output_tokens = 1;
    assert_eq!(model.answer(&request, &mut ()).await.unwrap().usage.input_tokens, 6);
    let refused = Request { messages: vec![Message::assistant("x")], ..request };
    let error = model.answer(&refused, &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-bad-request");
    assert!(error.to_string().contains("no system"), "{error}");
}

#[tokio::test]
async fn an_answer_ends_where_the_context_does() {
    let folder = tempfile::tempdir().unwrap();
    let template = Some("{{ messages[0].content }}");
    let model = opened(&written(folder.path(), &Tiny { template, ..Tiny::default() })).unwrap();
    let mut request = Request::new("x".repeat(CONTEXT - 3));
    request.temperature = Some(0.0);
    let completion = model.answer(&request, &mut ()).await.unwrap();
    assert!(completion.usage.output_tokens <= 3);
    assert!(completion.finish == Finish::Length || completion.usage.output_tokens < 3, "{completion:?}");
    let error = model.answer(&Request::new("x".repeat(CONTEXT)), &mut ()).await.unwrap_err();
    assert_eq!(error.code(), "model-context-too-long");
}

#[test]
fn broken_and_foreign_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(written(folder.path(), &Tiny::default())).unwrap();
    let cut = |bytes: usize| whole[..bytes].to_vec();
    let other_version = [b"GGUF".as_slice(), &9_u32.to_le_bytes(), &whole[8..]].concat();
    let cases = [
        ("nothing", Vec::new(), "local-not-gguf"),
        ("text", b"<html>not here</html>".to_vec(), "local-not-gguf"),
        ("another version", other_version, "local-not-gguf"),
        ("the first letters", cut(4), "local-truncated"),
        ("part of the description", cut(600), "local-truncated"),
        ("part of the last tensor", cut(whole.len() - 100), "local-truncated"),
    ];
    for (what, bytes, code) in cases {
        let path = folder.path().join("broken.gguf");
        fs::write(&path, bytes).unwrap();
        let error = opened(&path).unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(error.to_string().contains("broken.gguf"), "{what}: {error}");
    }
}

#[test]
fn what_cannot_run_here_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (Tiny { architecture: "mamba", ..Tiny::default() }, "`mamba`"),
        (Tiny { tokenizer: "bert", ..Tiny::default() }, "`bert`"),
        (Tiny { cut: "tekken", ..Tiny::default() }, "`tekken`"),
        (Tiny { template: Some("{% if %}"), ..Tiny::default() }, "chat template"),
    ];
    for (tiny, named) in cases {
        let error = opened(&written(folder.path(), &tiny)).unwrap_err();
        assert_eq!(error.code(), "local-unsupported", "{error}");
        assert!(error.to_string().contains(named), "{error}");
        assert!(error.hint().is_some());
    }
}
