"""What pages show: a study seen at one moment, in words and in figures."""
