"""A file of pages as a web site.

pages     the file, as the laboratory reads it
html      a page with its links at the places where their targets' titles stand
service   the site: pages, robots.txt, what moved, what is gone
"""
