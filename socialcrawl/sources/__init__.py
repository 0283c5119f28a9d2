"""Sources: how each platform is asked, as talks (pure), and the wires that carry them (doors)."""
