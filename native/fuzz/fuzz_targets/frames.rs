//! What the front takes for the first frame of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| namekeeper_front_fuzz::check_frame(bytes));
