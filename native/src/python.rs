//! The module that Python imports. No call waits longer than the front takes for one read of one connection.

use std::os::fd::{AsRawFd, BorrowedFd};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::front::{Front, Returned};
use crate::header::{self, Form};

type ReturnedTuple<'py> = (usize, Bound<'py, PyBytes>, Bound<'py, PyBytes>, u64, u64, bool);

/// Threads that answer known look-ups on sockets that are lent to them.
#[pyclass(name = "Front", module = "namekeeper_front", frozen)]
struct PyFront {
    front: Front,
}

#[pymethods]
impl PyFront {
    #[new]
    fn new(head: &[u8], tail: &[u8], threads: usize) -> PyResult<Self> {
        Ok(PyFront { front: Front::start(head, tail, threads)? })
    }

    /// Becomes readable when `take_returned` has something.
    fn fileno(&self) -> i32 {
        self.front.notices().as_raw_fd()
    }

    /// Serve the socket of a descriptor, which stays the caller's, under a number until it is returned.
    fn lend(&self, py: Python<'_>, loan: usize, descriptor: i32) -> PyResult<()> {
        if descriptor < 0 {
            return Err(PyOSError::new_err("no descriptor"));
        }
        // SAFETY: the caller's socket is open while this call runs, since it holds the transport that owns
        // it; only the duplicate made here is used afterwards.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let own = borrowed.try_clone_to_owned()?;
        py.allow_threads(|| self.front.lend(loan, own))?;
        Ok(())
    }

    /// End a loan now: (id, unread, unsent, bytes in, bytes out, broken); None if there is none.
    fn take_back<'py>(&self, py: Python<'py>, loan: usize) -> Option<ReturnedTuple<'py>> {
        py.allow_threads(|| self.front.take_back(loan)).map(|returned| as_tuple(py, &returned))
    }

    /// Sockets that came back since the last call, as `take_back` has them.
    fn take_returned<'py>(&self, py: Python<'py>) -> Vec<ReturnedTuple<'py>> {
        let returned = py.allow_threads(|| self.front.take_returned());
        returned.iter().map(|each| as_tuple(py, each)).collect()
    }

    /// Lent sockets that moved bytes since the last call: (id, bytes in, bytes out).
    fn take_moved(&self, py: Python<'_>) -> Vec<(usize, u64, u64)> {
        py.allow_threads(|| self.front.take_moved())
    }

    /// Answer look-ups of a topic in one form with this body, and count them under a number.
    fn learn(&self, py: Python<'_>, topic: &str, standard: bool, counter: usize, body: &[u8]) {
        py.allow_threads(|| self.front.change(|store| store.learn(topic, standard, counter, body)));
    }

    /// Answer look-ups of these topics no more; returns when no such answer can be written any more. A byte for each
    /// topic says whether it was asked for since it was learned.
    fn forget<'py>(&self, py: Python<'py>, topics: Vec<String>) -> Bound<'py, PyBytes> {
        let asked = py.allow_threads(|| self.front.change(|store| store.forget(&topics)));
        PyBytes::new(py, &asked.into_iter().map(u8::from).collect::<Vec<_>>())
    }

    /// Answer nothing until `resume`, and still learn and forget; returns when nothing more can be written.
    fn pause(&self, py: Python<'_>) {
        py.allow_threads(|| self.front.change(|store| store.pause(true)));
    }

    /// Answer what is known.
    fn resume(&self, py: Python<'_>) {
        py.allow_threads(|| self.front.change(|store| store.pause(false)));
    }

    /// Answer nothing more until it is learned.
    fn forget_all(&self, py: Python<'_>) {
        py.allow_threads(|| self.front.change(|store| store.forget_all()));
    }

    /// Requests answered since the last call: (counter, requests).
    fn take_counts(&self, py: Python<'_>) -> Vec<(usize, u64)> {
        py.allow_threads(|| self.front.take_counts())
    }

    /// How many sockets are lent.
    fn lent(&self, py: Python<'_>) -> usize {
        py.allow_threads(|| self.front.lent())
    }

    /// How often a thread failed, each time with one connection.
    fn panics(&self, py: Python<'_>) -> u64 {
        py.allow_threads(|| self.front.panics())
    }

    /// Return what is lent and end the threads; may be called twice.
    fn stop(&self, py: Python<'_>) {
        py.allow_threads(|| self.front.stop());
    }
}

fn as_tuple<'py>(py: Python<'py>, returned: &Returned) -> ReturnedTuple<'py> {
    (
        returned.id,
        PyBytes::new(py, &returned.unread),
        PyBytes::new(py, &returned.unsent),
        returned.bytes_in,
        returned.bytes_out,
        returned.is_broken,
    )
}

/// What the front makes of a header: (topic, standard, opaque) of a look-up that it answers if it knows the topic,
/// else None. Tests compare it with what the server makes of it.
#[pyfunction]
fn read_header(header: &[u8], is_binary: bool) -> Option<(&str, bool, u32)> {
    let form = if is_binary { Form::Binary } else { Form::Json };
    header::read(form, header).map(|look_up| (look_up.topic, look_up.standard, look_up.opaque))
}

/// Answers known look-ups beside the interpreter.
#[pymodule]
fn namekeeper_front(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The server uses only the front of its own version: both are released together.
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(read_header, module)?)?;
    module.add_class::<PyFront>()
}
