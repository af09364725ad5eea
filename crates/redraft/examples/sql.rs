//! A query that is revised until every name in it exists and it gives the rows that are expected.
//!
//! Run it with `cargo run --example sql`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use redraft::llm::Scripted;
use redraft::refine::Refine;
use redraft::store::MemoryStore;
use redraft::verify::sql::{Settings, Sql};
use redraft::{Engine, Stop};
use serde_json::json;

const SCHEMA: &str = "
CREATE TABLE tide (port TEXT, day TEXT, height REAL);
INSERT INTO tide VALUES ('Brest', '2026-01-01', 6.9), ('Brest', '2026-01-02', 7.1), ('Kiel', '2026-01-01', 0.2);
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let author = Scripted::new(
        "author",
        [
            "SELECT port, MAX(hight) FROM tides GROUP BY port",
            "SELECT port, MIN(height) FROM tide GROUP BY port",
            "SELECT port, MAX(height) FROM tide GROUP BY port",
        ],
    );
    let settings: Settings = serde_json::from_value(json!({
        "dialect": "sqlite",
        "schema": SCHEMA,
        "run": true,
        "expect": { "rows": [["Brest", 7.1], ["Kiel", 0.2]] },
    }))?;
    let refine = Refine::new("highest-tide", author)
        .task("Write a query for the highest tide of each port.")?
        .verify("query", Sql::new(settings)?)
        .build()?;

    let engine = Engine::on(MemoryStore::new()).workflow(refine.clone()).open().await?;
    let run = engine.start(&refine, json!({})).await?;
    let refined = run.outcome().await?.into_output()?;
    for iteration in &refined.iterations {
        println!("{}\n  {}", iteration.n, iteration.text);
        for finding in iteration.open() {
            println!("  - {finding}");
        }
    }
    let first: Vec<String> = refined.iterations[0].open().map(ToString::to_string).collect();
    assert!(first.iter().any(|finding| finding.contains("tides")), "{first:?}");
    assert_eq!((refined.stop, refined.iterations.len()), (Stop::Accepted, 3));
    Ok(())
}
