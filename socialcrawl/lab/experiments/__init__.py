"""The experiments of the papers, a folder for each; what all of them share is in runner and figures."""
