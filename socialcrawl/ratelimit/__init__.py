"""Rate limits, retries and budgets: when a request may be sent and what it costs. Pure: time is an argument."""
