//! A model that answers from a script.

use redraft::llm::{Error, Finish, Model, Request, Scripted, Turn, Usage};
use redraft::{Fault, Retry};
use serde_json::json;

#[tokio::test]
async fn a_script_is_followed_and_ends() {
    let error = Error::RateLimited { model: "m".to_owned(), message: "slow".to_owned(), retry_after: None };
    let turns = [
        Turn::text("one two"),
        Turn::error(error.clone()),
        Turn::call("approve", json!({"reason": "fine"})).usage(Usage::new(5, 7)),
        Turn::text("cut").finish(Finish::Length),
    ];
    let model = Scripted::new("test", turns);
    let mut heard = Vec::new();
    let mut listener = |piece: &str| heard.push(piece.to_owned());
    let first = model.answer(&Request::new("a b c"), &mut listener).await.unwrap();
    assert_eq!((first.text.as_str(), first.usage), ("one two", Usage::new(3, 2)));
    assert_eq!(heard, ["one ", "two"]);
    assert_eq!(model.answer(&Request::new("again"), &mut ()).await.unwrap_err(), error);
    let third = model.answer(&Request::new("and again"), &mut ()).await.unwrap();
    assert_eq!(
        (third.finish, third.calls[0].name.as_str(), third.usage.total()),
        (Finish::ToolCalls, "approve", 12)
    );
    assert_eq!(model.answer(&Request::new("more"), &mut ()).await.unwrap().finish, Finish::Length);
    let over = model.answer(&Request::new("too much"), &mut ()).await.unwrap_err();
    assert_eq!((over.code(), over.retry()), ("model-script-over", Retry::Never));
    assert_eq!(model.asked().len(), 5);
    assert_eq!(model.name(), "scripted:test");
}
