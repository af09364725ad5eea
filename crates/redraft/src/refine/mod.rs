//! Making a draft better.
//!
//! Start reading in [`edits`]: a revision that changes only what it names. [`likeness`] tells whether two drafts say the
//! same. Both are pure: text in, text out.

pub mod edits;
pub mod likeness;
