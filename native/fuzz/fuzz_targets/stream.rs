//! What the front does with a socket over which any bytes come, in any pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| namekeeper_front_fuzz::check_stream(bytes));
