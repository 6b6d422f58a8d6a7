"""Values of the route tables, and a name server without sockets."""
