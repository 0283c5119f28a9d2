"""The mock API server: one dataset of posts served as X API v2, with real windows and its own count."""
