//! Flag, environment, project file, user file, default: in this order.

use crate::exits::scripted;
use crate::program::Folder;
use crate::server::{COUNTED, Reply, Server};

fn store_of(folder: &Folder, args: &[&str]) -> Vec<String> {
    folder.redraft(&[&["run", "spec.yaml"], args].concat()).exits(0);
    let names = ["flag.db", "variable.db", "dotenv.db", "project.db", "user.db", ".redraft/redraft.db"];
    let found = names.into_iter().filter(|name| folder.path().join(name).exists());
    found.map(str::to_owned).collect()
}

#[test]
fn the_store_is_where_the_strongest_word_says() {
    let spec = scripted(&["good"], "");
    let levels = [
        (".redraft/redraft.db", "unread.yaml", ""),
        ("user.db", ".config/redraft/config.yaml", "store: user.db\n"),
        ("project.db", ".redraft/config.yaml", "store: project.db\n"),
        ("dotenv.db", ".env", "REDRAFT_STORE=dotenv.db\n"),
        ("variable.db", "unread.yaml", ""),
    ];
    for (at, (expected, ..)) in levels.iter().enumerate() {
        let mut folder = Folder::new();
        for (_, file, text) in &levels[..=at] {
            folder.write(file, text);
        }
        if *expected == "variable.db" {
            folder = folder.with("REDRAFT_STORE", "variable.db");
        }
        folder.write("spec.yaml", &spec);
        assert_eq!(store_of(&folder, &[]), [*expected]);
        let both = store_of(&folder, &["--store", "flag.db"]);
        assert_eq!(both, ["flag.db", expected], "a flag is stronger than everything");
    }
}

#[test]
fn keys_and_addresses_come_from_the_usual_variables_the_env_file_and_the_project_file() {
    let server = Server::new(|_| Reply::Says("draft number 5".to_owned()));
    let folder = Folder::new().with("OPENAI_API_KEY", "sk-set");
    folder.write("spec.yaml", COUNTED);
    folder.write(
        ".redraft/config.yaml",
        &format!("providers: {{ openai: {{ base_url: '{}' }} }}\n", server.address()),
    );
    folder.redraft(&["run", "spec.yaml"]).exits(0);
    assert_eq!(server.asked().len(), 1);

    let folder = Folder::new();
    folder.write("spec.yaml", COUNTED);
    folder.write(".env", &format!("OPENAI_API_KEY=sk-file\nOPENAI_BASE_URL={}\n", server.address()));
    folder.redraft(&["run", "spec.yaml"]).exits(0);
    assert_eq!(server.asked().len(), 2);
    // A set variable is never overridden by the file: this address leads nowhere.
    let folder = folder.with("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    folder.redraft(&["check", "spec.yaml"]).exits(0);
    let gave = folder.redraft(&["doctor"]);
    assert!(gave.out.contains("127.0.0.1:1/v1") || gave.out.contains(".env"), "{}", gave.out);
}

#[test]
fn prices_and_limits_come_from_the_project_file() {
    let server = Server::new(|n| Reply::Says(format!("draft number {n}")));
    let folder = server.folder();
    folder.write("spec.yaml", &COUNTED.replace("gpt-5-mini", "made-up").replace("iterations: 5, ", ""));
    folder.write(
        ".redraft/config.yaml",
        "prices: { 'openai:made-up': { input: 1, output: 2 } }\nlimits: { iterations: 2 }\n",
    );
    let object = folder.redraft(&["run", "spec.yaml", "--json"]).exits(1).json();
    assert_eq!(object["iterations"].as_array().unwrap().len(), 2);
    assert_eq!(object["spend"]["usd"], "0.0004", "{object}");
}

#[test]
fn a_wrong_file_is_refused_with_its_name() {
    for (text, words) in [
        ("stroe: x\n", "stroe"),
        ("providers: { openai: { key: sk-secret } }\n", "the name of a variable"),
        ("store: [\n", "config.yaml"),
    ] {
        let folder = Folder::new();
        folder.write("spec.yaml", &scripted(&["good"], ""));
        folder.write(".redraft/config.yaml", text);
        let gave = folder.redraft(&["run", "spec.yaml"]).exits(3);
        assert!(gave.err.contains(words), "{}", gave.err);
        assert!(!gave.err.contains("sk-secret"), "{}", gave.err);
    }
}

#[test]
fn flags_change_a_spec() {
    let server = Server::new(|_| Reply::Says("draft number 4".to_owned()));
    let folder = server.folder();
    folder.write(
        "spec.yaml",
        &scripted(&["bad"], "input: { topic: { type: string, default: tea } }")
            .replace("prompt: Write.", "prompt: 'Write of {{ topic }}.'"),
    );
    folder.write("topic.txt", "the sea");
    let args = [
        "run",
        "spec.yaml",
        "--model",
        "openai:gpt-5-mini",
        "--set",
        "topic=@topic.txt",
        "--accept",
        "0",
        "--candidates",
        "2",
        "--max-iterations",
        "1",
        "--name",
        "other",
        "--json",
    ];
    let object = folder.redraft(&args).exits(1).json();
    assert_eq!(object["workflow"], "other");
    assert_eq!(object["best"]["text"], "draft number 4");
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].to_string().contains("Write of the sea."), "{}", asked[0]);
    let gave = folder.redraft(&["run", "spec.yaml", "--model", "nobody"]).exits(3);
    assert!(gave.err.contains("nobody"), "{}", gave.err);
}

#[test]
fn a_prompt_needs_no_file() {
    let server = Server::new(|n| Reply::Says(if n == 1 { "bad" } else { "good" }.to_owned()));
    let folder = server.folder().with("REDRAFT_MODEL", "openai:gpt-5-mini");
    let gave = folder.redraft(&["run", "--prompt", "Say {{ good }}.", "--verify", "grep good"]);
    assert_eq!(gave.out, "good\n", "{}", gave.err);
    assert!(server.asked()[0].to_string().contains("Say {{ good }}."), "it is taken word for word");
}
