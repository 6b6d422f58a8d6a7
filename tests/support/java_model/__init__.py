"""A model of the Java name server in plain Python: what the differential tests compare with."""
