//! The generated code works whatever the user's own names are, and without any import.

#![no_implicit_prelude]

mod core {}
mod std {}
mod serde {}

#[derive(
    ::core::clone::Clone,
    ::redraft::__private::serde::Serialize,
    ::redraft::__private::serde::Deserialize,
    ::redraft::State,
)]
#[serde(crate = "::redraft::__private::serde")]
struct Essay {
    topic: ::std::string::String,
    draft: ::core::option::Option<::std::string::String>,
    score: f64,
    #[state(append)]
    critiques: ::std::vec::Vec<::std::string::String>,
    #[state(merge)]
    facts: ::std::collections::BTreeMap<::std::string::String, ::std::string::String>,
}

trait Clone {}
trait Default {}
trait Into {}
trait IntoIterator {}
trait Append {}
trait Merge {}
trait State {}
trait Serialize {}
trait Deserialize {}
enum Option {}
enum Result {}
enum Change {}
struct Vec;
struct String;
struct Some;
struct Ok;
struct Err;
#[allow(non_camel_case_types)]
struct bool;

fn main() {
    let update = <Essay as ::redraft::State>::update().score(1.0).draft(::core::option::Option::None);
    ::core::mem::drop(update);
}
