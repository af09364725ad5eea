//! Code that is revised until it compiles and its tests pass. The tests are ours: no draft can change them.
//!
//! Run it with `cargo run --example tests_pass`. Drafts are compiled and run in the sandbox.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::llm::Scripted;
use redraft::refine::{Limits, Refine};
use redraft::sandbox::{Environment, Sandbox};
use redraft::store::MemoryStore;
use redraft::verify::CodeConfig;
use redraft::{Engine, Stop};
use serde_json::json;

const TESTS: &str = "
#[test]
fn a_leap_year_is_seen() {
    assert!(draft::is_leap(2024));
    assert!(!draft::is_leap(1900));
    assert!(draft::is_leap(2000));
}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("sandbox: {}", Sandbox::available());
    let author = Scripted::new(
        "author",
        [
            "pub fn is_leap(year: u32) -> bool {\n    year % 4\n}\n",
            "pub fn is_leap(year: u32) -> bool {\n    year % 4 == 0\n}\n",
            "pub fn is_leap(year: u32) -> bool {\n    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)\n}\n",
        ],
    );
    let config: CodeConfig = serde_json::from_value(json!({ "language": "rust", "tests": TESTS }))?;
    let refine = Refine::new("leap-year", author)
        .task("Write a function `is_leap(year: u32) -> bool` in Rust.")?
        .verify("tests", config.verifier(&Environment::new(std::env::vars_os()))?)
        .limits(Limits::iterations(5))
        .build()?;

    let engine = Engine::on(MemoryStore::new()).workflow(refine.clone()).open().await?;
    let run = engine.start(&refine, json!({})).await?;
    let refined = run.outcome().await?.into_output()?;
    for iteration in &refined.iterations {
        println!("\niteration {}: {}", iteration.n, if iteration.accepted { "accepted" } else { "not yet" });
        for finding in iteration.open() {
            println!("  {finding}");
        }
    }
    let best = refined.best.ok_or("nothing was judged")?;
    println!("\n{}", best.text);
    assert_eq!((refined.stop, best.iteration), (Stop::Accepted, 3));
    Ok(())
}
