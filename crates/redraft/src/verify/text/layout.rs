//! What of a text is prose and what is Markdown around it: headings, list items, fenced code.
//!
//! Not a Markdown parser: it knows as much as is needed to count. Every range lies inside the text on character
//! boundaries, and what stands in a fence is neither heading nor prose.

use std::ops::Range;

/// The parts of a text.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Its headings, each with its whole line.
    pub(super) headings: Vec<Range<usize>>,
    /// Its blocks between blank lines, without headings that stand alone.
    pub(super) paragraphs: Vec<Range<usize>>,
    /// What is to be split into sentences: no sentence goes from one of these into another.
    pub(super) prose: Vec<Range<usize>>,
}

/// What the lines since the last blank one add up to.
#[derive(Default)]
struct Block {
    /// All of its lines.
    range: Option<Range<usize>>,
    /// The prose at its end that the next line may go on with.
    open: Option<Range<usize>>,
    /// Whether the open prose is a list item or a quotation, which no underline makes a heading of.
    marked: bool,
    /// Whether there is something that is not a heading and not a ruler.
    counts: bool,
}

impl Layout {
    pub(super) fn of(text: &str) -> Self {
        let mut layout = Self::default();
        let mut block = Block::default();
        let mut fence: Option<&str> = None;
        let mut at = 0;
        for whole in text.split_inclusive('\n') {
            let line = whole.trim();
            let start = at + (whole.len() - whole.trim_start().len());
            let range = start..start + line.len();
            let indent = range.start.saturating_sub(at);
            at += whole.len();

            if let Some(opened) = fence {
                if is_closing(line, opened) {
                    fence = None;
                }
                block.cover(&range);
                continue;
            }
            if line.is_empty() {
                layout.end(std::mem::take(&mut block));
                continue;
            }
            if let Some(opening) = fence_of(line).filter(|_| indent < 4) {
                fence = Some(opening);
                layout.close(&mut block);
                block.cover(&range);
                block.counts = true;
                continue;
            }
            if is_heading(line) && indent < 4 {
                layout.close(&mut block);
                block.cover(&range);
                layout.headings.push(range);
                continue;
            }
            if is_underline(line) && !block.marked && block.open.is_some() {
                let title = block.open.take();
                block.counts =
                    block.range.as_ref().map(|range| range.start) != title.as_ref().map(|t| t.start);
                layout.headings.extend(title);
                block.cover(&range);
                continue;
            }
            layout.add_line(&mut block, line, range);
        }
        layout.end(block);
        layout
    }

    fn add_line(&mut self, block: &mut Block, line: &str, range: Range<usize>) {
        let marker = marker_of(line, block.open.is_none() || block.marked);
        let quoted = line.starts_with('>');
        if marker > 0 || quoted != block.marked && quoted {
            self.close(block);
            block.marked = true;
        }
        block.cover(&range);
        block.counts |= line.chars().any(|c| !c.is_whitespace() && !matches!(c, '-' | '*' | '_' | '='));
        match &mut block.open {
            Some(open) => open.end = range.end,
            None => block.open = Some(range.start + marker..range.end),
        }
    }

    /// Ends the open prose: what comes is something else.
    fn close(&mut self, block: &mut Block) {
        self.prose.extend(block.open.take());
        block.marked = false;
    }

    fn end(&mut self, mut block: Block) {
        self.close(&mut block);
        if block.counts {
            self.paragraphs.extend(block.range);
        }
    }
}

impl Block {
    fn cover(&mut self, line: &Range<usize>) {
        match &mut self.range {
            Some(range) => range.end = range.end.max(line.end),
            None => self.range = Some(line.clone()),
        }
    }
}

/// Returns the backticks or tildes that open a fence.
fn fence_of(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(sign);
    let length = line.len() - rest.len();
    // A line such as ```code``` is a span of code, not a fence.
    (length >= 3 && !(sign == '`' && rest.contains('`'))).then(|| &line[..length])
}

fn is_closing(line: &str, opened: &str) -> bool {
    let sign = opened.chars().next().unwrap_or('`');
    line.len() >= opened.len() && line.chars().all(|c| c == sign)
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A line that makes a heading of the one before.
fn is_underline(line: &str) -> bool {
    line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-')
}

/// Tells how long the list marker is that a line begins with; 0 if it is no list item.
///
/// A number inside of a paragraph is a marker only if it is 1: "it ended in\n12. Then" is one paragraph. Four digits are
/// a year, never a marker.
fn marker_of(line: &str, begins: bool) -> usize {
    let rest = if let Some(rest) = line.strip_prefix(['-', '*', '+', '•']) {
        rest
    } else {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &line[..line.len() - rest.len()];
        match rest.strip_prefix(['.', ')']) {
            Some(rest) if (1..=3).contains(&digits.len()) && (begins || digits == "1") => rest,
            _ => return 0,
        }
    };
    let text = rest.trim_start();
    // A number at the very end is no marker of anything: "42."
    if text.len() == rest.len() || text.is_empty() { 0 } else { line.len() - text.len() }
}

/// Returns what stands in the first fence that is marked with `language` or not marked at all, or else in the first one.
pub(in crate::verify) fn fenced(text: &str, language: &str) -> Option<Range<usize>> {
    let mut found: Vec<(bool, Range<usize>)> = Vec::new();
    let mut open: Option<(&str, bool, usize)> = None;
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim();
        let start = at;
        at += whole.len();
        match open {
            Some((opened, fits, inside)) if is_closing(line, opened) => {
                found.push((fits, inside..start));
                open = None;
            }
            Some(_) => {}
            None => {
                open = fence_of(line).map(|opening| {
                    let word = line[opening.len()..].split_whitespace().next().unwrap_or_default();
                    (opening, word.is_empty() || word.eq_ignore_ascii_case(language), at)
                });
            }
        }
    }
    found.extend(open.map(|(_, fits, inside)| (fits, inside..text.len())));
    let best = found.iter().position(|(fits, _)| *fits).unwrap_or(0);
    (!found.is_empty()).then(|| found.swap_remove(best).1)
}
