//! Sockets that are lent by the server, served by one thread as long as they ask for what is known.
//!
//! Anything else gives a socket back with the bytes that were read and those that could not be written: a
//! request that is not known, a body, a broken frame, a peer that does not read, the end of the stream.
//! The server keeps the socket open meanwhile, reads and writes it only while it is not lent, and decides all
//! that is not a matter of course: limits, idleness, failures, closing.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

use crate::frames::{Next, Scanner};
use crate::store::Store;

const WAKE: Token = Token(usize::MAX);
const EVENTS_AT_ONCE: usize = 64;
/// What is read from one connection before the others have their turn.
const READ_BYTES: usize = 16 * 1024;
/// Answers that are made before they are written, beside the one that goes over it.
const WRITE_BYTES: usize = 256 * 1024;

/// A socket that is the server's again.
#[derive(Debug, Default)]
pub struct Returned {
    pub id: usize,
    /// Bytes that were read and not served.
    pub unread: Vec<u8>,
    /// Answers that were counted and not written.
    pub unsent: Vec<u8>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Whether this thread failed while it served the connection, which must be closed.
    pub is_broken: bool,
}

struct Connection {
    stream: TcpStream,
    /// The begin of a frame that is not whole yet.
    partial: Vec<u8>,
    bytes_in: u64,
    bytes_out: u64,
    has_moved: bool,
}

/// Why serving a connection stops for now.
enum Served {
    /// All that was there is answered; more may be there already.
    More,
    Idle,
    Returned {
        unread: Vec<u8>,
        unsent: Vec<u8>,
    },
}

struct State {
    store: Store,
    connections: HashMap<usize, Connection>,
    returned: Vec<Returned>,
    panics: u64,
    is_stopping: bool,
}

struct Shared {
    state: Mutex<State>,
    registry: Registry,
    /// Says that `returned` is not empty any more.
    notice: UnixStream,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take a connection out of this thread's hands; its descriptor here is closed.
    fn take(&self, state: &mut State, id: usize) -> Option<Returned> {
        let mut connection = state.connections.remove(&id)?;
        // The socket goes on in the server: a failure to leave this poll can't be told apart from success.
        let _ = self.registry.deregister(&mut connection.stream);
        Some(Returned {
            id,
            unread: connection.partial,
            bytes_in: connection.bytes_in,
            bytes_out: connection.bytes_out,
            ..Returned::default()
        })
    }

    fn give_back(&self, state: &mut State, returned: Returned) {
        state.returned.push(returned);
        if state.returned.len() == 1 {
            // Full means that an earlier notice was not read yet: one is enough.
            let _ = (&self.notice).write(&[1]);
        }
    }
}

