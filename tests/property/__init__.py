"""Laws of the route tables, against the model of the Java name server and against themselves."""
