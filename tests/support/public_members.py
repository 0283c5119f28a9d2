"""The public members of a class, those of its bases too that have no public name of their own."""

import socialcrawl


def list_own_classes(one):
    """A class and its bases in the package that are not public themselves, the base first."""
    public = {getattr(socialcrawl, name) for name in socialcrawl.__all__}
    bases = [base for base in one.__mro__[1:] if base.__module__.startswith("socialcrawl.") and base not in public]
    return [*reversed(bases), one]


def find_members(one):
    """The members of a class by name, as it or the nearest base defines them."""
    return {name: value for part in list_own_classes(one) for name, value in vars(part).items()}
