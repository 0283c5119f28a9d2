"""Run every campaign of a folder on APScheduler until stopped, and report their state."""
