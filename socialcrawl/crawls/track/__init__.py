"""Track: expand, or go back to an account already asked? (Kumar, Lang, Marlow, Tomkins; Abiteboul, Preda, Cobena)."""
