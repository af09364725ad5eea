//! The text of an answer while it is written: whole letters only, and nothing from a stop text on.

/// Bytes come in, text goes out as soon as it is certain.
pub(crate) struct Writing {
    stops: Vec<String>,
    /// What is certain, and has been handed on.
    text: String,
    /// What may still become a stop text.
    held: String,
    /// The beginning of a letter.
    bytes: Vec<u8>,
    stopped: bool,
}

impl Writing {
    pub(crate) fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Self { stops, text: String::new(), held: String::new(), bytes: Vec::new(), stopped: false }
    }

    /// Takes the bytes of a token, and returns the text that has become certain.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> &str {
        self.bytes.extend_from_slice(bytes);
        while !self.bytes.is_empty() {
            match std::str::from_utf8(&self.bytes) {
                Ok(text) => {
                    self.held.push_str(text);
                    self.bytes.clear();
                }
                Err(error) => {
                    let (whole, rest) = self.bytes.split_at(error.valid_up_to());
                    self.held.push_str(&String::from_utf8_lossy(whole));
                    let Some(broken) = error.error_len() else {
                        self.bytes = rest.to_vec();
                        break;
                    };
                    self.held.push(char::REPLACEMENT_CHARACTER);
                    self.bytes = rest.get(broken..).unwrap_or_default().to_vec();
                }
            }
        }
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str())).min() {
            self.held.truncate(at);
            self.stopped = true;
            return self.hand_on(at);
        }
        let kept = self.stops.iter().map(|stop| overlap(&self.held, stop)).max().unwrap_or(0);
        self.hand_on(self.held.len() - kept)
    }

    /// Says whether a stop text was met.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns what was still held back: nothing will follow it.
    pub(crate) fn finish(&mut self) -> &str {
        if !self.bytes.is_empty() && !self.stopped {
            self.held.push(char::REPLACEMENT_CHARACTER);
        }
        self.hand_on(self.held.len())
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn hand_on(&mut self, bytes: usize) -> &str {
        let from = self.text.len();
        self.text.extend(self.held.drain(..bytes));
        self.text.get(from..).unwrap_or_default()
    }
}

/// Returns how many bytes at the end of a text could be the beginning of a stop text.
fn overlap(text: &str, stop: &str) -> usize {
    (1..stop.len())
        .rev()
        .filter(|at| stop.is_char_boundary(*at))
        .find(|at| text.ends_with(&stop[..*at]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(stops: &[&str], tokens: &[&[u8]]) -> (Vec<String>, String, bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut writing = Writing::new(&stops);
        let mut pieces = Vec::new();
        for token in tokens {
            pieces.push(writing.write(token).to_owned());
            if writing.is_stopped() {
                break;
            }
        }
        pieces.push(writing.finish().to_owned());
        pieces.retain(|piece| !piece.is_empty());
        let stopped = writing.is_stopped();
        (pieces, writing.into_text(), stopped)
    }

    #[test]
    fn text_is_handed_on_in_whole_letters_up_to_a_stop_text() {
        type Case<'a> = (&'a [&'a str], &'a [&'a [u8]], &'a [&'a str], bool);
        let cases: &[Case<'_>] = &[
            (&[], &[b"ab", b"c"], &["ab", "c"], false),
            (&[], &["é".as_bytes().split_at(1).0, "é".as_bytes().split_at(1).1], &["é"], false),
            (&[], &[b"a\xFFb"], &["a\u{FFFD}b"], false),
            (&[], &[b"a\xC3"], &["a", "\u{FFFD}"], false),
            (&["END"], &[b"one E", b"N", b"D two"], &["one "], true),
            (&["END"], &[b"one E", b"N", b"one"], &["one ", "ENone"], false),
            (&["b", "ab"], &[b"xab"], &["x"], true),
            (&["END"], &[b"one EN"], &["one ", "EN"], false),
            (&["né"], &[b"n", "ö".as_bytes()], &["nö"], false),
            (&[""], &[b"a"], &["a"], false),
        ];
        for (stops, tokens, pieces, stopped) in cases {
            let (heard, text, did_stop) = written(stops, tokens);
            assert_eq!(&heard, pieces, "{stops:?} {tokens:?}");
            assert_eq!(text, pieces.concat());
            assert_eq!(did_stop, *stopped, "{stops:?} {tokens:?}");
        }
    }
}
