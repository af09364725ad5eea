//! When no verdict can be given: which failure is passed on.
//!
//! A model that cannot be brought to a usable answer is `no-verdict`. Whatever else went wrong (the provider, the
//! budget, a cancelled run) stays what it is, so that whoever reads it knows what to do.

use crate::failure::Failure;

/// The code of a failure that says: it was judged, and no verdict came of it.
const NO_VERDICT: &str = "no-verdict";

/// Turns the failure of a question to a model into that of a verifier.
pub(super) fn no_verdict(failure: Failure) -> Failure {
    if failure.code != "model-malformed" {
        return failure;
    }
    let faults = failure.detail.as_ref().and_then(|detail| detail.get("faults")).cloned();
    let message = format!("no verdict could be had: {}", failure.message);
    let undecided = Failure::terminal("no-verdict", message)
        .with_hint("ask another model, or resume to ask again: redraft resume RUN")
        .because(&failure);
    match faults {
        Some(faults) => undecided.with_detail(serde_json::json!({ "faults": faults })),
        None => undecided,
    }
}

/// Makes one failure of those of several opinions, too few of which could be had: the one that says most about what to
/// do, with the places of all.
pub(super) fn undecided(message: String, failures: &[Failure]) -> Failure {
    let rank = |failure: &Failure| match failure.code.as_str() {
        Failure::CANCELLED => 0,
        "budget-spent" => 1,
        NO_VERDICT => 3,
        _ => 2,
    };
    // The first of several is taken, so that a replay takes the same.
    let cause = failures.iter().min_by_key(|failure| rank(failure));
    match cause.filter(|cause| cause.code != NO_VERDICT) {
        Some(cause) => {
            let others = failures.iter().filter(|failure| !std::ptr::eq(*failure, cause));
            others.fold(cause.clone(), Failure::because)
        }
        None => {
            let undecided = Failure::terminal("no-verdict", message)
                .with_hint("ask another model, or resume to ask again: redraft resume RUN");
            failures.iter().fold(undecided, Failure::because)
        }
    }
}

/// Gives the failure that says that the run was cancelled, if there is one: nothing is decided without those who were
/// stopped.
pub(super) fn cancelled(failures: &[Failure]) -> Option<Failure> {
    failures.iter().find(|failure| failure.is_cancelled()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_that_says_what_to_do_is_passed_on() {
        let failure = |code: &str| Failure { code: code.to_owned(), ..Failure::from("") };
        let cases = [
            (&["no-verdict", "no-verdict"][..], "no-verdict"),
            (&["no-verdict", "model-network"], "model-network"),
            (&["model-network", "budget-spent"], "budget-spent"),
            (&["budget-spent", "cancelled", "no-verdict"], "cancelled"),
        ];
        for (codes, wanted) in cases {
            let failures: Vec<Failure> = codes.iter().map(|code| failure(code)).collect();
            assert_eq!(undecided("too few".to_owned(), &failures).code, wanted, "{codes:?}");
        }
    }
}
