//! Sockets that are lent by the server, served by threads as long as they ask for what is known.
//!
//! Anything else gives a socket back with the bytes that were read and those that could not be written: a
//! request that is not known, a body, a broken frame, a peer that does not read, the end of the stream.
//! The server keeps the socket open meanwhile, reads and writes it only while it is not lent, and decides all
//! that is not a matter of course: limits, idleness, failures, closing.
//!
//! Each socket belongs to one thread, and all threads look into one store. A thread holds the store for reading
//! from before it answers a connection until the answers are written, and who forgets holds it for writing: so
//! what is forgotten is not answered after.
//!
//! Locks are taken in this order: the loans of a thread, the store, what was returned.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

use crate::frames::{next, Next};
use crate::header;
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

/// What one thread serves.
#[derive(Default)]
struct Loans {
    connections: HashMap<usize, Connection>,
    /// Nothing is served any more.
    is_over: bool,
}

/// One thread's part of what is shared.
struct Lane {
    loans: Mutex<Loans>,
    registry: Registry,
    waker: Waker,
}

impl Lane {
    fn lock(&self) -> MutexGuard<'_, Loans> {
        self.loans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take a connection out of the thread's hands; its descriptor here is closed.
    fn take(&self, loans: &mut Loans, id: usize) -> Option<Returned> {
        let mut connection = loans.connections.remove(&id)?;
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
}

struct Shared {
    store: RwLock<Store>,
    returned: Mutex<Vec<Returned>>,
    panics: AtomicU64,
    /// Says that `returned` is not empty any more.
    notice: UnixStream,
}

impl Shared {
    fn returned(&self) -> MutexGuard<'_, Vec<Returned>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, came: Returned) {
        let mut returned = self.returned();
        returned.push(came);
        if returned.len() == 1 {
            // Full means that an earlier notice was not read yet: one is enough.
            let _ = (&self.notice).write(&[1]);
        }
    }

    /// End all loans of a thread, and serve nothing there any more.
    fn end(&self, lane: &Lane) {
        let mut loans = lane.lock();
        loans.is_over = true;
        let ids: Vec<usize> = loans.connections.keys().copied().collect();
        for id in ids {
            if let Some(returned) = lane.take(&mut loans, id) {
                self.give_back(returned);
            }
        }
    }
}

