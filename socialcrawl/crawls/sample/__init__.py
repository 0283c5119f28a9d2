"""Draw a uniform sample of a topic by random walks, and estimate statistics (Bar-Yossef, Kanungo, Krauthgamer)."""
