//! Moving the bytes, and giving what goes wrong its type.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;

use super::limits::Limits;
use super::sse::Events;
use super::wire::{About, Complaint, Draft, Trouble, Wire};
use super::{Key, Known, Settings, SetupError};
use crate::clock::{Clock, SystemClock};
use crate::fingerprint::Fingerprint;
use crate::llm::{Completion, Error, Listener, Request, Usage};

/// How much of a provider's words is kept in an error.
const WORDS: usize = 500;

pub(super) struct Connection {
    known: Known,
    wire: &'static dyn Wire,
    client: Client,
    base: String,
    timeout: Duration,
    max_response: usize,
    key: Option<Key>,
    limits: Limits,
}

/// A call, for errors to speak of.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// `provider:model`
    name: &'a str,
    connection: &'a Connection,
}

impl Connection {
    pub(super) fn new(
        known: Known,
        wire: &'static dyn Wire,
        settings: Settings,
        limits: Limits,
    ) -> Result<Self, SetupError> {
        let unusable =
            |what, reason: String| SetupError::Unusable { provider: known.name.to_owned(), what, reason };
        let base = settings.base_url.as_deref().unwrap_or(known.base_url).trim_end_matches('/').to_owned();
        Url::parse(&base).map_err(|error| unusable("base URL", error.to_string()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in wire.headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = &settings.key {
            let (name, value) = wire.authorization(key);
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| unusable("key", "it holds characters that no header can hold".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let client = tls()
            .map_err(|error| unusable("base URL", error))?
            .default_headers(headers)
            .user_agent(concat!("redraft/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(15))
            // A redirect would carry the key to a place that nobody chose.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| unusable("base URL", error.to_string()))?;
        Ok(Self {
            known,
            wire,
            client,
            base,
            timeout: settings.timeout,
            max_response: settings.max_response,
            key: settings.key,
            limits,
        })
    }

    pub(super) async fn ask(
        &self,
        name: &str,
        model: &str,
        request: &Request,
        listener: &mut dyn Listener,
    ) -> Result<Completion, Error> {
        let asked = Asked { name, connection: self };
        if let (Some(key), false) = (self.known.key_variable, self.key.is_some()) {
            let message = "no key is set".to_owned();
            return Err(Error::Authentication { model: name.to_owned(), message, key });
        }
        let _place = self.limits.wait().await;
        let begun = SystemClock.now();
        let answering = self.exchange(asked, model, request, listener);
        let mut completion = match tokio::time::timeout(self.timeout, answering).await {
            Ok(answered) => answered?,
            Err(_) => return Err(Error::Timeout { model: name.to_owned(), after: self.timeout }),
        };
        let took = SystemClock.now().since(begun);
        completion.latency_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if completion.model.is_empty() {
            completion.model = model.to_owned();
        }
        Ok(completion)
    }

    async fn exchange(
        &self,
        asked: Asked<'_>,
        model: &str,
        request: &Request,
        listener: &mut dyn Listener,
    ) -> Result<Completion, Error> {
        let stream = listener.is_listening();
        let url = format!("{}{}", self.base, self.wire.path(model, stream));
        let body = self.wire.body(model, request, stream).to_string();
        let mut post = self.client.post(url).header("content-type", "application/json").body(body);
        if let (Some(header), Some(key)) = (self.wire.idempotency(), &request.idempotency_key) {
            // A path may have letters that a header may not.
            post = post.header(header, format!("redraft-{}", Fingerprint::of([key.as_bytes()])));
        }
        let sent = post.send().await;
        let response = sent.map_err(|error| asked.network(&error))?;
        let request_id = header(&response, self.wire.request_id());
        if !response.status().is_success() {
            return Err(self.said_no(asked, response).await);
        }
        // Some servers answer as a whole though a stream was asked for.
        let whole =
            header(&response, "content-type").is_some_and(|kind| kind.starts_with("application/json"));
        let draft = if stream && !whole {
            self.listen(asked, response, listener).await?
        } else {
            let body = self.read(asked, response).await?;
            let body: Value =
                serde_json::from_slice(&body).map_err(|error| asked.malformed(&error.to_string(), None))?;
            let draft = self.wire.answer(&body).map_err(|trouble| asked.trouble(trouble))?;
            listener.hear(&draft.text);
            draft
        };
        let usage = draft.usage;
        let mut completion = draft.complete().map_err(|reason| asked.malformed(&reason, Some(usage)))?;
        completion.request_id = request_id;
        Ok(completion)
    }

    /// Reads a whole body, but not more than is allowed.
    async fn read(&self, asked: Asked<'_>, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| asked.broke_off(&error))? {
            self.check_size(asked, body.len() + bytes.len())?;
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    async fn listen(
        &self,
        asked: Asked<'_>,
        mut response: Response,
        listener: &mut dyn Listener,
    ) -> Result<Draft, Error> {
        let mut events = Events::default();
        let mut draft = Draft::default();
        let mut size = 0;
        while let Some(bytes) = response.chunk().await.map_err(|error| asked.broke_off(&error))? {
            size += bytes.len();
            self.check_size(asked, size)?;
            for data in events.feed(&bytes) {
                if data == "[DONE]" {
                    return finished(asked, draft);
                }
                let event: Value =
                    serde_json::from_str(&data).map_err(|error| asked.malformed(&error.to_string(), None))?;
                let told = self.wire.piece(&event, &mut draft).map_err(|trouble| asked.trouble(trouble))?;
                if !told.text.is_empty() {
                    listener.hear(&told.text);
                }
                if told.whole {
                    return finished(asked, draft);
                }
            }
        }
        // The connection was closed properly, but nobody said that this was the end.
        finished(asked, draft)
    }

    fn check_size(&self, asked: Asked<'_>, size: usize) -> Result<(), Error> {
        if size > self.max_response {
            let message = format!("it is larger than {} bytes", self.max_response);
            return Err(asked.malformed(&message, None));
        }
        Ok(())
    }

    /// Gives a response that is not a success its type.
    async fn said_no(&self, asked: Asked<'_>, response: Response) -> Error {
        let status = response.status();
        let mut retry_after = retry_after(response.headers());
        let body = self.read(asked, response).await.unwrap_or_default();
        let complaint = match serde_json::from_slice(&body) {
            Ok(body) => self.wire.complaint(&body),
            Err(_) => {
                Complaint { message: String::from_utf8_lossy(&body).into_owned(), ..Complaint::default() }
            }
        };
        retry_after = retry_after.or(complaint.retry_after_ms.map(Duration::from_millis));
        let model = asked.name.to_owned();
        let message = asked.words(&complaint.message, status);
        match (complaint.about, status.as_u16()) {
            (About::Key, _) | (_, 401 | 403) => {
                Error::Authentication { model, message, key: self.known.key_variable.unwrap_or("a key") }
            }
            (About::Length, _) | (_, 413) => Error::ContextTooLong { model, message },
            (About::Policy, _) => Error::Refused { model, message },
            (_, 404) => Error::NotFound { model, message },
            (_, 429) => Error::RateLimited { model, message, retry_after },
            (_, 408) => Error::Timeout { model, after: self.timeout },
            (_, status) if status >= 500 => Error::Overloaded { model, status, message, retry_after },
            _ => Error::BadRequest { model, message },
        }
    }
}

/// An answer without an end is none.
fn finished(asked: Asked<'_>, draft: Draft) -> Result<Draft, Error> {
    if draft.finish.is_some() {
        return Ok(draft);
    }
    let message = format!("after {} characters", draft.text.chars().count());
    Err(Error::Truncated { model: asked.name.to_owned(), message })
}

impl Asked<'_> {
    fn malformed(self, message: &str, usage: Option<Usage>) -> Error {
        Error::Malformed { model: self.name.to_owned(), message: self.clean(message), usage }
    }

    fn trouble(self, trouble: Trouble) -> Error {
        let model = self.name.to_owned();
        match trouble {
            Trouble::Refused(message) => Error::Refused { model, message: self.clean(&message) },
            Trouble::Malformed(message) => self.malformed(&message, None),
            Trouble::Broken(message) => Error::Overloaded {
                model,
                status: StatusCode::OK.as_u16(),
                message: self.clean(&message),
                retry_after: None,
            },
        }
    }

    fn words(self, message: &str, status: StatusCode) -> String {
        if message.trim().is_empty() {
            format!("status {}", status.as_u16())
        } else {
            self.clean(message.trim())
        }
    }

    /// Shortens somebody else's words, and takes our key out of them: some services say which one they did not like.
    fn clean(self, message: &str) -> String {
        let message = match &self.connection.key {
            Some(key) if !key.0.is_empty() => message.replace(&*key.0, "…"),
            _ => message.to_owned(),
        };
        match message.char_indices().nth(WORDS) {
            Some((at, _)) => format!("{}…", message.get(..at).unwrap_or_default()),
            None => message,
        }
    }

    fn network(self, error: &reqwest::Error) -> Error {
        if error.is_timeout() {
            return Error::Timeout { model: self.name.to_owned(), after: self.connection.timeout };
        }
        Error::Network { model: self.name.to_owned(), message: self.clean(&root_of(error)) }
    }

    fn broke_off(self, error: &reqwest::Error) -> Error {
        if error.is_timeout() {
            return self.network(error);
        }
        Error::Truncated { model: self.name.to_owned(), message: self.clean(&root_of(error)) }
    }
}

/// The innermost cause: the outer ones repeat the address, and an address may hold a secret.
fn root_of(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, error) { "the request failed".to_owned() } else { cause.to_string() }
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// When a provider wants to be asked again: in milliseconds, in seconds, or at a time.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let word = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    if let Some(millis) = word("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = word("retry-after")?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(after).ok()?;
    Some(crate::clock::Timestamp::from_millis(at.as_millisecond()).since(SystemClock.now()))
}

/// TLS with a provider of our own choice: the process-wide one belongs to the program, not to a library.
fn tls() -> Result<reqwest::ClientBuilder, String> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| error.to_string())?
        .with_no_client_auth();
    Ok(Client::builder().tls_backend_preconfigured(config))
}
