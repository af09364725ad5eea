//! A finished text in the forms that people want it in, made side by side.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::Failure;
use crate::llm::{Model, Prompts, say};
use crate::run::{Ctx, Step};

/// A form of a text.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// The text as it is.
    Markdown,
    /// A fragment of HTML. What looks like HTML in the text is shown and not obeyed.
    Html,
    /// Two or three sentences, by a model.
    Summary,
}

impl Format {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Summary => "summary",
        }
    }
}

/// Puts a Markdown text into other forms, all at the same time.
///
/// # Errors
/// Gives the failure of the model that summarises.
pub async fn in_formats(
    ctx: &Ctx,
    text: &str,
    formats: &[Format],
    model: &dyn Model,
    prompts: &Prompts,
) -> Result<BTreeMap<Format, String>, Failure> {
    let made = ctx
        .try_parallel("formats", formats.iter().copied(), formats.len().max(1), |ctx, format| async move {
            let made = match format {
                Format::Markdown => text.to_owned(),
                Format::Html => {
                    let step = Step::named(format.as_str()).input(&text);
                    ctx.step(step, || async { Ok::<_, Failure>(html(text)) }).await?
                }
                Format::Summary => {
                    let request = prompts.render("summary", json!({ "text": text }))?.into();
                    say(&ctx, format.as_str(), model, &request).await?.text.trim().to_owned()
                }
            };
            Ok((format, made))
        })
        .await?;
    Ok(made.into_iter().collect())
}

/// Drafts come from models and are not to be trusted: HTML in them becomes text, and links lead only where links may.
fn html(markdown: &str) -> String {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let safe = events.map(|event| match event {
        Event::Html(words) | Event::InlineHtml(words) => Event::Text(words),
        Event::Start(tag) => Event::Start(harmless(tag)),
        other => other,
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, safe);
    html
}

fn harmless(tag: pulldown_cmark::Tag<'_>) -> pulldown_cmark::Tag<'_> {
    use pulldown_cmark::Tag::{Image, Link};
    let safe = |url: &str| ["http://", "https://", "mailto:", "#"].iter().any(|start| url.starts_with(start));
    match tag {
        Link { link_type, dest_url, title, id } if !safe(&dest_url) => {
            Link { link_type, dest_url: "#".into(), title, id }
        }
        // A picture from elsewhere tells that server who reads this.
        Image { link_type, title, id, .. } => Image { link_type, dest_url: "".into(), title, id },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn what_a_draft_says_is_shown_and_not_obeyed() {
        let cases = [
            ("# Tides\n\n*high*", "<h1>Tides</h1>\n<p><em>high</em></p>\n"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p><a href=\"#\">x</a></p>\n"),
            ("![x](https://spy.example/p.png)", "<p><img src=\"\" alt=\"x\" /></p>\n"),
        ];
        for (markdown, wanted) in cases {
            assert_eq!(html(markdown), wanted, "{markdown}");
        }
    }
}
