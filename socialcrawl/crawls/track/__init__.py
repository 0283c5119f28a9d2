"""Expand, or return to a known account (Kumar, Lang, Marlow, Tomkins; OPIC: Abiteboul, Preda, Cobena)."""
