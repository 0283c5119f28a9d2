"""Where the files are that come with the package: `config/` and `migrations/`, in a wheel or in a checkout."""

from pathlib import Path


def find_folder(name: str) -> Path:
    """Return the folder `name` that came with the package: inside it when installed, beside it in a checkout."""
    here = Path(__file__).parents[1]
    return here / name if (here / name).is_dir() else here.parent / name
