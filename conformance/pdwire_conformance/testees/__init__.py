"""What can be held to the suite, and the one protocol that all of it speaks."""
