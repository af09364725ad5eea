//! The drawing is derived from the definition.

use redraft::Question;
use redraft::workflow::{State, Workflow};

use crate::support::{Trace, mark};

#[test]
fn a_workflow_draws_itself() {
    let workflow = Workflow::<Trace>::named("essay")
        .start_with("draft", mark())
        .compensate("shred", mark())
        .repeat_until(
            "refinement",
            5,
            |_| true,
            |body| {
                body.then("critique", mark()).exit_when("good \"enough\"", |_| true).then("refine", mark())
            },
        )
        .branch("route", |ways| ways.when("weak", |_| true, |body| body.then("escalate", mark())))
        .fork("formats", |paths| {
            paths.path("html", |b| b.then("render", mark())).path("md", |b| b.then("print", mark()))
        })
        .join("formatted")
        .gate("approve", |_| Question::new("?"), |_| Trace::update())
        .on_failure(|body| body.then("tell", mark()))
        .finally(|body| body.then("tidy", mark()))
        .build()
        .unwrap();
    let wanted = r#"flowchart TD
    n0(["start"])
    n1["draft"]
    n0 --> n1
    n2[/"shred"/]
    n1 -.->|"undone by"| n2
    subgraph s3["refinement: at most 5 times"]
        n4((" "))
        n1 --> n4
        n5["critique"]
        n4 --> n5
        n6{"good #quot;enough#quot;"}
        n5 --> n6
        n7["refine"]
        n6 -->|"no"| n7
        n8{"done?"}
        n7 --> n8
        n8 -->|"again"| n4
    end
    n9{"route"}
    n8 -->|"done, or the cap"| n9
    n6 -->|"yes"| n9
    n10["escalate"]
    n9 -->|"weak"| n10
    n11(("formats"))
    n10 --> n11
    n9 -->|"none of these"| n11
    n12["render"]
    n11 -->|"html"| n12
    n13["print"]
    n11 -->|"md"| n13
    n14(("formatted"))
    n12 --> n14
    n13 --> n14
    n15{{"approve"}}
    n14 --> n15
    subgraph s16["finally"]
        n17["tidy"]
        n15 --> n17
    end
    n18(["end"])
    n17 --> n18
    n19(["a step failed"])
    subgraph s20["on-failure"]
        n21["tell"]
        n19 --> n21
    end
    n22(["failed"])
    n21 --> n22
"#;
    assert_eq!(workflow.mermaid(), wanted);
}
