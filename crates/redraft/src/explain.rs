//! What each error code means, in a page of its own.
//!
//! To add a code: write `errors/CODE.md` and add its line below; a test finds codes without a page and pages
//! without a code.

/// Returns the page about an error code, as Markdown.
///
/// ```
/// assert!(redraft::explain("diverged").is_some_and(|page| page.contains("fork")));
/// assert!(redraft::explain("no-such-code").is_none());
/// ```
#[must_use]
pub fn explain(code: &str) -> Option<&'static str> {
    PAGES.iter().find(|(known, _)| *known == code).map(|(_, page)| *page)
}

/// Returns every code there is a page about, sorted.
pub fn codes() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(code, _)| *code)
}

macro_rules! pages {
    ($($code:literal),* $(,)?) => {
        const PAGES: &[(&str, &str)] = &[$(($code, include_str!(concat!($code, ".md")))),*];
    };
}

include!("errors/pages.rs");
