"""Java's own name servers, brokers and mqadmin, for the tests that compare with them."""
