//! What the tree of a run shows: iterations with score, time, tokens, cost and findings; below them their steps and
//! verdicts; at the end the best draft and what was spent. Pure: from a tree to lines.

use redraft::refine::{Iteration, Opinion};
use redraft::verify::Gate;
use redraft::view::{Node, NodeKind, NodeStatus, Tree};
use redraft::{Status, Timestamp};
use unicode_width::UnicodeWidthStr;

use super::Facts;
use super::heard::Heard;
use super::screen::{Ink, Line};
use crate::ended::verdict;
use crate::terminal::one_line;

/// How many of the last iterations are shown with what they hold.
const OPEN: usize = 2;
/// How much of a finding is shown.
const FINDING: usize = 60;

/// Makes the lines; at most `room` of them, the older iterations folded away first.
pub(super) fn lines(tree: &Tree, facts: &Facts, heard: &Heard, now: Timestamp, room: usize) -> Vec<Line> {
    let mut header = Line::new()
        .ink(Ink::Bold, one_line(&tree.workflow))
        .plain(format!("  {}", tree.run))
        .ink(Ink::Dim, format!("   {}", one_line(&facts.accept)));
    if let Some(budget) = &facts.budget {
        header = header.ink(Ink::Dim, format!("   budget {budget}"));
    }
    let drawing = Drawing { heard, now };
    let shown: Vec<&Node> = top(&tree.children).iter().filter(|node| is_shown(node)).collect();
    let mut blocks: Vec<Vec<Line>> = Vec::new();
    for (at, node) in shown.iter().enumerate() {
        let mut block = Vec::new();
        drawing.node(node, "", "├─ ", "│  ", at + OPEN >= shown.len(), &mut block);
        blocks.push(block);
    }
    let mut folded = 0;
    while blocks.iter().map(Vec::len).sum::<usize>() + 3 > room && blocks.len() > 1 {
        blocks.remove(0);
        folded += 1;
    }
    let mut lines = vec![header];
    if folded > 0 {
        lines.push(Line::new().plain("├─ ").ink(Ink::Dim, format!("… {folded} more before")));
    }
    let rest = room.saturating_sub(lines.len() + 1);
    lines.extend(blocks.into_iter().flatten().take(rest));
    lines.push(foot(tree, facts));
    lines
}

/// Returns what stands at the top: a refinement that is the whole run needs no name of its own.
fn top(nodes: &[Node]) -> &[Node] {
    let mut shown = nodes.iter().filter(|node| is_shown(node));
    match (shown.next(), shown.next()) {
        (Some(only), None) if only.kind == NodeKind::Group && !only.children.is_empty() => {
            top(&only.children)
        }
        _ => nodes,
    }
}

fn foot(tree: &Tree, facts: &Facts) -> Line {
    let best = tree.refinements().into_iter().find_map(|refinement| refinement.best);
    let mut words = match tree.status {
        Status::Running | Status::Queued => String::new(),
        status => format!("{} {}   ", status.glyph(), status_words(status)),
    };
    match best {
        Some(best) if tree.status.is_final() => {
            words.push_str(&format!("best: iteration {} ({:.2})", best.iteration, best.score));
        }
        Some(best) => {
            words.push_str(&format!("best so far: iteration {} ({:.2})", best.iteration, best.score))
        }
        None if tree.status.is_final() => {}
        None => words.push_str("no draft judged yet"),
    }
    let spent = match tree.spend.money {
        Some(money) => money.to_string(),
        None => "an unknown amount".to_owned(),
    };
    let of = facts.budget.as_ref().map(|budget| format!(" of {budget}")).unwrap_or_default();
    let pad = 44usize.saturating_sub(words.width()).max(3);
    let ink = match tree.status {
        Status::Accepted | Status::Completed => Ink::Good,
        Status::Exhausted | Status::Waiting => Ink::Warn,
        Status::Failed | Status::Cancelled => Ink::Bad,
        _ => Ink::Plain,
    };
    Line::new().plain("└─ ").ink(ink, words).plain(" ".repeat(pad)).plain(format!("spent {spent}{of}"))
}

/// Returns the words for a status on a screen.
pub(crate) fn status_words(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waiting for you",
        other => other.as_str(),
    }
}

/// What the loop writes down for itself is in the journal, and not of interest while it runs.
fn is_shown(node: &Node) -> bool {
    let own =
        matches!(node.name.as_str(), "criteria" | "verdict") && matches!(node.kind, NodeKind::Step { .. });
    !own && !matches!(node.kind, NodeKind::Value { .. })
}

struct Drawing<'a> {
    heard: &'a Heard,
    now: Timestamp,
}

