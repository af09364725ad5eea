//! What the compiler says to people who use `#[derive(State)]`: one file per use that must work, one per mistake.
//!
//! After a change of wording, of the toolchain or of the dependencies (the compiler lists types they offer):
//! `TRYBUILD=overwrite cargo test -p redraft --test derive_state_ui`, then read every changed `.stderr` as somebody
//! would who sees redraft for the first time.

#[test]
fn right_uses_compile_and_mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
