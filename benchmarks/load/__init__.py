"""`python -m benchmarks.load`: namekeeper, the Java name server and two bare responders, side by side."""
