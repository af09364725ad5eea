//! Every store keeps its promises, and the SQLite one survives what happens to files.

mod conformance;
mod damage;
mod processes;
mod support;
