"""A long run of one server under a steady load: memory, descriptors and threads must stay flat."""
