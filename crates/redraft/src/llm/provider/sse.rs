//! Server-sent events, as far as models use them: lines of `data:`, ended by an empty line.

/// Cuts a stream of bytes into the data of its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// A line whose end has not come yet.
    line: Vec<u8>,
    data: String,
}

impl Events {
    /// Takes the next bytes and returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&line));
            } else {
                self.line.push(*byte);
            }
        }
        events
    }

    fn end_line(&mut self, line: &[u8]) -> Option<String> {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        if line.is_empty() {
            return (!self.data.is_empty()).then(|| std::mem::take(&mut self.data));
        }
        // Other fields say what `data` says too, and comments keep connections open.
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream = "event: a\ndata: {\"x\":\"ä\"}\n\n: ping\n\ndata: one\r\ndata: two\r\n\r\ndata:[DONE]\n\ndata: lost";
        let wanted = ["{\"x\":\"ä\"}", "one\ntwo", "[DONE]"];
        for size in 1..stream.len() {
            let mut events = Events::default();
            let found: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|bytes| events.feed(bytes)).collect();
            assert_eq!(found, wanted, "cut into {size} bytes");
        }
    }
}
