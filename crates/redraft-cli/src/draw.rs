//! A run as a tree on a terminal: iterations with their scores, criteria with what they said, steps with what they
//! took and cost.
//!
//! What the engine's own tree has is folded to what a person wants to see: the steps in which a refinement writes down
//! its criteria and its verdicts are not shown, because what they say stands in the rows around them.

use redraft::refine::Iteration;
use redraft::verify::Gate;
use redraft::view::{Node, NodeKind, NodeStatus, Report, Tree};

use crate::ending;
use crate::terminal::Palette;
use crate::text;

/// Below so many columns, only names, scores and times are shown.
const NARROW: usize = 70;

/// How a tree is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) palette: Palette,
    pub(crate) columns: usize,
    /// Every step, as the journal has it.
    pub(crate) full: bool,
}

/// A line of the tree, in columns.
struct Row {
    label: String,
    tone: Tone,
    score: String,
    time: String,
    tokens: String,
    money: String,
    note: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Tone {
    Good,
    Warn,
    Bad,
    Plain,
}

/// Draws a run.
pub(crate) fn tree(tree: &Tree, report: &Report, look: Look) -> Vec<String> {
    let mut rows = Vec::new();
    let mut drawn = Drawing { rows: &mut rows, full: look.full };
    // A refinement that is the whole run needs no name of its own.
    let top = match tree.children.as_slice() {
        [only] if !look.full && only.kind == NodeKind::Group && !only.children.is_empty() => &only.children,
        all => all,
    };
    drawn.level(top, "", None, true);
    let mut lines = vec![head(report, look)];
    lines.extend(table(&rows, look));
    lines.push(foot(report, look));
    lines
}

fn head(report: &Report, look: Look) -> String {
    let status = format!("{} {}", report.status.glyph(), report.status);
    let accept = report.criteria.as_ref().and_then(|criteria| criteria.score());
    let accept = accept.map(|score| format!("   accept ≥ {score:.2}")).unwrap_or_default();
    let name = text::line(&report.workflow);
    let rest = format!("  {}   {status}{accept}", text::short(report.run_id));
    let name = text::cut(&name, look.columns.saturating_sub(text::width(&rest)).max(8));
    let line = text::cut(&format!("{name}{rest}"), look.columns);
    let line = line.replacen(&name, &look.palette.bold(&name), 1);
    line.replacen(&status, &ending::paint(look.palette, report.status, &status), 1)
}

fn foot(report: &Report, look: Look) -> String {
    let best = match &report.best {
        Some(best) => {
            let so_far = if report.status.is_final() { "best" } else { "best so far" };
            format!("{so_far}: iteration {} ({:.2})", best.iteration, best.score)
        }
        None => "no draft was judged".to_owned(),
    };
    let spent = match report.spend.money {
        Some(money) => format!("spent {money}"),
        None => "spent: price unknown".to_owned(),
    };
    let best =
        if report.criteria.is_none() && report.best.is_none() { String::new() } else { format!("{best}   ") };
    text::cut(&format!("└─ {best}{spent}"), look.columns)
}

/// Puts rows under each other, so that what belongs together stands in a column.
fn table(rows: &[Row], look: Look) -> Vec<String> {
    let narrow = look.columns < NARROW;
    let widest = |cell: fn(&Row) -> &String| rows.iter().map(|row| text::width(cell(row))).max().unwrap_or(0);
    let labels = widest(|row| &row.label).min(look.columns * 3 / 5);
    let (scores, times) = (widest(|row| &row.score), widest(|row| &row.time));
    let (tokens, money) = (widest(|row| &row.tokens), widest(|row| &row.money));
    rows.iter()
        .map(|row| {
            let mut line = text::pad(&text::cut(&row.label, labels), labels);
            let mut cell = |words: String, columns: usize| {
                if columns > 0 {
                    line.push_str(&format!("  {words}"));
                }
            };
            cell(text::pad(&row.score, scores), scores);
            cell(text::right(&row.time, times), times);
            if !narrow {
                cell(text::right(&row.tokens, tokens), tokens);
                cell(text::right(&row.money, money), money);
            }
            if !row.note.is_empty() {
                line.push_str(&format!("  {}", row.note));
            }
            let line = text::cut(line.trim_end(), look.columns);
            tinted(&line, row, look.palette)
        })
        .collect()
}

/// Only the sign and the score are painted: the rest is read more easily without.
fn tinted(line: &str, row: &Row, palette: Palette) -> String {
    let Some(sign) = row.label.trim_start_matches(['├', '└', '─', '│', ' ']).chars().next() else {
        return line.to_owned();
    };
    let sign = sign.to_string();
    let painted = match row.tone {
        Tone::Good => palette.good(&sign),
        Tone::Warn => palette.warn(&sign),
        Tone::Bad => palette.bad(&sign),
        Tone::Plain => return line.to_owned(),
    };
    line.replacen(&sign, &painted, 1)
}

struct Drawing<'a> {
    rows: &'a mut Vec<Row>,
    full: bool,
}

