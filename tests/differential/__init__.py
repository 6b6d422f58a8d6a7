"""The same requests to namekeeper and to Java's name servers; answers and state compared as values."""
