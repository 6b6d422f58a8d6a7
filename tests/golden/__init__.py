"""What code at one revision wrote and answered, so that a later revision can be compared with it byte for byte."""