impl Drawing<'_> {
    /// Draws what stands below something. `goes_on` says that another row will follow at the same depth.
    fn level(&mut self, nodes: &[Node], indent: &str, verdict: Option<&Iteration>, goes_on: bool) {
        let is_refinement = nodes.iter().any(|node| matches!(node.kind, NodeKind::Iteration { .. }));
        let shown: Vec<&Node> =
            nodes.iter().filter(|node| self.full || !is_own(node, is_refinement, verdict)).collect();
        for (at, node) in shown.iter().enumerate() {
            let is_last = at + 1 == shown.len() && !goes_on;
            let (turn, deeper) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let own = iteration_of(node);
            let row = self.row(node, &format!("{indent}{turn}"), own.as_ref(), verdict);
            self.rows.push(row);
            let folded = !self.full && verdict.is_some_and(|it| opinion(it, node).is_some());
            if !folded {
                self.level(&node.children, &format!("{indent}{deeper}"), own.as_ref(), false);
            }
        }
    }

    fn row(&self, node: &Node, turn: &str, own: Option<&Iteration>, verdict: Option<&Iteration>) -> Row {
        let mut note = note(node);
        let mut score = String::new();
        let (glyph, tone) = match (own, verdict.and_then(|it| opinion(it, node).map(|opinion| (it, opinion))))
        {
            (Some(own), _) => {
                score = format!("score {:.2}", own.score);
                note = about(own);
                if own.accepted { ('✓', Tone::Good) } else { ('△', Tone::Warn) }
            }
            (None, Some((iteration, (value, gate)))) => {
                score = value.map(|value| format!("{value:.2}")).unwrap_or_default();
                let mut found = iteration.open().filter(|finding| finding.verifier == node.name);
                if let Some(finding) = found.next() {
                    note = format!("“{}”", text::line(&finding.message));
                    match found.count() {
                        0 => {}
                        more => note.push_str(&format!(" and {more} more")),
                    }
                }
                match gate {
                    Gate::Fail => ('✗', Tone::Bad),
                    Gate::None if !note.is_empty() => ('△', Tone::Warn),
                    _ => ('✓', Tone::Good),
                }
            }
            (None, None) => match node.status {
                NodeStatus::Done if node.replayed => ('↺', Tone::Plain),
                NodeStatus::Done => ('✓', Tone::Good),
                NodeStatus::Failed => ('✗', Tone::Bad),
                NodeStatus::Waiting => (node.status.glyph(), Tone::Warn),
                _ => (node.status.glyph(), Tone::Plain),
            },
        };
        let name = match node.kind {
            NodeKind::Iteration { n } => format!("iteration {n}"),
            _ => text::line(&node.name),
        };
        let is_under_way = node.status == NodeStatus::Running;
        Row {
            label: format!("{turn} {glyph} {name}"),
            tone,
            score,
            time: match node.duration_ms {
                Some(millis) => text::duration(millis),
                None if is_under_way => "…".to_owned(),
                None => String::new(),
            },
            tokens: node
                .spend
                .map(|it| format!("{}→{} tok", it.usage.input_tokens, it.usage.output_tokens))
                .unwrap_or_default(),
            money: match node.spend.map(|spend| spend.money) {
                Some(Some(money)) => money.to_string(),
                Some(None) => "price unknown".to_owned(),
                None => String::new(),
            },
            note,
        }
    }
}

/// What a refinement writes down for itself.
fn is_own(node: &Node, is_refinement: bool, verdict: Option<&Iteration>) -> bool {
    (is_refinement && node.name == "criteria") || (verdict.is_some() && node.name == "verdict")
}

fn iteration_of(node: &Node) -> Option<Iteration> {
    let NodeKind::Iteration { .. } = node.kind else { return None };
    let verdict = node.children.iter().find(|child| child.name == "verdict")?;
    match &verdict.kind {
        NodeKind::Step { output: Some(output), .. } => serde_json::from_value(output.clone()).ok(),
        _ => None,
    }
}

/// What a criterion said in an iteration, if the node is that criterion's.
fn opinion(iteration: &Iteration, node: &Node) -> Option<(Option<f64>, Gate)> {
    let said = iteration.verdicts.iter().find(|opinion| opinion.verifier == node.name)?;
    matches!(node.kind, NodeKind::Group).then_some((said.score, said.gate))
}

/// What there is to say about an iteration.
fn about(iteration: &Iteration) -> String {
    let mut parts = Vec::new();
    match iteration.open().count() {
        0 => {}
        open => parts.push(text::count(open, "finding")),
    }
    if let Some(n) = iteration.repeats {
        parts.push(format!("says the same as {n}"));
    }
    if let Some(tactic) = iteration.tactic {
        parts.push(tactic.words().to_owned());
    }
    if iteration.candidates > 1 {
        parts.push(format!("best of {}", iteration.candidates));
    }
    parts.join(", ")
}

fn note(node: &Node) -> String {
    match &node.kind {
        NodeKind::Step { attempts, .. } => {
            let failure = attempts.iter().rev().find_map(|attempt| attempt.failure.as_ref());
            let tried =
                if attempts.len() > 1 { format!("{} attempts", attempts.len()) } else { String::new() };
            match failure {
                Some(failure) if node.status == NodeStatus::Failed => {
                    let message = format!("{} [{}]", text::line(&failure.message), text::line(&failure.code));
                    if tried.is_empty() { message } else { format!("{tried}: {message}") }
                }
                _ => tried,
            }
        }
        NodeKind::Branch { taken } => format!("→ {}", text::line(taken)),
        NodeKind::Gate { answer: Some(answer), .. } => {
            format!("{} by {}", text::line(&answer.choice), text::line(&answer.by))
        }
        NodeKind::Gate { question, .. } => {
            format!("“{}”", text::line(question.lines().next().unwrap_or_default()))
        }
        NodeKind::Note { text: words } => format!("“{}”", text::line(words)),
        NodeKind::Sleep { until } => format!("until {until}"),
        _ => String::new(),
    }
}
