//! What is known: the answers of topics. The server decides what is learned and forgotten, and bounds it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use crate::header::LookUp;

/// A topic whose look-up is a bug, in tests.
#[cfg(test)]
pub const PANICS: &str = "panics";

/// Of an opaque.
const MAX_DIGITS: usize = 10;
/// So many bodies are freed each time that something is learned or forgotten.
const BODIES_FREED: usize = 4;

struct Entry {
    /// An answer's body, shared by all topics that have it.
    content: Arc<[u8]>,
    counter: usize,
    /// Whether it was asked for since it was learned.
    is_asked: AtomicBool,
}

/// Topic -> answer, in both forms; and how often each counter's topics were asked for.
#[derive(Default)]
pub struct Store {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// For clients before 4.9.4, and in standard JSON.
    forms: [HashMap<Box<str>, Entry>; 2],
    bodies: HashSet<Arc<[u8]>>,
    /// Those of topics that were forgotten, once for each: all topics of a broker are forgotten while look-ups wait.
    dropped: Vec<Arc<[u8]>>,
    counts: Vec<AtomicU64>,
    /// Whether nothing is answered, because not all that is wrong is forgotten yet.
    is_paused: bool,
}

impl Store {
    /// Make one whose answers have these bytes around the opaque.
    pub fn new(head: &[u8], tail: &[u8]) -> Self {
        Store { head: head.to_vec(), tail: tail.to_vec(), ..Store::default() }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.forms.iter().all(HashMap::is_empty)
    }