impl Drawing<'_> {
    fn node(&self, node: &Node, indent: &str, turn: &str, deeper: &str, open: bool, lines: &mut Vec<Line>) {
        let below = format!("{indent}{deeper}");
        match &node.kind {
            NodeKind::Iteration { n } => {
                let judged = node.children.iter().find_map(verdict);
                lines.push(self.iteration(node, *n, judged.as_ref(), indent, turn));
                if open {
                    self.inside(node, judged.as_ref(), &below, lines);
                }
            }
            _ => {
                lines.push(self.leaf(node, indent, turn));
                let children: Vec<&Node> = node.children.iter().filter(|child| is_shown(child)).collect();
                for (at, child) in children.iter().enumerate().filter(|_| open) {
                    let last = at + 1 == children.len();
                    let (turn, deeper) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                    self.node(child, &below, turn, deeper, at + OPEN >= children.len(), lines);
                }
            }
        }
    }

    fn iteration(&self, node: &Node, n: u32, judged: Option<&Iteration>, indent: &str, turn: &str) -> Line {
        let (ink, glyph) = match (judged, node.status) {
            _ if node.replayed => (Ink::Dim, '↺'),
            (Some(judged), _) if judged.accepted => (Ink::Good, '✓'),
            (Some(_), _) => (Ink::Warn, '△'),
            (None, status) => glyph_of(status),
        };
        let score = judged.map(|judged| format!("score {:.2}", judged.score)).unwrap_or_default();
        let mut line = Line::new()
            .plain(format!("{indent}{turn}"))
            .ink(ink, glyph.to_string())
            .plain(padded(&format!(" iteration {n}"), 16))
            .plain(padded(&score, 12))
            .plain(format!("{:>7}", self.time(node)));
        if judged.is_none() && node.status == NodeStatus::Running {
            return line.plain(" …");
        }
        if let Some(spend) = &node.spend {
            line = line.ink(Ink::Dim, format!("   {spend}").replace("  ", "   "));
        }
        if let Some(judged) = judged {
            line = line.plain(match judged.open().count() {
                0 => String::new(),
                1 => "   1 finding".to_owned(),
                count => format!("   {count} findings"),
            });
        }
        line
    }

    /// What an iteration holds: its steps, and one line for each criterion.
    fn inside(&self, node: &Node, judged: Option<&Iteration>, indent: &str, lines: &mut Vec<Line>) {
        let opinions = judged.map(|judged| judged.verdicts.as_slice()).unwrap_or_default();
        let named = |name: &str| opinions.iter().any(|opinion| opinion.verifier == name);
        let mut inner: Vec<Line> = Vec::new();
        for child in node.children.iter().filter(|child| is_shown(child) && !named(&child.name)) {
            inner.push(self.leaf(child, "", ""));
        }
        for opinion in opinions {
            let node = node.children.iter().find(|child| child.name == opinion.verifier);
            inner.push(self.opinion(opinion, node, judged));
        }
        let count = inner.len();
        for (at, line) in inner.into_iter().enumerate() {
            let turn = if at + 1 == count { "└─ " } else { "├─ " };
            let mut whole = Line::new().plain(format!("{indent}{turn}"));
            whole.0.extend(line.0);
            lines.push(whole);
        }
    }

    fn opinion(&self, opinion: &Opinion, node: Option<&Node>, judged: Option<&Iteration>) -> Line {
        let findings = || {
            let open = judged.into_iter().flat_map(Iteration::open);
            open.filter(|finding| finding.verifier == opinion.verifier)
        };
        let (ink, glyph) = match (opinion.gate, opinion.score) {
            (_, None) => (Ink::Dim, '○'),
            (Gate::Fail, _) => (Ink::Bad, '✗'),
            (Gate::None, Some(_)) if findings().next().is_some() => (Ink::Warn, '△'),
            _ => (Ink::Good, '✓'),
        };
        let score = opinion.score.map_or("not asked".to_owned(), |score| format!("{score:.2}"));
        let time = node.map_or_else(|| "0.0s".to_owned(), |node| self.time(node));
        let mut line = Line::new()
            .ink(ink, glyph.to_string())
            .plain(padded(&format!(" {}", one_line(&opinion.verifier)), 19))
            .plain(padded(&score, 6))
            .plain(format!("{time:>7}"));
        if let Some(finding) = findings().next() {
            line = line.ink(Ink::Dim, format!("   “{}”", cut(&one_line(&finding.message), FINDING)));
        }
        line
    }

    fn leaf(&self, node: &Node, indent: &str, turn: &str) -> Line {
        let (ink, glyph) = if node.replayed { (Ink::Dim, '↺') } else { glyph_of(node.status) };
        let mut line = Line::new()
            .plain(format!("{indent}{turn}"))
            .ink(ink, glyph.to_string())
            .plain(padded(&format!(" {}", one_line(&node.name)), 25))
            .plain(format!("{:>7}", self.time(node)));
        match &node.kind {
            NodeKind::Step { attempts, .. } => {
                if attempts.len() > 1 {
                    line = line.ink(Ink::Warn, format!("   {} attempts", attempts.len()));
                }
                let failure = attempts.last().and_then(|attempt| attempt.failure.as_ref());
                if let Some(failure) = failure {
                    line = line.ink(Ink::Dim, format!("   “{}”", cut(&one_line(&failure.message), FINDING)));
                }
                let words = self.heard.words(&node.path);
                if node.status == NodeStatus::Running && words > 0 {
                    line = line.ink(Ink::Dim, format!("   {words} words …"));
                }
            }
            NodeKind::Gate { question, .. } => {
                line = line.ink(Ink::Dim, format!("   “{}”", cut(&one_line(question), FINDING)));
            }
            NodeKind::Note { text } => {
                line = line.ink(Ink::Dim, format!("   {}", cut(&one_line(text), FINDING)));
            }
            _ => {}
        }
        line
    }

    fn time(&self, node: &Node) -> String {
        let millis = match (node.duration_ms, node.started_at, node.status) {
            (_, Some(began), NodeStatus::Running | NodeStatus::Waiting) => {
                u64::try_from(self.now.since(began).as_millis()).unwrap_or_default()
            }
            (Some(millis), ..) => millis,
            _ => return String::new(),
        };
        seconds(millis)
    }
}

