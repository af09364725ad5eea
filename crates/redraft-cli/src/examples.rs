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

pub(crate) const EXAMPLES: &[Example] =
    &[example!("blog-opening", "an opening paragraph that keeps three rules of structure", "spec.yaml")];
