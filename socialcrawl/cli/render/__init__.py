"""Tables, pictures and lines for people."""
