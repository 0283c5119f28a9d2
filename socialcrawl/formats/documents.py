"""Files that are read whole, such as settings and lists of accounts: never more of them than fits."""

import errno
import re
import tomllib
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from socialcrawl.system.bounds import MAX_DOCUMENT, MAX_ROW, MAX_TOML

LONGEST_SHOWN = 120  # characters of a line that an error shows
SECRET = re.compile(
    r"(?i)token|secret|passw|webhook|apprise|command|://|[A-Za-z0-9%_+/-]{20,}|[a-z2-7]{4}(-[a-z2-7]{4}){3}"
)
CURLED = re.compile("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019]")  # quotes of word processors
DEEPEST = 100  # parts of a key in TOML: tomllib's memory grows with their square


class TooLargeError(OSError):
    """A file that is larger than it may be; `strerror` says how large it may be."""


def explain_unreadable(path: Path, error: Exception) -> str:
    """Return why a file could not be read: "a.csv is a folder", or "a.csv cannot be read (Permission denied)"."""
    if path.is_dir():
        return f"{path} is a folder"
    reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None)
    return f"{path} cannot be read ({reason or error})"


def read_bytes(path: Path, most: int = MAX_DOCUMENT) -> bytes:
    """Return the bytes of a file.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read, or is larger.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLargeError(errno.EFBIG, f"it is larger than {most / 1e6:g} MB")
    return data


def compute_checksum(data: bytes) -> str:
    """Return what tells the content of a file from others: BLAKE2b, 16 bytes as hexadecimal digits."""
    return blake2b(data, digest_size=16).hexdigest()


def read_text(path: Path, encoding: str = "utf-8", most: int = MAX_DOCUMENT) -> str:
    r"""Return the text of a file, each end of a line as \n.

    Raises:
        OSError: it cannot be read, or is larger than `most` bytes.
        UnicodeDecodeError: it is no text of this encoding.
    """
    return decode_text(read_bytes(path, most), encoding)


def decode_text(data: bytes, encoding: str = "utf-8") -> str:
    r"""Return bytes as text, each end of a line as \n.

    Raises:
        UnicodeDecodeError: it is no text of this encoding.
    """
    return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path) -> Iterator[str]:
    """Iterate over the lines of a file in UTF-8, without their ends; a mark before the text does not count.

    Raises:
        OSError: it cannot be read, or has a line of more than `MAX_ROW` bytes.
        UnicodeDecodeError: it is not UTF-8.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_ROW + 1):
            number += 1
            if len(line) > MAX_ROW:
                raise TooLargeError(errno.EFBIG, f"line {number} is longer than {MAX_ROW / 1e6:g} MB")
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a text in TOML says.

    Raises:
        TOMLDecodeError: it is no TOML, or nested too deeply.
    """
    if any(re.sub(r"\.\.+", ".", part).count(".") > DEEPEST for part in re.split(r"[=,{\n]", text)):
        raise tomllib.TOMLDecodeError(f"a key has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("its values are nested too deeply") from None
    except ValueError as error:  # a number that Python refuses, a date that is none
        raise tomllib.TOMLDecodeError(str(error)) from error


def explain_toml_error(error: tomllib.TOMLDecodeError, path: Path) -> str:
    """Return what is wrong in a file in TOML, the line that is, and what to write instead.

    A value that may be a secret is left out.
    """
    text = str(error)
    try:
        lines = read_text(path, "utf-8-sig", MAX_TOML).splitlines()
    except (OSError, UnicodeDecodeError):
        return text
    if (place := re.search(r"\(at line (\d+), column \d+\)$", text)) is None or int(place[1]) > len(lines):
        return text
    line = lines[int(place[1]) - 1].strip()
    if SECRET.search(line):
        line = hide_secret(line)
        return f"{text}: {line}" if line else text
    return ". ".join([f"{text}: {line[:LONGEST_SHOWN]}" if line else text, *_advise_toml(text, line, lines)])


def hide_secret(line: str) -> str:
    """Return a line of a file in TOML without its value where that may be a secret; "" where its key may be one too."""
    if not SECRET.search(line):
        return line
    key = line.split("=", maxsplit=1)[0].strip()
    return f"{key} = ..." if re.fullmatch(r"[a-z_.]{1,20}", key) and "=" in line else ""


def _advise_toml(message: str, line: str, lines: list[str]) -> list[str]:
    """Return what to write instead of a wrong line, if that is known."""
    if twice := re.match(r"Cannot declare \('([^']+)',\) twice", message):
        first = next((n for n, one in enumerate(lines, 1) if one.strip().startswith(f"[{twice[1]}]")), None)
        return [f"[{twice[1]}] is already in line {first}: change its keys there"] if first else []
    if CURLED.search(line):
        return [f"Write straight quotes: {CURLED.sub(chr(34), line)[:LONGEST_SHOWN]}"]
    if number := re.fullmatch(r"([\w.-]+)\s*=\s*[$€£]?\s*(\d+)(?:[.,](\d+))?\s*(?:[$€£]|[A-Za-z]+)?", line):
        key, whole, part = number.groups()
        return [f"A number has no sign, unit or comma: write {key} = {whole}{f'.{part}' if part else ''}"]
    if word := re.fullmatch(r"([\w.-]+)\s*=\s*([A-Za-z][\w -]*)", line):
        return [f'A text stands in quotes: {word[1]} = "{word[2][:LONGEST_SHOWN]}"']
    return []


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a file in TOML says; a mark before the text, as Windows editors put it, does not count.

    Raises:
        OSError: it cannot be read, or is larger than `MAX_TOML` bytes.
        UnicodeDecodeError: it is not UTF-8.
        TOMLDecodeError: it is no TOML.
    """
    return parse_toml(read_text(path, "utf-8-sig", MAX_TOML))
