"""The experiments of the papers, a folder for each. What all of them share is in `runner` and `figures`."""