/// Writes a time for people: `4.1s`, `2m 05s`.
pub(crate) fn seconds(millis: u64) -> String {
    let whole = millis / 1000;
    if whole < 60 {
        format!("{}.{}s", whole, millis % 1000 / 100)
    } else {
        format!("{}m {:02}s", whole / 60, whole % 60)
    }
}

fn glyph_of(status: NodeStatus) -> (Ink, char) {
    match status {
        NodeStatus::Done => (Ink::Good, '✓'),
        NodeStatus::Running => (Ink::Plain, '●'),
        NodeStatus::Waiting => (Ink::Warn, '◔'),
        NodeStatus::Failed => (Ink::Bad, '✗'),
        _ => (Ink::Dim, '⊘'),
    }
}

fn padded(words: &str, width: usize) -> String {
    format!("{words}{}", " ".repeat(width.saturating_sub(words.width())))
}

fn cut(words: &str, most: usize) -> String {
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let kept: String = words.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use redraft::spec::{Registry, ScriptedOnly, Spec};
    use redraft::store::MemoryStore;
    use redraft::{Clock, Engine, ManualClock};

    use super::*;
    use crate::terminal::Palette;
    use crate::work::Work;

    const SPEC: &str = "
name: essay
models:
  author:
    price: { input: 10, output: 40 }
    scripted:
      - { text: one two three, usage: { input: 812, output: 240 } }
      - { text: 日本語の 下書き, usage: { input: 900, output: 100 } }
      - { text: good, usage: { input: 950, output: 10 } }
draft: { model: author, prompt: Write. }
verify:
  - { name: words, text: { words: { max: 2 } } }
  - { name: good, text: { contains: good } }
limits: { iterations: 3, cost: '$0.50' }
";

    /// Draws a run that has ended, with its id and without colours.
    async fn drawn(room: usize, width: usize) -> Vec<String> {
        let spec = Spec::parse("essay.yaml", SPEC.as_bytes(), None, &Registry::builtin()).unwrap();
        let input = spec.input(&[]).unwrap();
        let facts = Facts::of(&input);
        let clock = Arc::new(ManualClock::default());
        let work = Work::new("essay", Arc::new(ScriptedOnly), None);
        let engine = Engine::on(MemoryStore::new()).clock(clock.clone()).workflow(work.clone());
        let engine = engine.open().await.unwrap();
        let run = engine.start(&work, input).await.unwrap();
        run.outcome().await.unwrap();
        let tree = engine.tree(run.run()).await.unwrap();
        let lines = lines(&tree, &facts, &Heard::new(false), clock.now(), room);
        let id = run.run().to_string();
        let plain = Palette { colored: false };
        lines.iter().map(|line| line.render(plain, width).replace(&id, "RUN")).collect()
    }

    #[tokio::test]
    async fn a_tree_shows_iterations_verdicts_findings_and_what_was_spent() {
        let shown = drawn(usize::MAX, 100).await;
        let expected = [
            "essay  RUN   accept ≥ 0.80   budget $0.50",
            "├─ △ iteration 1    score 0.33     0.0s    812→240 tok   $0.01772   2 findings",
            "├─ △ iteration 2    score 0.14     0.0s    900→100 tok   $0.013   2 findings",
            "│  ├─ ✓ revise                     0.0s",
            "│  ├─ ✗ words             0.29     0.0s   “the text has 7 words; it must have at most 2 words”",
            "│  └─ ✗ good              0.00     0.0s   “the text does not contain “good””",
            "├─ ✓ iteration 3    score 1.00     0.0s    950→10 tok   $0.0099",
            "│  ├─ ✓ revise                     0.0s",
            "│  ├─ ✓ words             1.00     0.0s",
            "│  └─ ✓ good              1.00     0.0s",
            "└─ ✓ accepted   best: iteration 3 (1.00)       spent $0.04062 of $0.50",
        ];
        assert_eq!(shown, expected, "{}", shown.join("\n"));
    }

    #[tokio::test]
    async fn a_tree_never_takes_more_room_than_there_is() {
        for (room, width) in [(3, 10), (5, 20), (8, 40), (11, 60)] {
            let shown = drawn(room, width).await;
            assert!(shown.len() <= room, "{room} lines: {}", shown.join("\n"));
            assert!(shown.iter().all(|line| line.width() <= width), "{width} columns: {}", shown.join("\n"));
            assert!(shown.last().unwrap().starts_with('└'));
        }
    }
}
