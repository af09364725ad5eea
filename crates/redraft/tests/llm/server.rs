//! A fake provider on loopback that says exactly the bytes it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use redraft::llm::provider::{Key, Provider, ProviderModel, Settings};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Must never be seen anywhere but in a request.
pub(crate) const SECRET: &str = "sk-planted-0123456789-secret";

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Answers with a status, headers and a body.
    All { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Promises more than it sends, and closes the connection.
    Part { body: String },
    /// Never answers.
    Nothing,
}

impl Say {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::All { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self::All { status, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::All { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

/// A request that reached the server.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: Value,
}

type Answer = Arc<dyn Fn(&Heard, usize) -> Say + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// Requests that were read and not answered yet.
    now: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    /// Says the same to everybody.
    pub(crate) async fn saying(say: Say) -> Self {
        Self::by(move |_, _| say.clone()).await
    }

    /// Says what depends on the request and on how many came before it.
    pub(crate) async fn by(answer: impl Fn(&Heard, usize) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            heard: Arc::default(),
            now: Arc::default(),
            most_at_once: Arc::default(),
        };
        let (it, answer): (Self, Answer) = (server.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (it, answer) = (it.clone(), Arc::clone(&answer));
                // A client that gives up in the middle is no concern of the server's.
                tokio::spawn(async move { it.serve(stream, &answer).await });
            }
        });
        server
    }

    async fn serve(&self, mut stream: TcpStream, answer: &Answer) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let head_ends = loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..head_ends]).into_owned();
        let length = head
            .lines()
            .find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            })
            .unwrap_or(0);
        while bytes.len() < head_ends + length {
            stream.read_buf(&mut bytes).await?;
        }
        let body = serde_json::from_slice(&bytes[head_ends..]).unwrap_or_default();
        let heard = Heard { head, body };
        let before = {
            let mut all = self.heard.lock().unwrap();
            all.push(heard.clone());
            all.len() - 1
        };
        let at_once = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        // Others get a turn, so that requests can pile up.
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        // Before the answer is sent: once the client has it, it may begin the next.
        self.now.fetch_sub(1, Ordering::SeqCst);
        match answer(&heard, before) {
            Say::All { status, headers, body } => {
                let headers: String =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
                );
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                stream.shutdown().await
            }
            Say::Part { body } => {
                let head = format!("HTTP/1.1 200 Said\r\ncontent-length: {}\r\n\r\n", body.len() + 100);
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(body.as_bytes()).await?;
                stream.shutdown().await
            }
            Say::Nothing => std::future::pending().await,
        }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.base_url = Some(self.address.clone());
        settings.key = Some(Key::new(SECRET));
        settings
    }

    pub(crate) fn model(&self, provider: &str) -> ProviderModel {
        Provider::new(provider, self.settings()).unwrap().model("some-model")
    }
}
