//! A spec made of flags.

use redraft::Fault;
use redraft::spec::{Acceptance, Flags, Registry, Spec};

#[test]
fn flags_make_a_spec() {
    let mut flags = Flags::new("Write {{ nothing }} special.", "openai:gpt-5-mini");
    flags.verify = vec!["cargo test".to_owned(), "cargo clippy".to_owned()];
    flags.accept = Some("0.9".to_owned());
    flags.iterations = Some(3);
    let spec = Spec::from_flags(&flags, &Registry::builtin()).unwrap();
    assert_eq!(spec.name(), "prompt");
    assert!(matches!(spec.resolved().accept, Acceptance::Score(least) if least.score == 0.9));
    assert_eq!(spec.resolved().limits.iterations, Some(3));
    let names: Vec<&str> = spec.resolved().verify.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["command-1", "command-2"]);
    // A prompt on the command line is words, not a template.
    assert_eq!(spec.input(&[]).unwrap().input["prompt"], "Write {{ nothing }} special.");
}

#[test]
fn flags_are_looked_at_like_a_file() {
    let mut flags = Flags::new("Write.", "opnai:gpt-5-mini");
    flags.accept = Some("scroe > 1".to_owned());
    flags.time = Some("soon".to_owned());
    let error = Spec::from_flags(&flags, &Registry::builtin()).unwrap_err();
    assert_eq!(error.code(), "spec-invalid");
    let mut codes: Vec<&str> = error.diagnostics().iter().map(|found| found.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["no-criteria", "spec-bad-value", "spec-expression", "unknown-provider"]);
}
