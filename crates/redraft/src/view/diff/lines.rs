//! The lines of both texts, out of the pieces of a diff.

use super::{Change, Line, Piece};

/// Lines as they grow out of pieces.
#[derive(Default)]
pub(super) struct Lines {
    done: Vec<Line>,
    removed: Vec<Line>,
    added: Vec<Line>,
    old: Vec<Piece>,
    new: Vec<Piece>,
}

impl Lines {
    pub(super) fn push(&mut self, change: Change, text: &str) {
        let piece = || Piece { change, text: text.to_owned() };
        let ends = text.ends_with('\n');
        if change != Change::Added {
            self.old.push(piece());
            if ends && change == Change::Removed {
                self.end_old();
            }
        }
        if change != Change::Removed {
            self.new.push(piece());
            if ends && change == Change::Added {
                self.end_new();
            }
        }
        if ends && change == Change::Same {
            self.meet();
        }
    }

    fn end_old(&mut self) {
        if !self.old.is_empty() {
            self.removed.push(Line { change: Change::Removed, pieces: std::mem::take(&mut self.old) });
        }
    }

    fn end_new(&mut self) {
        if !self.new.is_empty() {
            self.added.push(Line { change: Change::Added, pieces: std::mem::take(&mut self.new) });
        }
    }

    /// Both texts end a line here: if it is the same one it is written once.
    fn meet(&mut self) {
        let is_same = self.old == self.new && self.old.iter().all(|piece| piece.change == Change::Same);
        if !is_same {
            self.end_old();
            self.end_new();
        }
        self.done.append(&mut self.removed);
        self.done.append(&mut self.added);
        self.new.truncate(if is_same { 0 } else { self.new.len() });
        let pieces = std::mem::take(&mut self.old);
        if !pieces.is_empty() {
            self.done.push(Line { change: Change::Same, pieces });
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line> {
        self.meet();
        self.done
    }
}
