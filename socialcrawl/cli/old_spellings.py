"""Options that were renamed: their old names work until the next version, with a hint on stderr."""

from collections.abc import Mapping, Sequence

from socialcrawl.errors import SettingsError
from socialcrawl.text.terminal import write_error

RENAMED: Mapping[str, Mapping[str, str]] = {
    "": {"--debug": "--verbose"},
    "import": {"--campaign": "--db", "--most": "--limit"},
    "order": {"--most": "--limit"},
    "train": {"--most": "--limit"},
    "daemon": {"--workers": "--jobs"},
    "demo": {"--limit": "--per-window", "--seed-count": "--seed-size"},
    "mock": {"--limit": "--per-window"},
    "simulate": {"--budget": "--steps"},
    "lab gouriten": {
        "--seeds": "--seed-size", "--sets": "--seed-sets", "--least": "--seed-least", "--window": "--rolling",
    },
    "lab kumar": {"--seeds": "--runs", "--window": "--link-days"},
    "lab liverank": {"--seeds": "--runs"},
    "lab opic": {"--window": "--window-type", "--begin": "--initial", "--pages": "--nodes"},
    "lab sampling": {"--first": "--in-links", "--held": "--held-share"},
}  # fmt: skip
"""{command without `socialcrawl`, or the group it is in: {old name: new name}}; "" for all commands."""


def replace_old_names(command: Sequence[str], args: Sequence[str], *, hint: bool = True) -> list[str]:
    """Return the arguments of a command with new names of options.

    Args:
        command: its words, such as ["lab", "opic", "fig2"].
        args: what follows; nothing after `--` is changed.
        hint: whether to say on stderr which names to write.

    Raises:
        SettingsError: an option has both of its names.
    """
    new: dict[str, str] = {}
    for length in range(len(command) + 1):
        new |= RENAMED.get(" ".join(command[:length]), {})
    end = list(args).index("--") if "--" in args else len(args)
    found = []
    there = {one.partition("=")[0] for one in args[:end]}
    for given in args[:end]:
        name, sign, value = given.partition("=")
        if name in new:
            if new[name] in there:
                raise SettingsError(f"{name} is now {new[name]}: remove one of the two.")
            if hint:
                write_error(f"hint: {name} is now {new[name]}; the old name works until the next version")
            name = new[name]
        found.append(f"{name}{sign}{value}")
    return [*found, *args[end:]]
