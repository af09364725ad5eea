//! Making a draft better.
//!
//! Start reading in [`edits`]: a revision that changes only what it names. [`sections`] makes single parts of a draft
//! anew, and [`likeness`] tells whether two drafts say the same. These three are pure: text in, text out.

pub mod edits;
pub mod likeness;
pub mod sections;
