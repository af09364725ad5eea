//! The derive macros of redraft; use them through the crate `redraft`, which re-exports them.
//!
//! A derive here goes two ways, one file each: `input` reads what the user wrote and finds every mistake in it,
//! `expand` writes the code and cannot fail. No behaviour lives in this crate: the generated code only calls the
//! traits in `redraft::workflow`, so that what an update means can be read and tested there.

mod expand;
mod input;
mod suggest;

use proc_macro::TokenStream;

/// Derives `redraft::State` for a struct with named fields, and writes its update type.
///
/// For `struct Essay` the update is `EssayUpdate`, as visible as `Essay`. A field's reducer says how it takes an
/// update in:
///
/// - none, or `#[state(replace)]`: the value is replaced as a whole;
/// - `#[state(append)]`: items are added at the end, see `redraft::workflow::Append`;
/// - `#[state(merge)]`: entries are added, later ones win, see `redraft::workflow::Merge`.
///
/// The struct must also derive `Clone`, `Serialize` and `Deserialize`. Type parameters are fine, lifetimes are not: a
/// state is read back from the journal after a crash, so it owns what it holds. The trait's page has a worked
/// example and the list of the generated methods.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    match input::Input::read(&item) {
        Ok(input) => expand::state(&input).into(),
        Err(mistakes) => mistakes.into_compile_error().into(),
    }
}
