"""Runs of figures: commands as processes, and a record of each that says how it came about.

A figure's files go into their folder when all its commands are done, so that a folder is there as a whole or not at
all. Commands run in `work/PAPER`, which keeps their finished crawls: one that was killed goes on from there.
"""

import hashlib
import json
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.reproduce.catalog import Figure, Words
from benchmarks.reproduce.commands import ParsedCommand, compute_checksums, parse_command
from socialcrawl import __version__
from socialcrawl.lab.code_checksum import compute_code_checksum, read_versions
from socialcrawl.system.files import replace_folder

ROOT = Path(__file__).parents[2]
RECORD, PRINTED, ERRORS = "run.json", "printed.txt", "errors.txt"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "matplotlib", "joblib")
COLUMNS = "160"  # of what commands print

Record = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a figure needs now.

    Attributes:
        figure: the figure.
        commands: the words of its commands, with the graphs that the user named.
        parsed: what the command line says of each.
        code: a checksum of the source of each command.
        key: the same for the same commands, source and graphs.
    """

    figure: Figure
    commands: tuple[Words, ...]
    parsed: tuple[ParsedCommand, ...]
    code: tuple[str, ...]
    key: str


@dataclass(frozen=True)
class Reproduction:
    """A folder of figures.

    Attributes:
        out: the folder.
        graphs: graphs that the user named: absolute paths.
        lock: the descriptor of a lock that commands hold as well, so that they cannot outlive it unseen.
    """

    out: Path
    graphs: Sequence[Path] = ()
    lock: int | None = None

    def plan(self, figure: Figure) -> Plan:
        """Return what a figure needs.

        Raises:
            ValueError: a command of the list does not exist.
        """
        graphs = self.graphs if figure.takes_graphs else ()
        added = tuple(word for graph in graphs for word in ("--graph", str(graph)))
        commands = (*figure.commands[:-1], (*figure.commands[-1], *added))
        parsed = tuple(parse_command(words) for words in commands)
        code = tuple(compute_code_checksum(one.function) for one in parsed)
        said = [commands, code, [list(compute_checksums(graph).values()) for graph in graphs]]
        return Plan(figure, commands, parsed, code, hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32])

    def get_folder(self, figure: Figure) -> Path:
        """Return where the files of a figure are."""
        return self.out / figure.paper / figure.name

    def read_record(self, figure: Figure) -> Record | None:
        """Return the record of a figure; None: it was never run to its end."""
        try:
            found = json.loads((self.get_folder(figure) / RECORD).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def run(self, plan: Plan) -> Record:
        """Run the commands of a figure, up to one that fails; return its record, which is stored beside its files."""
        work = self.out / "work" / plan.figure.paper
        (work / "graphs").mkdir(parents=True, exist_ok=True)
        for left in work.iterdir():
            if left.is_file():  # of a figure that was killed: its crawls are in folders
                left.unlink()
        made = self.out / plan.figure.paper / f".{plan.figure.name}"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        begin, record = time.perf_counter(), _begin_record(plan)
        for words, parsed in zip(plan.commands, plan.parsed, strict=True):
            ran = self._run_command(words if parsed.has_out else (*words, "--out", "."), work, made)
            record["commands"].append({"command": name_command(words), **ran, "seeds": parsed.seeds})
            if ran["exit_code"]:
                break
            record["inputs"] |= _sum_inputs(parsed, work)
            _move_files(work, made, len(record["commands"]))
        record["seconds"] = round(time.perf_counter() - begin, 2)
        record["exit_code"] = record["commands"][-1]["exit_code"]
        record["outputs"] = {
            str(Path(name).relative_to(made)): digest for name, digest in compute_checksums(made).items()
        }
        (made / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        replace_folder(made, self.get_folder(plan.figure))
        return record

    def _run_command(self, words: Words, work: Path, made: Path) -> Record:
        """Run a command; what it prints is appended to files in `made`."""
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path, "COLUMNS": COLUMNS, "NO_COLOR": "1", "TERM": "dumb"}
        begin, used = time.perf_counter(), _read_processor_time()
        with (made / PRINTED).open("ab") as printed, (made / ERRORS).open("ab") as errors:
            printed.write(f"$ {name_command(words)}\n".encode())
            printed.flush()
            done = subprocess.run(
                [sys.executable, "-m", "socialcrawl", *words],
                cwd=work,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
                pass_fds=() if self.lock is None else (self.lock,),
                check=False,
            )
        return {
            "seconds": round(time.perf_counter() - begin, 2),
            "processor_seconds": round(_read_processor_time() - used, 2),
            "exit_code": done.returncode,
        }


def name_command(words: Words) -> str:
    """Return a command as a shell takes it."""
    return f"socialcrawl {shlex.join(words)}"


def is_done(record: Record | None, plan: Plan) -> bool:
    """Return whether a record is of these commands, this source and these graphs, and all went well."""
    return record is not None and record.get("key") == plan.key and record.get("exit_code") == 0


def count_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_processor_time() -> float:
    """Return the processor time of all commands so far, with their processes, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _begin_record(plan: Plan) -> Record:
    return {
        "figure": plan.figure.label,
        "key": plan.key,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": count_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"socialcrawl": __version__} | read_versions(LIBRARIES),
        "code": dict(zip(map(shlex.join, plan.commands), plan.code, strict=True)),
        "commands": [],
        "inputs": {},
    }


def _sum_inputs(parsed: ParsedCommand, work: Path) -> dict[str, str]:
    """Return the checksums of what a command has read, by path; those that commands before it made are relative."""
    found: dict[str, str] = {}
    for path in parsed.inputs:
        for name, digest in compute_checksums(work / path).items():
            file = Path(name)
            found[str(file.relative_to(work) if file.is_relative_to(work) else file)] = digest
    return found


def _move_files(work: Path, made: Path, number: int) -> None:
    """Move the files that a command wrote; one whose name is taken gets the number of the command."""
    for file in sorted(work.iterdir()):
        if file.is_file():
            there = made / file.name
            file.replace(made / f"{file.stem}-{number}{file.suffix}" if there.exists() else there)
