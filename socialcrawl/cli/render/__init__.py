"""Tables, charts and text for the terminal. Pure: values in, renderables out."""
