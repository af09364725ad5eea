//! Named ways to refine, each a thin composition of the same pieces: criteria, modes, tactics.
//!
//! | protocol | what it adds | source |
//! |---|---|---|
//! | `refine` | nothing: [`Refine`](super::Refine) as it is | Self-Refine (Madaan et al., 2023), with evidence from outside |
//! | [`feedback_loop`] | a drafter and a reviewer who talk, routed by rules | AG2, "Feedback Loop" |
//! | [`chain_of_verification`] | claims are checked by questions that are answered without the draft | Dhuliawala et al., 2023 |
//! | [`self_consistency`] | many answers, the one most give, and no more than needed | Wang et al., 2022; Aggarwal et al., 2023 |
//! | [`reflexion`] | a lesson after every try that failed | Shinn et al., 2023 |
//! | [`thought_revision`] | the reasoning is the draft; its faulty steps are written anew | "chain-of-thought revision" |
//! | [`stepwise`] | the first faulty step is found; what is before it stays for good | `StepCo` (Wu et al., 2024) |
//!
//! To add a protocol: a file here that composes a [`Refine`](super::Refine) or returns a
//! [`Refined`](super::Refined), a line in this table, a keyword in `spec`, and a test with a scripted model that proves
//! the protocol's point.

pub mod chain_of_verification;
pub mod feedback_loop;
pub mod reflexion;
pub mod self_consistency;
pub mod stepwise;
pub mod thought_revision;

mod step_check;
