"""The machine under a test: processes, event loops, time, disks and waiting."""
