"""Sample: walks whose visits are uniform over a topic, and its statistics (Bar-Yossef, Kanungo, Krauthgamer)."""