    /// Append the whole answer to `out` and count the request; return whether it is known.
    pub fn answer(&self, look_up: &LookUp, out: &mut Vec<u8>) -> bool {
        #[cfg(test)]
        assert!(look_up.topic != PANICS, "as a bug would");
        if self.is_paused {
            return false;
        }
        let Some(entry) = self.forms[usize::from(look_up.standard)].get(look_up.topic) else {
            return false;
        };
        let mut digits = [0; MAX_DIGITS];
        let digits = decimal(look_up.opaque, &mut digits);
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
        if !entry.is_asked.load(Ordering::Relaxed) {
            entry.is_asked.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Answer nothing, or what is known again.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Remember the body of a topic's answer in one form, and count look-ups of it under a number.
    pub fn learn(&mut self, topic: &str, standard: bool, counter: usize, body: &[u8]) {
        self.remove(topic, standard);
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
        let entry = Entry { content, counter, is_asked: AtomicBool::new(false) };
        self.forms[usize::from(standard)].insert(topic.into(), entry);
        self.free_dropped();
    }

    /// Forget topics in both forms; return for each whether one was asked for since it was learned.
    pub fn forget<T: AsRef<str>>(&mut self, topics: &[T]) -> Vec<bool> {
        let asked =
            topics.iter().map(|topic| self.remove(topic.as_ref(), false) | self.remove(topic.as_ref(), true));
        let asked = asked.collect();
        self.free_dropped();
        asked
    }

    /// Forget a topic in one form.
    fn remove(&mut self, topic: &str, standard: bool) -> bool {
        let Some(entry) = self.forms[usize::from(standard)].remove(topic) else {
            return false;
        };
        self.dropped.push(entry.content);
        entry.is_asked.into_inner()
    }

    /// Free some bodies; each goes with the last topic that has it.
    fn free_dropped(&mut self) {
        for content in self.dropped.drain(self.dropped.len().saturating_sub(BODIES_FREED)..) {
            if Arc::strong_count(&content) == 2 {
                self.bodies.remove(&content);
            }
        }
    }

    /// Forget every topic.
    pub fn forget_all(&mut self) {
        self.forms = Default::default();
        self.bodies = HashSet::new();
        self.dropped = Vec::new();
    }

    /// Return (counter, requests) where there were some since the last call.
    pub fn take_counts(&self) -> Vec<(usize, u64)> {
        let counts = self.counts.iter().map(|count| count.swap(0, Ordering::Relaxed));
        counts.enumerate().filter(|(_, count)| *count > 0).collect()
    }
}

/// A number as an encoder writes it.
fn decimal(mut number: u32, digits: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut at = MAX_DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(store: &Store, topic: &str, standard: bool, opaque: u32) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        store.answer(&LookUp { topic, standard, opaque }, &mut out).then_some(out)
    }

    #[test]
    fn an_opaque_is_written_as_it_was_read() {
        for number in [1, 9, 10, 42, 999_999_999, 2_147_483_647, u32::MAX] {
            assert_eq!(decimal(number, &mut [0; MAX_DIGITS]), number.to_string().as_bytes());
        }
    }

    fn store() -> Store {
        let mut store = Store::new(b"<", b">");
        store.learn("T", true, 1, b"body");
        store
    }

    #[test]
    fn an_answer_is_framed_around_the_digits() {
        let mut out = b"before".to_vec();
        assert!(store().answer(&LookUp { topic: "T", standard: true, opaque: 42 }, &mut out));
        assert_eq!(out, b"before\0\0\0\x0c\0\0\0\x04<42>body");
    }

    #[test]
    fn what_is_not_known_adds_nothing() {
        let mut out = b"before".to_vec();
        assert!(!store().answer(&LookUp { topic: "U", standard: true, opaque: 42 }, &mut out));
        assert_eq!(out, b"before");
    }

    #[test]
    fn each_form_has_its_own_answer() {
        let mut store = store();
        assert_eq!(answer(&store, "T", false, 1), None);
        store.learn("T", false, 1, b"other");
        assert!(answer(&store, "T", false, 1).unwrap().ends_with(b">other"));
        assert!(answer(&store, "T", true, 1).unwrap().ends_with(b">body"));
    }

    #[test]
    fn what_was_forgotten_is_not_known_and_takes_no_room() {
        let mut store = store();
        store.learn("U", true, 1, b"body");
        store.forget(&["T"]);
        assert_eq!(answer(&store, "T", true, 1), None);
        assert!(answer(&store, "U", true, 1).is_some());
        store.forget(&["U"]);
        assert!(store.is_empty() && store.bodies.is_empty());
        store.learn("T", true, 1, b"body");
        store.forget_all();
        assert!(store.is_empty() && store.bodies.is_empty());
    }

    #[test]
    fn what_is_learned_again_takes_the_place_of_what_was_known() {
        let mut store = store();
        store.learn("T", true, 1, b"new");
        assert!(answer(&store, "T", true, 1).unwrap().ends_with(b">new"));
        assert_eq!(store.bodies.len(), 1);
    }

    #[test]
    fn who_forgets_hears_what_was_asked_for() {
        let mut store = store();
        store.learn("T", false, 1, b"body");
        assert_eq!(store.forget(&["T"]), [false]);
        store.learn("T", false, 1, b"body");
        store.learn("T", true, 1, b"body");
        store.learn("U", true, 1, b"body");
        answer(&store, "T", true, 1);
        assert_eq!(store.forget(&["U", "T"]), [false, true]);
        assert_eq!(store.forget(&["T"]), [false]);
    }

    #[test]
    fn a_topic_is_forgotten_in_both_forms() {
        let mut store = store();
        store.learn("T", false, 1, b"old");
        assert_eq!(answer(&store, "T", false, 1).unwrap(), b"\0\0\0\x0a\0\0\0\x03<1>old");
        store.forget(&["T"]);
        assert!(store.is_empty());
    }

    #[test]
    fn bodies_of_many_topics_that_are_forgotten_at_once_are_freed_as_others_are_learned() {
        let topics: Vec<String> = (0..10 * BODIES_FREED).map(|number| format!("T{number}")).collect();
        let mut store = Store::new(b"<", b">");
        for version in 0..5 {
            for topic in &topics {
                let body = format!("{topic} {version}");
                store.learn(topic, true, 1, body.as_bytes());
                assert!(answer(&store, topic, true, 1).unwrap().ends_with(body.as_bytes()));
            }
            assert_eq!(store.bodies.len(), topics.len());
            assert_eq!(store.forget(&topics), vec![true; topics.len()]);
            assert_eq!(answer(&store, &topics[0], true, 1), None);
        }
    }

    #[test]
    fn while_paused_nothing_is_answered_and_all_else_goes_on() {
        let mut store = store();
        store.pause(true);
        store.learn("U", true, 1, b"body");
        assert_eq!(answer(&store, "T", true, 1), None);
        assert_eq!(answer(&store, "U", true, 1), None);
        assert_eq!(store.forget(&["T"]), [false]);
        store.pause(false);
        assert_eq!(answer(&store, "T", true, 1), None);
        assert!(answer(&store, "U", true, 1).is_some());
    }

    #[test]
    fn requests_are_counted_once() {
        let store = store();
        for _ in 0..3 {
            answer(&store, "T", true, 42);
        }
        assert_eq!(store.take_counts(), [(1, 3)]);
        assert_eq!(store.take_counts(), []);
    }
}
