//! `redraft models`, `doctor`, `completions`, `man`: what the machine has.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{GOOD, Store, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdefQ4ZX";

#[test]
fn models_say_which_keys_are_there_and_never_the_keys() {
    let store = Store::new();
    let keys = [("OPENAI_API_KEY", KEY), ("GROQ_API_KEY", "tooshort"), ("MISTRAL_API_KEY", "  ")];
    let text = stdout(&store.with(&["models"], &keys));
    assert!(text.contains("  ✓ openai      key …Q4ZX, from environment OPENAI_API_KEY\n"), "{text}");
    assert!(text.contains("  ✓ groq        key …, from environment GROQ_API_KEY\n"), "{text}");
    assert!(text.contains("  ○ mistral     no key: set MISTRAL_API_KEY\n"), "{text}");
    assert!(text.contains("  ✓ ollama      no key needed, at http://127.0.0.1:11434/v1\n"), "{text}");
    let json: Value = serde_json::from_str(&stdout(&store.with(&["models", "--json"], &keys))).unwrap();
    assert_eq!(json["providers"][0]["key"], "set");
    assert!(json["models"].as_array().unwrap().iter().any(|model| model["usable"] == json!(true)));
    for command in [&["models"][..], &["models", "--json"], &["doctor"], &["doctor", "--json"]] {
        let output = store.with(command, &keys);
        let said = stdout(&output) + &stderr(&output);
        assert!(!said.contains("0123456789") && !said.contains("tooshort"), "{command:?}: {said}");
    }
    assert_eq!(store.json(&["models", "anthropic"])["providers"].as_array().unwrap().len(), 1);
    let output = store.redraft(&["models", "openay"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output)
            .starts_with("error [unknown-provider]: there is no provider `openay`; there are openai, ")
    );
    let narrow = stdout(&store.with(&["models"], &[("COLUMNS", "40")]));
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
}

#[test]
fn the_doctor_says_where_everything_comes_from() {
    let store = Store::new();
    store.refined(&GOOD);
    let keys = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://me:secret@127.0.0.1:9/v1")];
    let output = store.with(&["doctor", "--json"], &keys);
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let check = |name: &str| {
        json["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
    };
    assert_eq!(json["well"], json!(true));
    assert_eq!(check("store")["origin"], "environment REDRAFT_STORE");
    assert!(check("store")["found"].as_str().unwrap().contains("1 run, "));
    assert_eq!(
        check("openai key")["found"],
        "…Q4ZX, at http://127.0.0.1:9/v1 from environment OPENAI_BASE_URL"
    );
    assert_eq!(check("openai key")["origin"], "environment OPENAI_API_KEY");
    assert!(!stdout(&output).contains("secret"));

    let text = store.text(&["doctor"]);
    assert!(text.lines().all(|line| line.starts_with(['✓', '△', ' '])), "{text}");
    assert!(text.contains("△ keys         no key of any provider is set"), "{text}");
}

#[test]
fn what_is_broken_is_said_and_the_exit_code_is_3() {
    let store = Store::new();
    std::fs::write(store.file(), "this is no database, whatever its name says").unwrap();
    let output = store.redraft(&["doctor"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("✗ store "), "{}", stdout(&output));
    assert!(stdout(&output).contains("next: redraft explain "), "{}", stdout(&output));
}

/// A port on which nobody listens, and one on which somebody does; nothing leaves the machine.
#[test]
fn services_are_reached_only_when_that_is_asked_for() {
    let store = Store::new();
    let somebody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &std::net::TcpListener| format!("http://{}/v1", listener.local_addr().unwrap());
    let (heard, silent) = (url(&somebody), url(&nobody));
    drop(nobody);
    let variables = [("OPENAI_BASE_URL", heard.as_str()), ("OLLAMA_BASE_URL", silent.as_str())];
    assert!(!stdout(&store.with(&["doctor"], &variables)).contains("online"));
    let output = store.with(&["doctor", "--online"], &variables);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains(&format!("✓ openai online  {heard} answers")), "{}", stdout(&output));
    assert!(stdout(&output).contains("✗ ollama online"), "{}", stdout(&output));
}

#[test]
fn shells_get_completions_and_people_a_manual() {
    let store = Store::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = store.text(&["completions", shell]);
        assert!(script.contains("redraft") && script.contains("export"), "{shell}");
    }
    assert_eq!(store.redraft(&["completions", "tcsh"]).status.code(), Some(2));
    assert!(store.text(&["man"]).contains(".TH redraft 1"));
    assert!(store.text(&["man", "show"]).contains("redraft show last"));
    assert_eq!(store.redraft(&["man", "nothing"]).status.code(), Some(2));
}

#[test]
fn every_command_has_help_with_examples() {
    let store = Store::new();
    for command in ["list", "show", "diff", "watch", "export", "explain", "models", "doctor", "completions"] {
        let help = store.text(&[command, "--help"]);
        assert!(help.contains("\nExamples:\n  redraft "), "{command}: {help}");
        assert!(command == "completions" || help.contains("--json"), "{command}: {help}");
    }
}

/// Whoever reads us may go away at any time.
#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    let store = Store::new();
    store.refined(&GOOD);
    for command in [
        &["show", "last", "--journal"][..],
        &["watch", "last"],
        &["export", "last", "-f", "html"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_redraft"))
            .args(command)
            .env("REDRAFT_STORE", store.file())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert!(!said.contains("panicked"), "{command:?}: {said}");
    }
}

#[test]
fn weights_are_looked_for_and_not_fetched() {
    let store = Store::new();
    let cache = store.folder().join("cache");
    let home = [("XDG_CACHE_HOME", cache.to_str().unwrap())];
    let local = |variables: &[(&str, &str)]| -> Value {
        let json: Value =
            serde_json::from_str(&stdout(&store.with(&["models", "--json"], variables))).unwrap();
        json["local"].clone()
    };
    let state = local(&home)["state"].as_str().unwrap().to_owned();
    if state == "not_built" {
        return;
    }
    assert_eq!(state, "not_fetched");
    assert!(!cache.exists(), "looking makes nothing");
    std::fs::write(store.folder().join("mine.gguf"), "weights").unwrap();
    let named = [home[0], ("REDRAFT_LOCAL_MODEL", "mine.gguf")];
    assert_eq!(local(&named)["state"], "present");
    assert_eq!(local(&named)["origin"], "environment REDRAFT_LOCAL_MODEL");
    let lost = [home[0], ("REDRAFT_LOCAL_MODEL", "no.gguf")];
    let output = store.with(&["doctor"], &lost);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stdout(&output).contains("✗ local model  there are no weights at no.gguf"),
        "{}",
        stdout(&output)
    );
}
