//! What is known: headers without the digits of their opaque, and their answers. The server decides what is
//! learned and forgotten, and bounds it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A header that begins so is a bug, in tests.
#[cfg(test)]
pub const PANICS: &[u8] = b"{\"panics\":1,";

/// An answer without its opaque, shared by all headers that get it.
struct Entry {
    content: Arc<[u8]>,
    counter: usize,
}

/// Header without the digits of its opaque -> answer; and how often each counter's headers were asked for.
#[derive(Default)]
pub struct Store {
    head: Vec<u8>,
    tail: Vec<u8>,
    entries: HashMap<Box<[u8]>, Entry>,
    bodies: HashSet<Arc<[u8]>>,
    counts: Vec<AtomicU64>,
}

impl Store {
    /// Make one whose answers have these bytes around the opaque.
    pub fn new(head: &[u8], tail: &[u8]) -> Self {
        Store { head: head.to_vec(), tail: tail.to_vec(), ..Store::default() }
    }

    /// How many headers are known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Append the whole answer to `out` and count the request; return whether it is known.
    ///
    /// `key` is room for the header without the digits.
    pub fn answer(
        &self,
        key: &mut Vec<u8>,
        before: &[u8],
        digits: &[u8],
        after: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        #[cfg(test)]
        assert!(!before.starts_with(PANICS), "as a bug would");
        key.clear();
        key.extend_from_slice(before);
        key.extend_from_slice(after);
        let Some(entry) = self.entries.get(key.as_slice()) else {
            return false;
        };
        let header = self.head.len() + digits.len() + self.tail.len();
        out.reserve(8 + header + entry.content.len());
        out.extend_from_slice(&((4 + header + entry.content.len()) as u32).to_be_bytes());
        out.extend_from_slice(&(header as u32).to_be_bytes());
        out.extend_from_slice(&self.head);
        out.extend_from_slice(digits);
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(&entry.content);
        if let Some(count) = self.counts.get(entry.counter) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Remember an answer's body by the header without the digits of its opaque.
    pub fn learn(&mut self, key: &[u8], counter: usize, body: &[u8]) {
        let content = match self.bodies.get(body) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<[u8]> = body.into();
                self.bodies.insert(Arc::clone(&new));
                new
            }
        };
        if self.counts.len() <= counter {
            self.counts.resize_with(counter + 1, AtomicU64::default);
        }
        self.entries.insert(key.into(), Entry { content, counter });
    }

    /// Forget a header; its body goes with the last one that has it.
    pub fn forget(&mut self, key: &[u8]) {
        if let Some(entry) = self.entries.remove(key) {
            if Arc::strong_count(&entry.content) == 2 {
                self.bodies.remove(&entry.content);
            }
        }
    }

    /// Forget every header.
    pub fn forget_all(&mut self) {
        self.entries = HashMap::new();
        self.bodies = HashSet::new();
    }

    /// Return (counter, requests) where there were some since the last call.
    pub fn take_counts(&self) -> Vec<(usize, u64)> {
        let counts = self.counts.iter().map(|count| count.swap(0, Ordering::Relaxed));
        counts.enumerate().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(store: &Store, before: &[u8], digits: &[u8], after: &[u8], out: &mut Vec<u8>) -> bool {
        store.answer(&mut Vec::new(), before, digits, after, out)
    }

    fn store() -> Store {
        let mut store = Store::new(b"<", b">");
        store.learn(b"ab", 1, b"body");
        store
    }

    #[test]
    fn an_answer_is_framed_around_the_digits() {
        let mut out = b"before".to_vec();
        assert!(answer(&store(), b"a", b"42", b"b", &mut out));
        assert_eq!(out, b"before\0\0\0\x0c\0\0\0\x04<42>body");
    }

    #[test]
    fn what_is_not_known_adds_nothing() {
        let mut out = Vec::new();
        assert!(!answer(&store(), b"a", b"42", b"c", &mut out));
        assert!(out.is_empty());
    }

    #[test]
    fn what_was_forgotten_is_not_known_and_takes_no_room() {
        let mut store = store();
        store.learn(b"cd", 1, b"body");
        store.forget(b"ab");
        assert!(!answer(&store, b"a", b"1", b"b", &mut Vec::new()));
        assert!(answer(&store, b"c", b"1", b"d", &mut Vec::new()));
        store.forget(b"cd");
        assert!(store.is_empty() && store.bodies.is_empty());
        store.learn(b"ab", 1, b"body");
        store.forget_all();
        assert!(store.is_empty() && store.bodies.is_empty());
    }

    #[test]
    fn requests_are_counted_once() {
        let store = store();
        for _ in 0..3 {
            answer(&store, b"a", b"42", b"b", &mut Vec::new());
        }
        assert_eq!(store.take_counts(), [(1, 3)]);
        assert_eq!(store.take_counts(), []);
    }
}
