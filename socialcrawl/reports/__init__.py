"""What campaigns know, for people: one module a kind of question, all of it folded from what is stored."""
