//! A provider on loopback that speaks OpenAI's language, and counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::program::Folder;

/// What the server does with a request.
pub(crate) enum Reply {
    Says(String),
    Fails(u16),
    /// Never answers.
    Holds,
}

pub(crate) struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
    arrivals: Receiver<usize>,
}

impl Server {
    /// Answers each request by its number, counted from 1.
    pub(crate) fn new(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (arrived, arrivals) = channel();
        let (known, reply) = (Arc::clone(&asked), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (known, reply, arrived) = (Arc::clone(&known), Arc::clone(&reply), arrived.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &known, &*reply, &arrived));
            }
        });
        Self { port, asked, arrivals }
    }

    /// A folder whose commands find this server where OpenAI should be.
    pub(crate) fn folder(&self) -> Folder {
        Folder::new()
            .with("OPENAI_API_KEY", "sk-test")
            .with("OPENAI_BASE_URL", &format!("http://127.0.0.1:{}/v1", self.port))
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns what it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until request number `n` is there.
    pub(crate) fn wait_for(&self, n: usize) {
        while self.arrivals.recv().unwrap() < n {}
    }
}

fn serve(
    stream: TcpStream,
    asked: &Mutex<Vec<Value>>,
    reply: &dyn Fn(usize) -> Reply,
    arrived: &Sender<usize>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let n = {
        let mut asked = asked.lock().unwrap();
        asked.push(serde_json::from_slice(&body).unwrap());
        asked.len()
    };
    let (status, body) = match reply(n) {
        Reply::Says(text) => (200, said(&text)),
        Reply::Fails(status) => (status, json!({ "error": { "message": "no" } })),
        Reply::Holds => {
            let _ = arrived.send(n);
            // Until the other side hangs up.
            let _ = reader.read(&mut [0; 1]);
            return;
        }
    };
    let body = body.to_string();
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = arrived.send(n);
}

fn said(text: &str) -> Value {
    json!({
        "id": "x",
        "object": "chat.completion",
        "model": "gpt-5-mini",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text },
            "finish_reason": "stop",
        }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150 },
    })
}

/// A spec whose drafts come from the server and are never good enough before the last.
pub(crate) const COUNTED: &str = "
name: counted
draft: { model: 'openai:gpt-5-mini', prompt: Count. }
verify:
  - { name: last, text: { contains: draft number 5 } }
limits: { iterations: 5, plateau: { rounds: 9 } }
";