/// The front: what the server calls. Every call returns when it has taken effect.
pub struct Front {
    shared: Arc<Shared>,
    waker: Waker,
    notices: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Front {
    /// Start the thread. `head` and `tail` are the bytes of a successful answer's header around its opaque.
    pub fn start(head: &[u8], tail: &[u8]) -> io::Result<Self> {
        let poll = Poll::new()?;
        let (notice, notices) = UnixStream::pair()?;
        notice.set_nonblocking(true)?;
        notices.set_nonblocking(true)?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let state = State {
            store: Store::new(head, tail),
            connections: HashMap::new(),
            returned: Vec::new(),
            panics: 0,
            is_stopping: false,
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), registry: poll.registry().try_clone()?, notice });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("namekeeper-front".into())
            .spawn(move || Worker::new(for_thread).run(poll))?;
        Ok(Front { shared, waker, notices, thread: Mutex::new(Some(thread)) })
    }

    /// Becomes readable when `take_returned` has something.
    pub fn notices(&self) -> &UnixStream {
        &self.notices
    }

    /// Serve a socket, which must not block, until it is returned.
    pub fn lend(&self, id: usize, descriptor: OwnedFd) -> io::Result<()> {
        let mut stream = TcpStream::from_std(std::net::TcpStream::from(descriptor));
        let mut state = self.shared.lock();
        self.shared.registry.register(&mut stream, Token(id), Interest::READABLE)?;
        let connection =
            Connection { stream, partial: Vec::new(), bytes_in: 0, bytes_out: 0, has_moved: false };
        state.connections.insert(id, connection);
        Ok(())
    }

    /// End a loan now; None if the socket is not lent.
    pub fn take_back(&self, id: usize) -> Option<Returned> {
        let mut state = self.shared.lock();
        if let Some(at) = state.returned.iter().position(|returned| returned.id == id) {
            return Some(state.returned.swap_remove(at));
        }
        self.shared.take(&mut state, id)
    }

    /// Sockets that were returned since the last call.
    pub fn take_returned(&self) -> Vec<Returned> {
        let mut notices = [0; 64];
        while matches!((&self.notices).read(&mut notices), Ok(64)) {}
        std::mem::take(&mut self.shared.lock().returned)
    }

    /// Which lent sockets had bytes in or out since the last call, with the bytes since they were lent.
    pub fn take_moved(&self) -> Vec<(usize, u64, u64)> {
        let mut state = self.shared.lock();
        let moved = state.connections.iter_mut().filter(|(_, connection)| connection.has_moved);
        moved
            .map(|(id, connection)| {
                connection.has_moved = false;
                (*id, connection.bytes_in, connection.bytes_out)
            })
            .collect()
    }

    /// Do something with what is known.
    pub fn with_store<R>(&self, act: impl FnOnce(&mut Store) -> R) -> R {
        act(&mut self.shared.lock().store)
    }

    /// How many sockets are lent.
    pub fn lent(&self) -> usize {
        self.shared.lock().connections.len()
    }

    /// How often the thread failed, each time with one connection.
    pub fn panics(&self) -> u64 {
        self.shared.lock().panics
    }

    /// End the thread; what is lent is returned.
    pub fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        {
            let mut state = self.shared.lock();
            state.is_stopping = true;
            let ids: Vec<usize> = state.connections.keys().copied().collect();
            for id in ids {
                if let Some(returned) = self.shared.take(&mut state, id) {
                    self.shared.give_back(&mut state, returned);
                }
            }
        }
        if self.waker.wake().is_ok() {
            let _ = thread.join();
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Worker {
    shared: Arc<Shared>,
    scanner: Scanner,
    read: Vec<u8>,
    answers: Vec<u8>,
}

impl Worker {
    fn new(shared: Arc<Shared>) -> Self {
        Worker { shared, scanner: Scanner::default(), read: vec![0; READ_BYTES], answers: Vec::new() }
    }

    fn run(mut self, mut poll: Poll) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return self.end(),
                _ => {}
            }
            for event in &events {
                if event.token() != WAKE {
                    self.serve(event.token().0, event.is_read_closed());
                } else if self.shared.lock().is_stopping {
                    return;
                }
            }
        }
    }

    /// The system can't tell of events any more: everything goes back.
    fn end(&self) {
        let mut state = self.shared.lock();
        let ids: Vec<usize> = state.connections.keys().copied().collect();
        for id in ids {
            if let Some(returned) = self.shared.take(&mut state, id) {
                self.shared.give_back(&mut state, returned);
            }
        }
    }

    /// Serve what one connection has. The state is locked meanwhile: what is forgotten is not answered after.
    ///
    /// A peer that closed is told of once, perhaps with the bytes before: then it is looked at again.
    fn serve(&mut self, id: usize, has_closed: bool) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let State { store, connections, .. } = &mut *state;
        let Some(connection) = connections.get_mut(&id) else { return };
        let served = catch_unwind(AssertUnwindSafe(|| self.serve_connection(connection, store)));
        match served {
            Ok(Served::Idle) if !has_closed => {}
            Ok(Served::Idle | Served::More) => {
                // Registered again, it is told of at once if there is more; others have their turn before.
                let again = shared.registry.reregister(&mut connection.stream, Token(id), Interest::READABLE);
                if again.is_err() {
                    self.return_to_server(&mut state, id, Vec::new(), Vec::new(), false);
                }
            }
            Ok(Served::Returned { unread, unsent }) => {
                self.return_to_server(&mut state, id, unread, unsent, false);
            }
            Err(_) => {
                state.panics += 1;
                self.return_to_server(&mut state, id, Vec::new(), Vec::new(), true);
            }
        }
    }

    fn return_to_server(
        &self,
        state: &mut State,
        id: usize,
        unread: Vec<u8>,
        unsent: Vec<u8>,
        is_broken: bool,
    ) {
        if let Some(mut returned) = self.shared.take(state, id) {
            if !unread.is_empty() {
                returned.unread = unread;
            }
            returned.unsent = unsent;
            returned.is_broken = is_broken;
            self.shared.give_back(state, returned);
        }
    }

    fn serve_connection(&mut self, connection: &mut Connection, store: &mut Store) -> Served {
        let size = match connection.stream.read(&mut self.read) {
            Ok(0) => return Served::Returned { unread: Vec::new(), unsent: Vec::new() },
            Ok(size) => size,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Served::Idle,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Served::More,
            Err(_) => return Served::Returned { unread: Vec::new(), unsent: Vec::new() },
        };
        connection.bytes_in += size as u64;
        connection.has_moved = true;
        let read = &self.read[..size];
        let joined;
        let input = if connection.partial.is_empty() {
            read
        } else {
            joined = [std::mem::take(&mut connection.partial).as_slice(), read].concat();
            &joined
        };
        let mut at = 0;
        loop {
            self.answers.clear();
            let is_over = answer_some(&self.scanner, store, input, &mut at, &mut self.answers);
            let sent = send(&mut connection.stream, &self.answers);
            connection.bytes_out += sent as u64;
            if sent < self.answers.len() {
                let unsent = self.answers[sent..].to_vec();
                return Served::Returned { unread: input[at..].to_vec(), unsent };
            }
            match is_over {
                Some(Next::Partial) => {
                    connection.partial.extend_from_slice(&input[at..]);
                    return if size == READ_BYTES { Served::More } else { Served::Idle };
                }
                Some(_) => return Served::Returned { unread: input[at..].to_vec(), unsent: Vec::new() },
                None => {}
            }
        }
    }
}

