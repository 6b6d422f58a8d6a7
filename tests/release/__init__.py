"""A release is tried before anybody has it: built twice, looked at, installed where nothing else is, and used."""
