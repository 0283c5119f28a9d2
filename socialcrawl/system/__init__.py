"""What the package needs of the operating system: files, locks, permissions, secrets, host names, plug-ins."""