/// Answer requests from `at` on; return what ends it, or None when there are enough answers to write.
fn answer_some<'a>(
    scanner: &Scanner,
    store: &mut Store,
    input: &'a [u8],
    at: &mut usize,
    answers: &mut Vec<u8>,
) -> Option<Next<'a>> {
    while answers.len() < WRITE_BYTES {
        match scanner.next(&input[*at..]) {
            Next::Request { before, digits, after, size } => {
                if !store.answer(before, digits, after, answers) {
                    return Some(Next::Other);
                }
                *at += size;
            }
            end => return Some(end),
        }
    }
    None
}

/// Write what the kernel takes; a failure shows when the server uses the socket again.
fn send(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    let mut sent = 0;
    while sent < bytes.len() {
        match stream.write(&bytes[sent..]) {
            Ok(0) => break,
            Ok(size) => sent += size,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream as StdStream};
    use std::time::Duration;

    const HEADER: &[u8] = b"{\"opaque\":7,\"x\":1}";
    const KEY: &[u8] = b"{\"x\":1}";

    fn frame(header: &[u8]) -> Vec<u8> {
        let size = header.len() as u32;
        [&(size + 4).to_be_bytes()[..], &size.to_be_bytes()[..], header].concat()
    }

    fn answer(digits: &[u8]) -> Vec<u8> {
        let header = [b"<", digits, b">"].concat();
        let size = header.len() as u32;
        [&(size + 8).to_be_bytes()[..], &size.to_be_bytes()[..], &header, b"body"].concat()
    }

    /// A front that knows one answer, and both ends of a connection of which one is lent to it as 5.
    fn lent() -> (Front, StdStream, StdStream) {
        let front = Front::start(b"<", b">").unwrap();
        front.with_store(|store| store.learn(KEY, 0, b"body"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = StdStream::connect(listener.local_addr().unwrap()).unwrap();
        let (own, _) = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        front.lend(5, own.try_clone().unwrap().into()).unwrap();
        (front, own, peer)
    }

    fn read(peer: &mut StdStream, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        peer.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Wait for the notice, as an event loop does.
    fn returned(front: &Front) -> Returned {
        let notices = front.notices().try_clone().unwrap();
        notices.set_nonblocking(false).unwrap();
        notices.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        (&notices).read_exact(&mut [0]).unwrap();
        notices.set_nonblocking(true).unwrap();
        front.take_returned().pop().unwrap()
    }

    #[test]
    fn known_requests_are_answered_however_they_are_split() {
        let (front, _own, mut peer) = lent();
        let bytes = [frame(HEADER), frame(b"{\"opaque\":12,\"x\":1}")].concat();
        peer.set_nodelay(true).unwrap();
        for split in 0..=bytes.len() {
            peer.write_all(&bytes[..split]).unwrap();
            peer.write_all(&bytes[split..]).unwrap();
            assert_eq!(read(&mut peer, 2 * answer(b"7").len() + 1), [answer(b"7"), answer(b"12")].concat());
        }
        let moved = front.take_moved();
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].1, (bytes.len() * (bytes.len() + 1)) as u64);
        assert!(front.take_moved().is_empty());
    }

    #[test]
    fn what_is_not_known_comes_back_with_all_that_follows_it() {
        let (front, _own, mut peer) = lent();
        let rest = [frame(b"{\"opaque\":7,\"x\":2}"), frame(HEADER)].concat();
        peer.write_all(&[frame(HEADER), rest.clone()].concat()).unwrap();
        let came = returned(&front);
        assert_eq!((came.id, came.unread, came.unsent, came.is_broken), (5, rest, vec![], false));
        assert_eq!(read(&mut peer, answer(b"7").len()), answer(b"7"));
        assert_eq!(front.lent(), 0);
    }

    #[test]
    fn the_end_of_the_stream_is_the_servers() {
        let (front, mut own, mut peer) = lent();
        peer.write_all(&frame(HEADER)[..11]).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(returned(&front).unread, frame(HEADER)[..11]);
        assert_eq!(own.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_loan_can_be_ended() {
        let (front, mut own, mut peer) = lent();
        peer.write_all(&frame(HEADER)).unwrap();
        read(&mut peer, answer(b"7").len());
        assert_eq!(front.take_back(5).unwrap().bytes_in, frame(HEADER).len() as u64);
        assert!(front.take_back(5).is_none());
        own.set_nonblocking(false).unwrap();
        peer.write_all(b"x").unwrap();
        assert_eq!(own.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn a_peer_that_does_not_read_comes_back_with_what_it_is_owed() {
        let (front, _own, mut peer) = lent();
        front.with_store(|store| store.learn(b"{\"x\":3}", 0, &[b'b'; 100_000]));
        peer.set_nonblocking(true).unwrap();
        let request = frame(b"{\"opaque\":7,\"x\":3}");
        let mut asked = 0;
        while front.lent() == 1 {
            if let Ok(size) = peer.write(&request) {
                assert_eq!(size, request.len());
                asked += 1;
            }
        }
        let came = returned(&front);
        peer.set_nonblocking(false).unwrap();
        let mut got = 0;
        while (got as u64) < came.bytes_out {
            got += peer.read(&mut vec![0; 1 << 20]).unwrap();
        }
        assert_eq!(got as u64, came.bytes_out);
        let whole = 8 + 3 + 100_000;
        assert_eq!((got + came.unsent.len()) % whole, 0);
        assert!(!came.unsent.is_empty() && came.unsent.len() < WRITE_BYTES + whole);
        let answered = (got + came.unsent.len()) / whole;
        assert!(came.unread.len() + answered * request.len() <= asked * request.len());
    }

    #[test]
    fn what_is_forgotten_is_not_answered_after() {
        let (front, _own, mut peer) = lent();
        for _ in 0..50 {
            peer.write_all(&frame(HEADER)).unwrap();
            read(&mut peer, answer(b"7").len());
        }
        front.with_store(|store| store.forget(KEY));
        peer.write_all(&frame(HEADER)).unwrap();
        assert_eq!(returned(&front).unread, frame(HEADER));
    }

    #[test]
    fn what_is_lent_comes_back_at_the_end() {
        let (front, _own, _peer) = lent();
        front.stop();
        front.stop();
        assert_eq!(returned(&front).id, 5);
    }
}
