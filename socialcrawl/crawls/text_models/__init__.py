"""What judges whether a text is on topic, learned from examples: trained, tested, kept in a file and asked."""
