//! The examples that `redraft init` writes. They live in `examples/specs` and are part of the program; a test runs every
//! one. To add one: a folder there with a `spec.yaml`, and an entry here.

/// An example: a folder with a spec that runs as it is.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Names and contents; one of them is `spec.yaml`.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal, $about:literal, $($file:literal),+) => {
        Example {
            name: $name,
            about: $about,
            files: &[$(($file, include_str!(concat!("../../../examples/specs/", $name, "/", $file)))),+],
        }
    };
}

pub(crate) const EXAMPLES: &[Example] = &[
    example!("hello", "a sentence by the model inside the program, held to two rules", "spec.yaml"),
    example!("blog-opening", "an opening paragraph that keeps three rules of structure", "spec.yaml"),
    example!("report", "a report that a judge must give 8 of 10", "spec.yaml", "rubric.md"),
    example!("code", "a function that is written until its tests pass", "spec.yaml", "tests.py"),
    example!("sql", "a query that is checked against a schema, and run", "spec.yaml", "schema.sql"),
    example!("json-extraction", "data out of free text, held to a schema", "spec.yaml", "order.schema.json"),
    example!("chapters", "one spec for many inputs, under one budget", "spec.yaml", "chapters.jsonl"),
    example!("drafter-reviewer", "two agents who talk until one approves", "spec.yaml"),
    example!("fact-checked", "a text whose claims are checked against a document", "spec.yaml", "bridge.md"),
];
