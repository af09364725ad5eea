//! A workflow as a Mermaid flowchart.

use std::fmt::Write;

use super::State;
use super::builder::Chart;
use super::node::Node;
use super::validate::{FINALLY, ON_FAILURE};

/// Draws a chart.
pub(super) fn mermaid<S: State>(chart: &Chart<S>) -> String {
    let mut drawing = Drawing { text: "flowchart TD\n".to_owned(), next: 0, indent: 1 };
    let start = drawing.shape("([", "start", "])");
    let mut loose = vec![Loose::plain(start)];
    loose = drawing.body(&chart.body, loose, &mut Vec::new());
    if !chart.finally.is_empty() {
        loose = drawing.folder(FINALLY, |drawing| drawing.body(&chart.finally, loose, &mut Vec::new()));
    }
    let end = drawing.shape("([", "end", "])");
    drawing.connect(&loose, end);
    if !chart.on_failure.is_empty() {
        let failed = drawing.shape("([", "a step failed", "])");
        let ends = drawing.folder(ON_FAILURE, |drawing| {
            drawing.body(&chart.on_failure, vec![Loose::plain(failed)], &mut Vec::new())
        });
        let end = drawing.shape("([", "failed", "])");
        drawing.connect(&ends, end);
    }
    drawing.text
}

/// An arrow whose head is not drawn yet.
#[derive(Clone)]
struct Loose {
    from: usize,
    label: String,
}

impl Loose {
    fn plain(from: usize) -> Self {
        Self { from, label: String::new() }
    }

    fn labelled(from: usize, label: &str) -> Self {
        Self { from, label: label.to_owned() }
    }
}

struct Drawing {
    text: String,
    next: usize,
    indent: usize,
}

impl Drawing {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.indent));
    }

    fn shape(&mut self, open: &str, label: &str, close: &str) -> usize {
        let id = self.next;
        self.next += 1;
        self.line(&format!("n{id}{open}\"{}\"{close}", quoted(label)));
        id
    }

    fn connect(&mut self, loose: &[Loose], to: usize) {
        for Loose { from, label } in loose {
            if label.is_empty() {
                self.line(&format!("n{from} --> n{to}"));
            } else {
                self.line(&format!("n{from} -->|\"{}\"| n{to}", quoted(label)));
            }
        }
    }

    fn folder(&mut self, title: &str, inside: impl FnOnce(&mut Self) -> Vec<Loose>) -> Vec<Loose> {
        let id = self.next;
        self.next += 1;
        self.line(&format!("subgraph s{id}[\"{}\"]", quoted(title)));
        self.indent += 1;
        let loose = inside(self);
        self.indent -= 1;
        self.line("end");
        loose
    }

    /// Draws a body; `exits` gathers the arrows out of the loop around it.
    fn body<S: State>(
        &mut self,
        nodes: &[Node<S>],
        mut loose: Vec<Loose>,
        exits: &mut Vec<Loose>,
    ) -> Vec<Loose> {
        for node in nodes {
            loose = self.node(node, loose, exits);
        }
        loose
    }

    fn node<S: State>(&mut self, node: &Node<S>, loose: Vec<Loose>, exits: &mut Vec<Loose>) -> Vec<Loose> {
        match node {
            Node::Step { step, undo, .. } => {
                let id = self.shape("[", step.name(), "]");
                self.connect(&loose, id);
                if let Some(undo) = undo {
                    let undo = self.shape("[/", undo.step.name(), "/]");
                    self.line(&format!("n{id} -.->|\"undone by\"| n{undo}"));
                }
                vec![Loose::plain(id)]
            }
            Node::Flow { name, .. } => self.plain("[[", name, "]]", &loose),
            Node::Gate { name, .. } => self.plain("{{", name, "}}", &loose),
            Node::Join { name } => self.plain("((", name, "))", &loose),
            Node::StrayUndo { .. } => loose,
            Node::Exit { name, .. } => {
                let id = self.shape("{", name, "}");
                self.connect(&loose, id);
                exits.push(Loose::labelled(id, "yes"));
                vec![Loose::labelled(id, "no")]
            }
            Node::Loop { name, max, body, .. } => {
                let mut left = Vec::new();
                let mut ends = self.folder(&format!("{name}: at most {max} times"), |drawing| {
                    let head = drawing.shape("((", " ", "))");
                    drawing.connect(&loose, head);
                    let ends = drawing.body(body, vec![Loose::plain(head)], &mut left);
                    let test = drawing.shape("{", "done?", "}");
                    drawing.connect(&ends, test);
                    drawing.connect(&[Loose::labelled(test, "again")], head);
                    vec![Loose::labelled(test, "done, or the cap")]
                });
                ends.extend(left);
                ends
            }
            Node::Branch { name, cases } => {
                let id = self.shape("{", name, "}");
                self.connect(&loose, id);
                let mut ends = Vec::new();
                for case in cases {
                    ends.extend(self.body(&case.body, vec![Loose::labelled(id, &case.name)], exits));
                }
                if cases.iter().all(|case| case.when.is_some()) {
                    ends.push(Loose::labelled(id, "none of these"));
                }
                ends
            }
            Node::Fork { name, paths } => {
                let id = self.shape("((", name, "))");
                self.connect(&loose, id);
                let mut ends = Vec::new();
                for (path, body) in paths {
                    ends.extend(self.body(body, vec![Loose::labelled(id, path)], &mut Vec::new()));
                }
                ends
            }
        }
    }

    fn plain(&mut self, open: &str, label: &str, close: &str, loose: &[Loose]) -> Vec<Loose> {
        let id = self.shape(open, label, close);
        self.connect(loose, id);
        vec![Loose::plain(id)]
    }
}

/// Mermaid takes entities in quoted text.
fn quoted(label: &str) -> String {
    label.replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;")
}
