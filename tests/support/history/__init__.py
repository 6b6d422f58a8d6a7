"""Made-up histories of name servers, and what is true of them by plain loops: the oracle."""