/// The front: what the server calls. Every call returns when it has taken effect.
pub struct Front {
    shared: Arc<Shared>,
    lanes: Vec<Arc<Lane>>,
    notices: UnixStream,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Front {
    /// Start some threads. `head` and `tail` are the bytes of a successful answer's header around its opaque.
    pub fn start(head: &[u8], tail: &[u8], threads: usize) -> io::Result<Self> {
        let (notice, notices) = UnixStream::pair()?;
        notice.set_nonblocking(true)?;
        notices.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            store: RwLock::new(Store::new(head, tail)),
            returned: Mutex::default(),
            panics: AtomicU64::default(),
            notice,
        });
        let mut front = Front { shared, lanes: Vec::new(), notices, threads: Mutex::default() };
        for _ in 0..threads.max(1) {
            front.start_thread()?;
        }
        Ok(front)
    }

    fn start_thread(&mut self) -> io::Result<()> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let lane = Arc::new(Lane { loans: Mutex::default(), registry, waker });
        let worker = Worker::new(Arc::clone(&self.shared), Arc::clone(&lane));
        let name = "namekeeper-front".into();
        let thread = std::thread::Builder::new().name(name).spawn(move || worker.run(poll))?;
        self.lanes.push(lane);
        self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn lane(&self, id: usize) -> &Lane {
        &self.lanes[id % self.lanes.len()]
    }

    /// Becomes readable when `take_returned` has something.
    pub fn notices(&self) -> &UnixStream {
        &self.notices
    }

    /// Serve a socket, which must not block, until it is returned.
    pub fn lend(&self, id: usize, descriptor: OwnedFd) -> io::Result<()> {
        let mut stream = TcpStream::from_std(std::net::TcpStream::from(descriptor));
        let lane = self.lane(id);
        let mut loans = lane.lock();
        if loans.is_over {
            return Err(ErrorKind::NotConnected.into());
        }
        lane.registry.register(&mut stream, Token(id), Interest::READABLE)?;
        let connection =
            Connection { stream, partial: Vec::new(), bytes_in: 0, bytes_out: 0, has_moved: false };
        loans.connections.insert(id, connection);
        Ok(())
    }

    /// End a loan now; None if the socket is not lent.
    pub fn take_back(&self, id: usize) -> Option<Returned> {
        let lane = self.lane(id);
        let mut loans = lane.lock();
        let mut returned = self.shared.returned();
        if let Some(at) = returned.iter().position(|returned| returned.id == id) {
            return Some(returned.swap_remove(at));
        }
        lane.take(&mut loans, id)
    }

    /// Sockets that were returned since the last call.
    pub fn take_returned(&self) -> Vec<Returned> {
        let mut notices = [0; 64];
        while matches!((&self.notices).read(&mut notices), Ok(64)) {}
        std::mem::take(&mut self.shared.returned())
    }

    /// Which lent sockets had bytes in or out since the last call, with the bytes since they were lent.
    pub fn take_moved(&self) -> Vec<(usize, u64, u64)> {
        let mut found = Vec::new();
        for lane in &self.lanes {
            let mut loans = lane.lock();
            for (id, connection) in loans.connections.iter_mut().filter(|(_, each)| each.has_moved) {
                connection.has_moved = false;
                found.push((*id, connection.bytes_in, connection.bytes_out));
            }
        }
        found
    }

    /// Change what is known; returns when no thread answers any more with what was known before.
    pub fn change<R>(&self, act: impl FnOnce(&mut Store) -> R) -> R {
        act(&mut self.shared.store.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Requests answered since the last call: (counter, requests).
    pub fn take_counts(&self) -> Vec<(usize, u64)> {
        self.shared.store.read().unwrap_or_else(PoisonError::into_inner).take_counts()
    }

    /// How many sockets are lent.
    pub fn lent(&self) -> usize {
        self.lanes.iter().map(|lane| lane.lock().connections.len()).sum()
    }

    /// How often a thread failed, each time with one connection.
    pub fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }

    /// End the threads; what is lent is returned.
    pub fn stop(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let is_woken = self.lanes.iter().map(|lane| {
            self.shared.end(lane);
            lane.waker.wake().is_ok()
        });
        let is_woken: Vec<bool> = is_woken.collect();
        for (thread, is_woken) in threads.into_iter().zip(is_woken) {
            if is_woken {
                let _ = thread.join();
            }
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
    lane: Arc<Lane>,
    read: Vec<u8>,
    answers: Vec<u8>,
}

impl Worker {
    fn new(shared: Arc<Shared>, lane: Arc<Lane>) -> Self {
        Worker { shared, lane, read: vec![0; READ_BYTES], answers: Vec::new() }
    }

    fn run(mut self, mut poll: Poll) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        loop {
            match poll.poll(&mut events, None) {
                // The system reports no events any more: everything goes back.
                Err(error) if error.kind() != ErrorKind::Interrupted => return self.shared.end(&self.lane),
                _ => {}
            }
            for event in &events {
                if event.token() != WAKE {
                    self.serve(event.token().0, event.is_read_closed());
                } else if self.lane.lock().is_over {
                    return;
                }
            }
        }
    }

    /// Serve what one connection has.
    ///
    /// The poll reports a closed peer once, perhaps together with the bytes before: then it is looked at again.
    fn serve(&mut self, id: usize, has_closed: bool) {
        let lane = Arc::clone(&self.lane);
        let mut loans = lane.lock();
        let Some(connection) = loans.connections.get_mut(&id) else { return };
        let served = catch_unwind(AssertUnwindSafe(|| self.serve_connection(connection)));
        let came = match served {
            Ok(Served::Idle) if !has_closed => return,
            Ok(Served::Idle | Served::More) => {
                // After this the poll reports at once what is left; others have their turn before.
                let again = lane.registry.reregister(&mut connection.stream, Token(id), Interest::READABLE);
                if again.is_ok() {
                    return;
                }
                Returned::default()
            }
            Ok(Served::Returned { unread, unsent }) => Returned { unread, unsent, ..Returned::default() },
            Err(_) => {
                self.shared.panics.fetch_add(1, Ordering::Relaxed);
                Returned { is_broken: true, ..Returned::default() }
            }
        };
        if let Some(mut returned) = lane.take(&mut loans, id) {
            if !came.unread.is_empty() {
                returned.unread = came.unread;
            }
            self.shared.give_back(Returned { unsent: came.unsent, is_broken: came.is_broken, ..returned });
        }
    }

    fn serve_connection(&mut self, connection: &mut Connection) -> Served {
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
        // Until the answers are written: what is forgotten is not answered after.
        let store = self.shared.store.read().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.answers.clear();
            let is_over = answer_some(&store, input, &mut at, &mut self.answers);
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
    store: &Store,
    input: &'a [u8],
    at: &mut usize,
    answers: &mut Vec<u8>,
) -> Option<Next<'a>> {
    while answers.len() < WRITE_BYTES {
        match next(&input[*at..]) {
            Next::Request { form, header, size } => match header::read(form, header) {
                Some(look_up) if store.answer(&look_up, answers) => *at += size,
                _ => return Some(Next::Other),
            },
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

    const HEADER: &[u8] = b"{\"code\":105,\"opaque\":7,\"extFields\":{\"topic\":\"T\"}}";

    /// A look-up of a topic of one letter.
    fn request(opaque: u32, topic: char) -> Vec<u8> {
        frame(
            format!("{{\"code\":105,\"opaque\":{opaque},\"extFields\":{{\"topic\":\"{topic}\"}}}}")
                .as_bytes(),
        )
    }

    fn frame(header: &[u8]) -> Vec<u8> {
        let size = header.len() as u32;
        [&(size + 4).to_be_bytes()[..], &size.to_be_bytes()[..], header].concat()
    }

    fn answer(digits: &[u8]) -> Vec<u8> {
        let header = [b"<", digits, b">"].concat();
        let size = header.len() as u32;
        [&(size + 8).to_be_bytes()[..], &size.to_be_bytes()[..], &header, b"body"].concat()
    }

    /// Both ends of a connection.
    fn connected() -> (StdStream, StdStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = StdStream::connect(listener.local_addr().unwrap()).unwrap();
        let (own, _) = listener.accept().unwrap();
        own.set_nonblocking(true).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        (own, peer)
    }

    /// A front that knows one answer, and both ends of a connection of which one is lent to it as 5.
    fn lent() -> (Front, StdStream, StdStream) {
        let front = Front::start(b"<", b">", 2).unwrap();
        front.change(|store| store.learn("T", false, 0, b"body"));
        let (own, peer) = connected();
        front.lend(5, own.try_clone().unwrap().into()).unwrap();
        (front, own, peer)
    }

    fn read(peer: &mut StdStream, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        peer.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn returned(front: &Front) -> Returned {
        all_returned(front).pop().unwrap()
    }

    /// Wait for the notice, as an event loop does.
    fn all_returned(front: &Front) -> Vec<Returned> {
        let notices = front.notices().try_clone().unwrap();
        notices.set_nonblocking(false).unwrap();
        notices.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        (&notices).read_exact(&mut [0]).unwrap();
        notices.set_nonblocking(true).unwrap();
        front.take_returned()
    }

    #[test]
    fn known_requests_are_answered_however_they_are_split() {
        let (front, _own, mut peer) = lent();
        let bytes = [frame(HEADER), request(12, 'T')].concat();
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
        let rest = [request(7, 'U'), frame(HEADER)].concat();
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
    fn an_end_that_came_before_the_loan_is_told() {
        let (front, _own, _peer) = lent();
        let (own, mut peer) = connected();
        peer.write_all(&frame(HEADER)[..11]).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        own.set_nonblocking(false).unwrap();
        own.peek(&mut [0]).unwrap();
        own.set_nonblocking(true).unwrap();
        front.lend(7, own.into()).unwrap();
        assert_eq!(returned(&front).unread, frame(HEADER)[..11]);
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
        front.change(|store| store.learn("B", false, 0, &[b'b'; 100_000]));
        peer.set_nonblocking(true).unwrap();
        let request = request(7, 'B');
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
        front.change(|store| store.forget(&["T"]));
        peer.write_all(&frame(HEADER)).unwrap();
        assert_eq!(returned(&front).unread, frame(HEADER));
    }

    #[test]
    fn a_panic_ends_one_connection_and_is_counted() {
        let (front, _own, mut peer) = lent();
        let (own, mut other) = connected();
        front.lend(7, own.into()).unwrap(); // on the same thread as 5
        let header =
            format!("{{\"code\":105,\"opaque\":7,\"extFields\":{{\"topic\":\"{}\"}}}}", crate::store::PANICS);
        peer.write_all(&frame(header.as_bytes())).unwrap();
        let came = returned(&front);
        assert_eq!((came.id, came.is_broken, front.panics()), (5, true, 1));
        other.write_all(&frame(HEADER)).unwrap();
        assert_eq!(read(&mut other, answer(b"7").len()), answer(b"7"));
    }

    #[test]
    fn every_thread_answers_and_forgets() {
        let front = Front::start(b"<", b">", 3).unwrap();
        front.change(|store| store.learn("T", false, 0, b"body"));
        let mut pairs: Vec<_> = (0..6).map(|_| connected()).collect();
        for (id, (own, peer)) in pairs.iter_mut().enumerate() {
            front.lend(id, own.try_clone().unwrap().into()).unwrap();
            peer.write_all(&frame(HEADER)).unwrap();
            assert_eq!(read(peer, answer(b"7").len()), answer(b"7"));
        }
        assert_eq!(front.take_counts(), [(0, 6)]);
        assert_eq!(front.take_moved().len(), 6);
        front.change(|store| store.forget(&["T"]));
        for (_, peer) in &mut pairs {
            peer.write_all(&frame(HEADER)).unwrap();
        }
        let mut came: Vec<usize> = Vec::new();
        while came.len() < 6 {
            came.extend(all_returned(&front).iter().map(|each| each.id));
        }
        came.sort_unstable();
        assert_eq!(came, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_is_lent_comes_back_at_the_end() {
        let (front, _own, _peer) = lent();
        front.stop();
        front.stop();
        assert_eq!(returned(&front).id, 5);
    }
}
