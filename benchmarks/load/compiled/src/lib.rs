//! A protocol for an event loop, compiled: what it knows it answers without a line of Python.

use std::sync::Mutex;

use namekeeper_front::frames::{next, Next};
use namekeeper_front::header;
use namekeeper_front::store::Store;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The answers that all connections share.
#[pyclass(frozen)]
struct Answers {
    store: Mutex<Store>,
}

#[pymethods]
impl Answers {
    #[new]
    fn new(head: &[u8], tail: &[u8]) -> Self {
        Answers {
            store: Mutex::new(Store::new(head, tail)),
        }
    }

    fn learn(&self, topic: &str, body: &[u8]) {
        self.store.lock().unwrap().learn(topic, true, 0, body);
    }
}

/// One connection; what is not known is answered by a function of Python, frame by frame.
#[pyclass]
struct Responder {
    answers: Py<Answers>,
    other: Py<PyAny>,
    write: Option<Py<PyAny>>,
    partial: Vec<u8>,
}

#[pymethods]
impl Responder {
    #[new]
    fn new(answers: Py<Answers>, other: Py<PyAny>) -> Self {
        Responder {
            answers,
            other,
            write: None,
            partial: Vec::new(),
        }
    }

    fn connection_made(&mut self, transport: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write = Some(transport.getattr("write")?.unbind());
        Ok(())
    }

    fn data_received(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let joined;
        let input = if self.partial.is_empty() {
            data
        } else {
            joined = [std::mem::take(&mut self.partial).as_slice(), data].concat();
            &joined
        };
        let mut out = Vec::with_capacity(1024);
        let mut at = 0;
        let store = self.answers.get().store.lock().unwrap();
        loop {
            let rest = &input[at..];
            match next(rest) {
                Next::Request { form, header, size }
                    if header::read(form, header)
                        .is_some_and(|look_up| store.answer(&look_up, &mut out)) =>
                {
                    at += size;
                }
                Next::Partial => break,
                _ => {
                    let length = rest
                        .first_chunk::<4>()
                        .map(|bytes| u32::from_be_bytes(*bytes) as usize);
                    let Some(frame) = length.and_then(|length| rest.get(..4 + length)) else {
                        break;
                    };
                    out.extend_from_slice(
                        self.other
                            .call1(py, (PyBytes::new(py, frame),))?
                            .extract(py)?,
                    );
                    at += frame.len();
                }
            }
        }
        self.partial.extend_from_slice(&input[at..]);
        if let Some(write) = &self.write {
            write.call1(py, (PyBytes::new(py, &out),))?;
        }
        Ok(())
    }

    fn eof_received(&self) {}

    fn pause_writing(&self) {}

    fn resume_writing(&self) {}

    fn connection_lost(&mut self, _error: &Bound<'_, PyAny>) {
        self.write = None;
    }
}

/// The module that Python imports.
#[pymodule]
fn bare_compiled(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Answers>()?;
    module.add_class::<Responder>()
}
