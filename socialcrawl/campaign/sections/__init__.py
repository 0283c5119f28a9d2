"""The sections of a campaign file: what each key may be, and what it means to whoever hovers over it."""
