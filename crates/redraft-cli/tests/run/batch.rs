//! Many inputs, one spec, one budget.

use serde_json::Value;

use crate::program::Folder;
use crate::server::{Reply, Server};

const SPEC: &str = "
name: many
input: { n: { type: integer } }
draft: { model: 'openai:gpt-5-mini', prompt: 'Say {{ n }}.' }
verify: [{ name: good, text: { contains: good } }]
limits: { iterations: 2 }
";

fn inputs(count: usize) -> String {
    (1..=count).map(|n| format!("{{\"n\": {n}}}\n")).collect()
}

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn two_hundred_inputs_fifty_at_a_time_under_one_budget() {
    let server = Server::new(|_| Reply::Says("good".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", SPEC);
    folder.write("inputs.jsonl", &inputs(200));
    // A call costs 0.0125 cents and may cost 0.9 cents: the budget lets some through, and never more than it holds.
    let args = [
        "run",
        "spec.yaml",
        "--inputs",
        "inputs.jsonl",
        "--concurrency",
        "50",
        "--jsonl",
        "--max-cost",
        "$0.02",
    ];
    let gave = folder.redraft(&args).exits(5);
    let lines = lines(&gave.out);
    assert_eq!(lines.len(), 200);
    for (line, n) in lines.iter().zip(1..) {
        assert_eq!(line["input"], n, "in the order of the inputs");
    }
    let accepted = lines.iter().filter(|line| line["status"] == "accepted").count();
    let spent = lines.iter().filter(|line| line["stop"] == "budget_spent").count();
    assert_eq!(accepted + spent, 200, "{}", gave.err);
    assert!(accepted > 0 && spent > 0, "{accepted} accepted, {spent} out of budget");
    assert_eq!(server.asked().len(), accepted, "no call was made that could exceed the budget");
    let usd = |line: &Value| line["spend"]["usd"].as_str().unwrap().parse::<f64>().unwrap();
    assert!(lines.iter().map(usd).sum::<f64>() <= 0.02);
    assert!(gave.err.contains(&format!("200 inputs: {accepted} accepted")), "{}", gave.err);
}

#[test]
fn two_hundred_inputs_are_all_accepted_where_the_budget_allows() {
    let server = Server::new(|_| Reply::Says("good".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", SPEC);
    folder.write("inputs.jsonl", &inputs(200));
    let args = ["run", "spec.yaml", "--inputs", "inputs.jsonl", "--concurrency", "50", "--max-cost", "$1"];
    let gave = folder.redraft(&args).exits(0);
    assert_eq!(lines(&gave.out).iter().filter(|line| line["text"] == "good").count(), 200);
    assert_eq!(server.asked().len(), 200);
}

#[test]
fn one_input_that_fails_does_not_sink_the_rest() {
    let server = Server::new(|n| if n == 2 { Reply::Fails(400) } else { Reply::Says("good".to_owned()) });
    let folder = server.folder();
    folder.write("spec.yaml", SPEC);
    let args = ["run", "spec.yaml", "--inputs", "-", "--concurrency", "1", "--json"];
    let gave = folder.fed(&args, &inputs(4)).exits(4);
    let statuses: Vec<Value> = lines(&gave.out).iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "accepted").count(), 3, "{statuses:?}");
    assert!(gave.err.contains("4 inputs: 3 accepted, 1 failed at a provider"), "{}", gave.err);
}

#[test]
fn inputs_that_do_not_fit_are_found_before_anything_begins() {
    let server = Server::new(|_| Reply::Says("good".to_owned()));
    let folder = server.folder();
    folder.write("spec.yaml", SPEC);
    folder.write("inputs.jsonl", "{\"n\": 1}\n{\"n\": \"one\"}\nnonsense\n");
    let gave = folder.redraft(&["run", "spec.yaml", "--inputs", "inputs.jsonl"]).exits(3);
    assert!(gave.err.contains("inputs.jsonl:2") && gave.err.contains("inputs.jsonl:3"), "{}", gave.err);
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_batch_with_a_key_goes_on_where_it_was() {
    let server = Server::new(|_| Reply::Says("good".to_owned()));
    let folder: Folder = server.folder();
    folder.write("spec.yaml", SPEC);
    folder.write("inputs.jsonl", &inputs(3));
    let args = ["run", "spec.yaml", "--inputs", "inputs.jsonl", "--key", "monday"];
    folder.redraft(&args).exits(0);
    folder.redraft(&args).exits(0);
    assert_eq!(server.asked().len(), 3);
}
