//! Error correction: a draft is validated and its errors are fixed until there are none, at most three times.
//!
//! Run it with `cargo run --example fix_errors`. The typed builder does the loop; a JSON Schema finds the errors.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use redraft::store::MemoryStore;
use redraft::verify::{Case, Json, Rule, json};
use redraft::workflow::{State, Workflow};
use redraft::{Engine, Failure};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize, State)]
struct Order {
    text: String,
    errors: Vec<String>,
    #[state(append)]
    fixed: Vec<String>,
}

async fn validate(order: Arc<Order>) -> Result<OrderUpdate, Failure> {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["item", "amount"],
        "properties": { "item": { "enum": ["tea", "coffee"] }, "amount": { "type": "integer", "minimum": 1 } },
    });
    let shape = Json::compile(json::Config::new().schema(schema))?;
    let verdict = shape.check(&Case::new("An order.", order.text.as_str()));
    Ok(Order::update().errors(verdict.findings.iter().map(ToString::to_string).collect::<Vec<_>>()))
}

/// Stands for a model that is told what is wrong and where.
async fn fix_errors(order: Arc<Order>) -> Result<OrderUpdate, Failure> {
    let Some(error) = order.errors.first() else { return Ok(Order::update()) };
    let text = if error.contains("/amount") {
        order.text.replace("\"two\"", "2")
    } else {
        order.text.replace("tee", "tea")
    };
    Ok(Order::update().text(text).append_fixed(error.clone()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let correct = Workflow::<Order>::named("correct")
        .repeat_until(
            "correction",
            3,
            |order| order.errors.is_empty(),
            |body| {
                body.then("validate", validate)
                    .exit_when("valid", |order| order.errors.is_empty())
                    .then("fix", fix_errors)
            },
        )
        .build()?;
    let engine = Engine::on(MemoryStore::new()).workflow(correct.clone()).open().await?;
    let order = Order { text: r#"{"item": "tee", "amount": "two"}"#.to_owned(), ..Order::default() };
    let run = engine.start(&correct, order).await?;
    let order = run.outcome().await?.into_output()?;
    println!("{}\n\n{}", engine.tree(run.run()).await?, order.text);
    for error in &order.fixed {
        println!("fixed: {error}");
    }
    assert!(order.errors.is_empty());
    assert_eq!(order.fixed.len(), 2);
    Ok(())
}
