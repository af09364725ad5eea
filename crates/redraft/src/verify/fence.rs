//! Code blocks of a Markdown text, with their places.
//!
//! Pure. It knows fences of backticks and tildes as CommonMark does; blocks made by indentation are text to it.

use std::ops::Range;

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    /// What stands behind the opening fence.
    pub info: &'a str,
    /// The bytes of the opening line, without its line break.
    pub opening: Range<usize>,
    /// The bytes between the fences, the last line break included.
    pub body: Range<usize>,
    /// Where the text goes on after the closing fence.
    pub end: usize,
}

/// Finds the fenced blocks of a text. One that is never closed reaches to the end.
pub(crate) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(Mark<'_>, Range<usize>, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        match &open {
            None => {
                if let Some(mark) = Mark::of(bare).filter(Mark::opens) {
                    open = Some((mark, at..at + bare.len(), next));
                }
            }
            Some((mark, opening, body)) => {
                if Mark::of(bare).is_some_and(|closing| closing.closes(mark)) {
                    let (info, opening, body) = (mark.info, opening.clone(), *body..at);
                    found.push(Fence { info, opening, body, end: next });
                    open = None;
                }
            }
        }
        at = next;
    }
    if let Some((mark, opening, body)) = open {
        found.push(Fence { info: mark.info, opening, body: body..text.len(), end: text.len() });
    }
    found
}

/// A line that begins like a fence.
struct Mark<'a> {
    sign: char,
    length: usize,
    info: &'a str,
}

impl<'a> Mark<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let rest = text.trim_start_matches(sign);
        let length = text.len() - rest.len();
        (line.len() - text.len() < 4 && length >= 3).then(|| Self { sign, length, info: rest.trim() })
    }

    fn opens(&self) -> bool {
        self.sign == '~' || !self.info.contains('`')
    }

    fn closes(&self, opening: &Self) -> bool {
        self.sign == opening.sign && self.length >= opening.length && self.info.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> =
            fences(text).iter().map(|fence| (fence.info, &text[fence.body.clone()])).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_block_ends_with_a_fence_of_its_own_kind_and_length() {
        check("```rust\nfn a() {}\n```\n", &[("rust", "fn a() {}\n")]);
        check("````md\n```\nin\n```\n````", &[("md", "```\nin\n```\n")]);
        check("~~~ a\n```\n~~~~\nafter", &[("a", "```\n")]);
        check("```\r\na\r\n```\r\n", &[("", "a\r\n")]);
        check("  ```\n  a\n ```", &[("", "  a\n")]);
    }

    #[test]
    fn a_block_that_is_never_closed_reaches_to_the_end() {
        check("text\n```\na\nb", &[("", "a\nb")]);
        check("```", &[("", "")]);
    }

    #[test]
    fn what_only_looks_like_a_fence_is_text() {
        check("    ```\na\n", &[]);
        check("``\na\n``", &[]);
        check("```a``` is code in a line\n", &[]);
        check("/// ```\n/// a\n", &[]);
    }
}
