"""Packages of others, as an installer leaves them: modules and what is written about them in a folder on the path."""

import os


def install_package(folder, name, groups, **files):
    """A path of modules on which the package `name` adds entry points: {group: [lines]}; files by module name."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    lines = [line for group, entries in groups.items() for line in (f"[socialcrawl.{group}]", *entries, "")]
    (about / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    for module, source in files.items():
        (folder / f"{module}.py").write_text(source, "utf-8")
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
