"""The house rules, read off the source: floors, sizes, docstrings, where libraries are named, the documents."""

import ast
import re
import statistics
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "socialcrawl"
FILES = sorted(PACKAGE.rglob("*.py"))

# Imports run downward or along a floor. A module belongs to the floor that names the longest part of its path.
KIND_MODULES = {
    "collect": ("kind", "make", "explain", "steering", "following", "reading_records", "searched_time"),
    "track": ("kind", "make", "section", "report", "datasheet"),
    "refresh": ("kind", "make", "section", "report", "datasheet"),
    "sample": ("kind", "make", "section", "report", "datasheet", "audit_report", "holdings"),
    "capture": ("kind", "section", "report"),
}
FLOORS = [
    {"cli", "__main__", "lab.experiments"},
    {"web"},
    {"api"},
    {"render"},
    {"daemon", "testing"},
    {"campaign.build", "campaign.run_preview", "contracts"},
    {"lab", "mock", "importers", "exporters", "campaign", "fleet", "verify", "platforms.base", "platforms.registry"}
    | {f"crawls.{name}" for name in ("base", "registry", "reporting", "trace", "facts", "next_picks", "kept_crawls")}
    | {f"crawls.{kind}.{name}" for kind, names in KIND_MODULES.items() for name in names}
    | {f"platforms.{name}.platform" for name in ("x", "bluesky", "mastodon", "web")},
    {"crawls", "platforms"},
    {"storage", "ratelimit", "forecast", "importance"},
    {"graph", "formats"},
    {"engine", "platforms.facts"} | {f"platforms.{name}.identifiers" for name in ("x", "bluesky", "mastodon", "web")},
    {"system", "text"},
    {"errors", "__init__"},
]
HOMES = {
    "tweepy": ("platforms/x/wire.py",),
    "requests": ("platforms/x/transport.py", "platforms/x/wire.py", "testing/social_api.py"),
    "httpx": ("platforms/http_client.py",),
    "httpcore": ("platforms/http_client.py", "platforms/sockets.py"),
    "idna": ("text/domains.py",),
    "regex": ("text/entities.py", "text/word_boundaries.py"),
    "selectolax": ("platforms/bounded_html.py", "platforms/mastodon/post_text.py"),
    "protego": ("platforms/web/robots.py",),
    "sqlalchemy": ("storage/", "exporters/"),
    "alembic": ("storage/database/connection.py", "storage/database/health.py", "storage/schema/kept.py"),
    "starlette": ("daemon/health_page.py", "web/web_app.py"),
    "fastapi": ("web/",),
    "jinja2": ("web/page_templates.py",),
    "uvicorn": ("mock/server.py", "cli/commands/explore.py", "cli/commands/ui.py", "daemon/health_page.py"),
    "apprise": ("daemon/notice_addresses.py",),
    "apscheduler": ("daemon/daemon.py", "daemon/scheduler.py", "cli/commands/daemon.py"),
    "structlog": (
        "daemon/daemon.py", "daemon/database_threads.py", "daemon/logs.py", "daemon/notices.py",
        "daemon/run_monitor.py", "cli/commands/child_pages.py", "cli/commands/daemon.py",
    ),
    "prometheus_client": ("daemon/health_page.py", "daemon/metrics.py"),
    "typer": (
        "cli/command_group.py", "cli/main.py", "cli/options.py", "cli/definitions/", "cli/commands/forget.py",
        "cli/commands/lab.py", "cli/commands/simulate.py", "lab/experiments/",
    ),
    "rich": ("cli/commands/", "render/", "lab/experiments/runner.py"),
    "matplotlib": (
        "render/report_charts.py", "render/score_curve.py", "lab/experiments/figures.py", "api/laboratory.py",
    ),
    "joblib": ("lab/grid.py", "lab/process_pool.py", "lab/experiments/gouriten/precision.py"),
    "distributed": ("fleet/dask_client.py", "lab/grid.py"),
    "pyarrow": (
        "lab/", "formats/column_tables.py", "formats/parquet.py", "formats/parquet_layout.py",
        "importers/export_tables.py", "exporters/arrow_batches.py", "exporters/partition_files.py",
        "exporters/table_files.py", "api/data_tables.py",
    ),
    "psycopg": ("storage/database/backup.py", "storage/database/readonly.py", "storage/database/silent_server.py"),
    "warcio": ("exporters/warc.py",),
    "datasette": ("cli/commands/explore.py",),
    "scipy": (
        "importance/", "crawls/sample/law_comparison.py", "crawls/sample/mixing.py", "crawls/sample/spectral_gap.py",
        "crawls/text_models/vocabulary.py", "forecast/intervals.py",
    ),
    "sklearn": (
        "crawls/collect/estimators/regressor.py", "crawls/text_models/cross_validation.py",
        "crawls/text_models/decision_tree.py", "crawls/text_models/logistic_regression.py",
    ),
    "pydantic": (
        "campaign/policies.py", "campaign/settings.py", "campaign/settings_errors.py", "campaign/sections/",
        "crawls/capture/section.py", "crawls/refresh/section.py", "crawls/sample/section.py", "crawls/track/section.py",
        "web/",
    ),
    "pydantic_core": ("campaign/settings.py",),
    "tenacity": ("ratelimit/retry.py",),
    "tomlkit": ("formats/toml_edits.py",),
    "filelock": ("system/locks.py",),
    "platformdirs": ("system/state_folder.py",),
    "cronsim": ("campaign/schedule.py",),
}  # fmt: skip
"""Which module may import a library. A folder stands for four modules or more that do."""
CLOCKS = {"time.time", "time.sleep", "time.monotonic", "datetime.now", "datetime.utcnow"}
DOORS = (
    "engine/clock.py",
    "cli/",
    "api/",
    "mock/",
    "platforms/sockets.py",
)  # may read the wall clock; socket deadlines
PLURAL = re.compile(r" (accounts|answers|bytes|draws|lines|links|matches|posts|requests|rows|seeds|steps|walks)\b")
FORBIDDEN = re.compile(r"(^|_)(utils?|core|common|helpers?|manager|misc)($|_|\.)|^Base[A-Z]|Impl$")
WORDS = ("pick", "node", "account", "request", "window", "batch", "outcome", "epoch", "budget")


def name_of(path):
    return str(path.relative_to(PACKAGE).with_suffix("")).replace("/", ".").removesuffix(".__init__")


@cache
def nodes_of(path):
    """The nodes of a source, its module first. They are kept for all tests of this file, and not for longer."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


@pytest.fixture(scope="module", autouse=True)
def _forget_nodes():
    yield
    nodes_of.cache_clear()


def floor_of(module):
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        for number, names in enumerate(FLOORS):
            if ".".join(parts[:length]) in names:
                return number
    return None


@cache
def imports_of(path):
    """(module imported inside the package or library, line), type-only imports included."""
    return list(_imports_of(path, names_of_modules()))


@cache
def names_of_modules():
    return {name_of(file) for file in FILES}


def _imports_of(path, known):
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                inside = whole.removeprefix("socialcrawl.")
                yield (whole if inside in known else node.module), node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((name.value, node.lineno) for name in node.args if isinstance(name, ast.Constant))


def ours(path):
    return {m.removeprefix("socialcrawl.") for m, _ in imports_of(path) if m.startswith("socialcrawl.")}


def functions(path):
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, node.end_lineno - node.lineno + 1


def relative(path):
    return str(path.relative_to(PACKAGE))


def test_every_module_has_a_floor():
    for path in FILES:
        assert floor_of(name_of(path) if path != PACKAGE / "__init__.py" else "__init__") is not None


def find_empty_names(names):
    """Those names of modules and folders that nothing is called."""
    there = {name_of(path) for path in FILES} | {name_of(path.parent) for path in FILES if path.parent != PACKAGE}
    return sorted(set(names) - there)


def test_a_floor_that_names_nothing_is_found():
    planted = {"crawls.collect.section", "platforms.x", "engine.loop", "lab.attic"}
    assert find_empty_names(planted) == ["crawls.collect.section", "lab.attic"]


def test_each_floor_names_modules_that_are_there():
    assert not find_empty_names(name for names in FLOORS for name in names)


def test_imports_run_downward_only():
    floors = {path: floor_of(name_of(path) if path != PACKAGE / "__init__.py" else "__init__") for path in FILES}
    upward = {relative(path): [module for module in ours(path) if floor_of(module) < floors[path]] for path in FILES}
    assert not {path: modules for path, modules in upward.items() if modules}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name_of(path): ours(path) for path in FILES}
    done, open_now = set(), []

    def visit(module):
        assert module not in open_now, f"a circle: {' -> '.join([*open_now[open_now.index(module) :], module])}"
        if module in done or module not in graph:
            return
        open_now.append(module)
        for other in sorted(graph[module]):
            visit(other)
        done.add(open_now.pop())

    for module in sorted(graph):
        visit(module)
    assert len(done) == len(graph)


def find_strangers(importers, rooms):
    """Those files that import a library, and are in none of its rooms."""
    return [file for file in importers if not file.startswith(rooms)]


def find_unused_rooms(importers, rooms):
    """The rooms in which no file imports a library, and folders in which fewer than four do."""
    inside = {room: [file for file in importers if file.startswith(room)] for room in rooms}
    return [room for room, files in inside.items() if len(files) < (4 if room.endswith("/") else 1)]


def test_a_stranger_and_a_room_that_is_too_wide_are_found():
    importers = ["graph/graph.py", "storage/a.py", "storage/b.py", "text/words.py"]
    assert find_strangers(importers, ("storage/", "text/words.py")) == ["graph/graph.py"]
    assert find_unused_rooms(importers, ("storage/", "text/words.py", "text/urls.py")) == ["storage/", "text/urls.py"]


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_named_in_its_own_rooms_and_in_each_of_them(library):
    importers = [relative(path) for path in FILES if any(m.split(".")[0] == library for m, _ in imports_of(path))]
    assert not find_strangers(importers, HOMES[library])
    assert not find_unused_rooms(importers, HOMES[library])


def test_a_library_that_is_imported_by_its_name_is_seen(tmp_path):
    file = tmp_path / "planted.py"
    file.write_text("from importlib import import_module\nfound = import_module('datasette.app')\n", "utf-8")
    assert ("datasette.app", 2) in _imports_of(file, set())


def test_the_pure_part_neither_looks_at_the_clock_nor_sleeps_nor_draws_from_a_global_generator():
    found = []
    for path in FILES:
        if relative(path).startswith(DOORS):
            continue
        for node in nodes_of(path):
            if isinstance(node, ast.Attribute):
                dotted = ast.unparse(node)
                if dotted in CLOCKS or re.match(r"(np\.random|random)\.(seed|rand|random|choice|shuffle)$", dotted):
                    found.append(f"{relative(path)}:{node.lineno} {dotted}")
    assert not found


def test_files_and_functions_keep_their_measures():
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in FILES}
    lengths = {f"{relative(path)}:{node.name}": n for path in FILES for node, n in functions(path)}
    assert statistics.median(lengths.values()) <= 10
    assert not {relative(path): n for path, n in lines.items() if n > 500}
    assert not {name: n for name, n in lengths.items() if n > 50}


def test_each_test_that_is_left_to_make_test_all_is_there():
    listed = (ROOT / "tests/slow.txt").read_text("utf-8").split()
    known, _ = read_tests()
    assert listed == sorted(listed)
    assert not set(listed) - known


def test_unit_tests_lie_in_the_folders_of_the_package():
    unit = ROOT / "tests/unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert len(folders) > 20
    assert not [str(folder) for folder in folders if not (PACKAGE / folder).is_dir()]


KINDS = {"collect", "track", "refresh", "sample", "capture"}
PLATFORMS = {"x", "bluesky", "mastodon", "web"}
KNOW_KINDS = {
    "crawls/registry.py": "finds a kind by its name",
}
"""Files outside of crawls/KIND/ that tell kinds apart, and why."""
KNOW_PLATFORMS = {
    "platforms/registry.py": "finds a platform by its name",
    "mock/account_list.py": "names accounts as each service of the mock does",
    "mock/faults.py": "breaks answers as each service of the mock does",
    "mock/server_settings.py": "the settings of each service of the mock",
    "mock/services.py": "makes the services of the mock",
    "cli/mock_options.py": "the options of each service of the mock",
    "importers/twarc_files.py": "reads files that twarc wrote, which are answers of X",
}
"""Files outside of platforms/PLATFORM/ that tell platforms apart, and why."""
AFFIXES = {"startswith", "endswith", "removeprefix", "removesuffix"}
LOOKUPS = {"get", "pop", "setdefault"}


@cache
def homes_of_classes(folders):
    """The folders in which each class of one's own is defined, by its name."""
    homes = {}
    for path in FILES:
        home = next((folder for folder in folders if relative(path).startswith(folder)), None)
        for node in nodes_of(path) if home else ():
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(home)
    return homes


KIND_HOMES = tuple(f"crawls/{kind}/" for kind in KINDS)
PLATFORM_HOMES = tuple(f"{root}/{name}/" for root in ("platforms", "mock") for name in PLATFORMS)


def names_in(node):
    """The texts in a node, and what is named in capitals, in small letters: COLLECT, facts.WEB, X.name."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            found.add(one.value)
        name = one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
        if name.isupper():
            found.add(name.lower())
    return found


def is_key(node, names):
    """Whether a key of a dictionary is one of `names`, or the `.name` of one; a column may be called "x"."""
    if isinstance(node, ast.Constant):
        return node.value in names - {"x"}
    return isinstance(node, ast.Attribute) and node.attr == "name" and bool(names & names_in(node.value))


def is_list_of(node, names):
    """Whether a node is a list that contains several of `names`."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set):
        return False
    return len(names & {one.value for one in node.elts if isinstance(one, ast.Constant)}) > 1


def asks_which(node, names, classes):
    """Whether a node tells apart what is called one of `names`, or is of one of `classes`.

    It does in a comparison, in a `match`, at the beginning or end of a text, as the key of a dictionary, or by its
    class.
    """
    if isinstance(node, ast.Compare):
        return bool(names & set().union(*map(names_in, (node.left, *node.comparators))))
    if isinstance(node, ast.Dict):
        return any(is_key(key, names) for key in node.keys)
    if isinstance(node, ast.Subscript):
        return is_key(node.slice, names)
    if isinstance(node, ast.MatchValue):
        return bool(names & names_in(node.value))
    if isinstance(node, ast.MatchClass):
        return ast.unparse(node.cls).rpartition(".")[2] in classes
    if not isinstance(node, ast.Call) or not node.args:
        return False
    called = ast.unparse(node.func).rpartition(".")[2]
    if called in ("isinstance", "issubclass"):
        named = {one.rpartition(".")[2] for one in re.split(r"[^\w.]+", ast.unparse(node.args[1]))}
        return bool(named & classes)
    if called in LOOKUPS:
        return is_key(node.args[0], names)
    return called in AFFIXES and bool(names & names_in(node.args[0]))


def asks_which_kind(node, classes=None):
    """Whether a node tells kinds of campaigns apart, is a list of several, or reads the section of one."""
    if is_list_of(node, KINDS):
        return True
    if isinstance(node, ast.Attribute) and node.attr in KINDS:
        return ast.unparse(node.value).rpartition(".")[2].endswith("settings")
    return asks_which(node, KINDS, classes or homes_of_classes(KIND_HOMES).keys())


def asks_which_platform(node, classes=None):
    """Whether a node tells platforms apart, or is a list of several."""
    return is_list_of(node, PLATFORMS) or asks_which(
        node, PLATFORMS, classes or homes_of_classes(PLATFORM_HOMES).keys()
    )


@pytest.mark.parametrize(
    "line",
    ['kind == "track"', 'settings.kind in ("refresh", "other")', "facts is not COLLECT", "name == facts.SAMPLE.name",
     'kind.startswith("sample")', 'WORDS = {"track": "revisited"}', "WORDS = {TRACK.name: 1}", 'given.get("refresh")',
     'PARTS = ("track", "topic", "refresh")',
     'stored["sample"]', "self.settings.sample.tree", "isinstance(crawl, Track)", "isinstance(crawl, (Other, Sample))",
     "issubclass(made, crawls.Refresh | Other)", "match kind:\n case 'sample': pass",
     "match crawl:\n case Track(): pass"],
)  # fmt: skip
def test_what_asks_for_a_kind_of_campaign_is_known(line):
    assert any(map(asks_which_kind, ast.walk(ast.parse(line))))


@pytest.mark.parametrize(
    "line", ["crawl.sample(3)", 'say("track")', "isinstance(crawl, Crawl)", "settings.crawl.steps"]
)
def test_what_asks_for_no_kind_of_campaign_is_let_alone(line):
    assert not any(map(asks_which_kind, ast.walk(ast.parse(line))))


@pytest.mark.parametrize(
    "line",
    ['platform == "web"', 'self.platform not in ("bluesky", "other")', "told.platform == WEB", "name == X.name",
     'BETWEEN = {"bluesky": ".", "mastodon": "@"}', 'EDITABLE = ("bluesky", "mastodon")', 'SIGN = {"mastodon": "@"}',
     "SIGN = {facts.MASTODON.name: 1}", 'signs["web"]', 'name.startswith("bluesky")', "isinstance(wire, XWire)",
     "match name:\n case 'x': pass",
     "match platform:\n case BlueskyPlatform(): pass"],
)  # fmt: skip
def test_what_asks_for_the_name_of_a_platform_is_known(line):
    assert any(map(asks_which_platform, ast.walk(ast.parse(line))))


ADDRESS = re.compile(
    r"at://|\bdid:|bsky\\?\.app|app\\?\.bsky|\b(?:twitter|x)\)?\\?\.com|/2/(?:tweets|users)|/xrpc/|/api/v[12]/"
)


def knows_an_address(node, _classes=()):
    """Whether a node compares with, looks for or keeps an address of a platform, or an id that begins like one."""
    called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    kept = isinstance(node, ast.Assign) and all(isinstance(one, ast.Name) and one.id.isupper() for one in node.targets)
    if not (isinstance(node, ast.Compare) or kept or called in AFFIXES | {"compile", "fullmatch", "match", "search"}):
        return False
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return any(ADDRESS.search(text) for text in texts)


@pytest.mark.parametrize(
    "line",
    ['name.startswith(("did:", "http://"))', '"at://" in key', r're.compile(r"(?:twitter|x)\.com/\w+")',
     'HOST = "bsky.app"', 'TIMELINE = "/2/users/:id/tweets"', 'host == "api.x.com"'],
)  # fmt: skip
def test_what_knows_an_address_of_a_platform_is_seen(line):
    assert any(map(knows_an_address, ast.walk(ast.parse(line))))


def find_askers(asks, classes, homes):
    """The lines that tell kinds or platforms apart, by file, without those in their own folder."""
    found = {}
    for path in FILES:
        own = {home for home in homes if relative(path).startswith(home)}
        others = frozenset(name for name, folders in classes.items() if not folders & own)
        for node in nodes_of(path):
            if not own and asks(node, others):
                found.setdefault(relative(path), []).append(f"{node.lineno} {ast.unparse(node)[:80]}")
    return found


IMPORT_KINDS = (
    "crawls/facts.py", "crawls/registry.py", "campaign/settings.py", "campaign/sections/topic.py", "cli/", "render/",
    "api/", "lab/", "testing/", "contracts/", *(f"crawls/{kind}/" for kind in sorted(KINDS)),
)  # fmt: skip
"""What may import a kind's own modules: where kinds are listed, their settings, and what shows their results."""
IMPORT_PLATFORMS = (
    "platforms/facts.py", "platforms/registry.py", "importers/twarc_files.py", "importers/import_posts.py", "mock/",
    *(f"platforms/{name}/" for name in sorted(PLATFORMS)),
)  # fmt: skip
"""What may import a platform's own modules: where platforms are listed, the mock, and what reads files of X."""


def find_intruders(imports, own, rooms):
    """Those of {file: the modules that it imports} that import one of the folders `own`, and are in no room."""
    inside = tuple(f"{folder}." for folder in own)
    return sorted(
        file
        for file, modules in imports.items()
        if not file.startswith(rooms) and any(f"{module}.".startswith(inside) for module in modules)
    )


def test_the_web_pages_stand_on_the_python_interface_and_reach_nowhere_deeper():
    below = ("web.", "system.", "text.", "errors")
    pages = [path for path in FILES if relative(path).startswith("web/")]
    assert len(pages) > 8
    assert not [(relative(path), one) for path in pages for one in ours(path) if not f"{one}.".startswith(below)]


def test_an_import_of_what_is_a_kinds_own_is_found():
    imports = {"verify/replay.py": {"crawls.track.crawl"}, "cli/x.py": {"crawls.track"}, "a.py": {"crawls.tracks"}}
    assert find_intruders(imports, ["crawls.track"], ("cli/",)) == ["verify/replay.py"]


def test_what_is_a_kinds_or_a_platforms_own_is_imported_where_it_is_listed_or_shown():
    imports = {relative(path): ours(path) for path in FILES}
    assert not find_intruders(imports, [f"crawls.{kind}" for kind in KINDS], IMPORT_KINDS)
    assert not find_intruders(imports, [f"platforms.{name}" for name in PLATFORMS], IMPORT_PLATFORMS)


def test_no_module_but_the_kinds_themselves_asks_which_kind_a_campaign_is_of():
    found = find_askers(asks_which_kind, homes_of_classes(KIND_HOMES), KIND_HOMES)
    assert not {file: lines for file, lines in found.items() if file not in KNOW_KINDS}
    assert not KNOW_KINDS.keys() - found.keys()


def test_no_module_but_the_platforms_themselves_asks_for_the_name_of_a_platform():
    found = find_askers(asks_which_platform, homes_of_classes(PLATFORM_HOMES), PLATFORM_HOMES)
    assert not {file: lines for file, lines in found.items() if file not in KNOW_PLATFORMS}
    assert not KNOW_PLATFORMS.keys() - found.keys()


KNOW_ADDRESSES = {
    "platforms/facts.py": "lists what is known of each platform",
    "cli/mock_options.py": "shows how a limit of the mock is written",
}
"""Files outside of platforms/PLATFORM/ and the mock that know an address, and why."""


def test_no_module_but_the_platforms_themselves_knows_an_address_of_one():
    homes = ["mock/", *(f"platforms/{name}/" for name in PLATFORMS)]
    found = find_askers(knows_an_address, {}, homes)
    assert not {file: lines for file, lines in found.items() if file not in KNOW_ADDRESSES}
    assert not KNOW_ADDRESSES.keys() - found.keys()


def test_every_public_name_has_a_docstring():
    bare = []
    for path in FILES:
        tree = nodes_of(path)[0]
        if not ast.get_docstring(tree):
            bare.append(relative(path))
        places = [("", tree)] + [(f"{n.name}.", n) for n in tree.body if isinstance(n, ast.ClassDef)]
        for owner, place in places:
            for node in place.body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                if not node.name.startswith("_") and not owner.startswith("_") and not ast.get_docstring(node):
                    bare.append(f"{relative(path)}:{owner}{node.name}")
    assert not bare


def test_no_file_or_class_has_a_name_that_says_nothing():
    names = [part for path in FILES for part in relative(path).replace(".py", "").split("/")]
    names += [n.name for path in FILES for n in nodes_of(path) if isinstance(n, ast.ClassDef)]
    assert not [name for name in names if FORBIDDEN.search(name)]


def find_repeated_classes(sources):
    """The names of classes that several files define, private ones too, from {file: its nodes}."""
    homes = {}
    for file, nodes in sources.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(file)
    return {name: files for name, files in homes.items() if len(files) > 1}


def test_a_class_name_that_is_defined_twice_is_found():
    sources = {"a.py": "class Rows: ...", "b.py": "class _Rows: ...", "c.py": "def f():\n class _Rows: ..."}
    nodes = {file: ast.walk(ast.parse(source)) for file, source in sources.items()}
    assert find_repeated_classes(nodes) == {"_Rows": ["b.py", "c.py"]}


def test_no_class_name_is_defined_twice():
    assert not find_repeated_classes({relative(path): nodes_of(path) for path in FILES})


SAME_IDEA = {
    *("base", "facts", "registry", "kind", "section", "make", "crawl", "rules", "report", "datasheet", "explain"),
    *("platform", "source", "wire", "classify", "parse", "entities", "vocabulary", "profiles", "identifiers"),
    *("service", "render", "parameters", "search"),
    *("commands", "runs", "audit", "backup", "check", "daemon", "export", "forget", "quote", "steering", "train"),
    *("holdings", "integrity", "snapshot", "walks"),
}
"""File stems that several folders have for the same idea: one for each kind, platform or paper, or for a command."""


def test_no_file_stem_is_used_for_two_ideas():
    stems = {}
    for path in FILES:
        if path.stem != "__init__" and path.stem not in SAME_IDEA:
            stems.setdefault(path.stem, []).append(relative(path))
    assert not {stem: files for stem, files in stems.items() if len(files) > 1}


def test_every_folder_says_what_may_be_done_in_it():
    folders = {path.parent for path in FILES}
    texts = {folder: (folder / "__init__.py").read_text("utf-8") for folder in folders}
    assert not [relative(folder) for folder, text in texts.items() if not ast.get_docstring(ast.parse(text))]


def test_files_that_the_source_speaks_of_are_there():
    there = {
        f"/{file.relative_to(ROOT)}" for folder in ("socialcrawl", "examples") for file in (ROOT / folder).rglob("*.py")
    }
    absent = [
        f"{relative(path)}: {name}"
        for path in FILES
        for name in re.findall(r"(?<![\w./*])([a-z_/]+\.py)\b", path.read_text("utf-8"))
        if not any(file.endswith(f"/{name}") for file in there)
    ]
    assert not absent


REFERENCE = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)[`(]")
FILE_ENDS = (".py", ".json", ".txt", ".csv")  # names of files are no names of code
NO_CODE = {
    "subject.Science.Biology": "a category, as a file writes it",
    "post.fields": "a parameter of X",
    "tweet.fields": "a parameter of X",
    "accounts.exclude": "a key of campaign files",
    "accounts.include": "a key of campaign files",
    "seeds.usernames": "a key of campaign files",
    "topic.keywords": "a key of campaign files",
    "straße.de": "a domain",
    "strasse.de": "a domain",
}
"""Dotted names in docstrings that are no code, and what they are."""


def list_references(nodes):
    """Yield (line, dotted name) for each `module.name` in the docstrings among the nodes of a source."""
    for node in nodes:
        for one in node.body if isinstance(getattr(node, "body", None), list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                text = one.value.value
                for match in REFERENCE.finditer(text):
                    if not match[1].endswith(FILE_ENDS):
                        yield one.lineno + text[: match.start()].count("\n"), match[1]


def list_members(body):
    """The names that a module or a class defines: classes, functions, values, fields and imports."""
    found = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return found


@cache
def list_definitions():
    """{module: its names} and {class: its members, those of its parents too} of the package."""
    modules, members, parents = {}, {}, {}
    for path in FILES:
        modules[name_of(path)] = list_members(nodes_of(path)[0].body)
        for node in (one for one in nodes_of(path) if isinstance(one, ast.ClassDef)):
            own = {
                one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
            }
            members[node.name] = own | list_members(node.body)
            parents[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    for _ in range(4):  # generations
        for name, bases in parents.items():
            members[name].update(*(members.get(base, ()) for base in bases))
    return modules, members


def is_defined(dotted):
    """Whether a dotted name is a module, or a name in one, or a member of a class: here, or in a library."""
    modules, members = list_definitions()
    parts = dotted.removeprefix("socialcrawl.").split(".")
    for length in range(len(parts) + 1):
        place, names = ".".join(["", *parts[:length], ""]), parts[length:]
        if not names:
            return any(place in f".{module}." for module in modules) or is_in_library(parts)
        there = [own for module, own in modules.items() if f".{module}.".endswith(place)] if length else [members]
        if any(names[0] in own and set(names[1:]) <= members.get(names[0], set()) for own in there):
            return True
    return False


def is_in_library(parts):
    """Whether a dotted name is one of a library that the package uses, or of Python."""
    import importlib

    if parts[0] not in {"np", *sys.stdlib_module_names, *HOMES}:
        return False
    try:
        found = importlib.import_module({"np": "numpy"}.get(parts[0], parts[0]))
        for length, part in enumerate(parts[1:], 2):
            found = getattr(found, part, None) or importlib.import_module(".".join(parts[:length]))
    except ImportError:
        return False
    return True


def test_a_dotted_name_in_a_docstring_that_leads_nowhere_is_found():
    source = """
def f():
    '''Return `platforms.base.Platform`, as `Platform.make_wire(...)` or `protocols.Store.held` say.

    `np.sum`, `datetime.datetime.now` and `importance.opic` are there, and `sql_store.py` is a file. Neither
    `platforms.platform.Platform`, `Platform.wore(...)`, `draws.NAMES` nor `statistics.sum_up` is.
    '''
"""
    absent = [(line, name) for line, name in list_references(ast.walk(ast.parse(source))) if not is_defined(name)]
    assert absent == [
        (6, "platforms.platform.Platform"), (6, "Platform.wore"), (6, "draws.NAMES"), (6, "statistics.sum_up"),
    ]  # fmt: skip


def test_dotted_names_in_docstrings_lead_somewhere():
    named = [(path, *found) for path in FILES for found in list_references(nodes_of(path))]
    absent = [(f"{relative(path)}:{line}", name) for path, line, name in named if not is_defined(name)]
    assert not [(place, name) for place, name in absent if name not in NO_CODE]
    assert not NO_CODE.keys() - {name for _, name in absent}


def test_every_exception_to_a_lint_rule_says_why():
    silent = []
    for path in FILES:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            match = re.search(r"# noqa: [A-Z0-9, ]+(.*)$", line)
            if match and not match[1].strip(" #()") and "PLC0415" not in line:
                silent.append(f"{relative(path)}:{number}")
            assert "# noqa" not in line or match, f"{relative(path)}:{number} silences everything"
    assert not silent


def test_heavy_modules_are_imported_where_they_are_used():
    import subprocess

    code = "import sys, socialcrawl.cli.main; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "tweepy", "requests", "sqlalchemy", "alembic", "pyarrow", "matplotlib", "starlette", "uvicorn"}
    heavy |= {"apprise"}
    assert not heavy & set(done.stdout.split())


def test_importing_any_module_opens_no_file_to_write_and_no_socket():
    import subprocess

    modules = [f"socialcrawl.{name_of(path)}" for path in FILES if path.name not in ("__main__.py", "__init__.py")]
    code = f"""
import sys
def watch(event, args):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system"):
        raise SystemExit(f"importing did {{event}} {{args}}")
    writes = event == "open" and isinstance(args[1], str) and any(c in args[1] for c in "wax+")
    if writes:
        raise SystemExit(f"importing opened {{args}}")
import matplotlib, pyarrow, tweepy  # what libraries do at import (caches, a look for IPv6) is theirs
sys.addaudithook(watch)
import importlib
for name in {modules!r}:
    importlib.import_module(name)
print("quiet")
"""
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "quiet", done.stdout + done.stderr


def test_the_words_of_the_house_are_listed_in_the_model():
    text = (PACKAGE / "engine/model.py").read_text("utf-8")
    assert not [word for word in WORDS if f"| {word} |" not in text]


def test_every_command_is_in_the_reference():
    from socialcrawl.cli.main import app

    page = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert len(commands) >= 6
    assert not [name for name in commands if f"## socialcrawl {name.replace('_', '-')}\n" not in page]


DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(
        file
        for folder in (".github", "benchmarks", "deploy", "docs", "examples")
        for file in (ROOT / folder).rglob("*.md")
    ),
]


@cache
def anchors_of(document):
    """The names of a page's headings, as GitHub and `make docs` make them."""
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)|[^\w\s-]", "", title).lower() for title in titles]
    return {title.replace(" ", "-") for title in plain}


def find_broken_links(document):
    """The links of a page to files that are not there, or to headings that a page does not have.

    A page of the site may link to files of the project, but to no other Markdown: the builder takes it for a page.
    """
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        there = (document.parent / target if target else document).resolve()
        left = there.suffix == ".md" and there.is_relative_to(ROOT) and not there.is_relative_to(ROOT / "docs")
        if (left and document.is_relative_to(ROOT / "docs")) or not there.exists():
            yield f"{document.name}: {target}"
        elif anchor and there.suffix == ".md" and anchor not in anchors_of(there):
            yield f"{document.name}: {target}#{anchor}"


def test_broken_links_and_anchors_are_found(tmp_path):
    (tmp_path / "a.md").write_text(
        "# `One`, two\n[x](b.md#why-not) [y](c.md) [z](#one-two) [u](#one) [v](b.md#no)\n```\n[w](d.md)\n```\n", "utf-8"
    )
    (tmp_path / "b.md").write_text("## Why not?\n```\n# No\n```\n", "utf-8")
    assert list(find_broken_links(tmp_path / "a.md")) == ["a.md: c.md", "a.md: #one", "a.md: b.md#no"]


def test_links_in_the_documents_lead_somewhere():
    assert len(DOCUMENTS) > 20
    assert not [link for document in DOCUMENTS for link in find_broken_links(document)]


def test_the_pages_made_from_the_program_are_current():
    from reference_pages import FOLDER, PAGES

    old = [name for name, render in PAGES.items() if (FOLDER / name).read_text("utf-8") != render()]
    assert not old, "run `make reference` and commit the pages"


UNLISTED = "development/renames.md"  # for who reads the history; the design links to it


def test_the_menu_of_the_site_has_every_page_but_the_one_on_old_names():
    import tomllib

    listed = re.findall(
        r"[\w/-]+\.md", str(tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"])
    )
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert UNLISTED in pages
    assert sorted(listed) == sorted(pages - {UNLISTED})


def test_the_locks_name_versions_and_hashes_but_no_index():
    for name in ("requirements.lock", "requirements-server.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text("utf-8")
        pins = re.findall(r"^[A-Za-z0-9_.-]+==", text, re.MULTILINE)
        assert len(pins) > 20
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "--index" not in text


def test_every_dependency_is_used():
    import tomllib

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    imported = {module.split(".")[0].lower() for path in FILES for module, _ in imports_of(path)}
    names = {re.split(r"[><=\[ ]", line)[0] for line in listed}
    called = {"scikit-learn": "sklearn", "prometheus-client": "prometheus_client", "httptools": "uvicorn"}
    called["websockets"] = "uvicorn"  # like its parser, for the mock
    assert not {called.get(name, name) for name in names} - imported


def plural_counts(path):
    """Counts in a module's texts that are followed by a plural, whatever they are; constants are more than one."""
    for node in nodes_of(path):
        for count, text in pairwise(node.values) if isinstance(node, ast.JoinedStr) else ():
            is_count = isinstance(count, ast.FormattedValue) and ast.unparse(count.format_spec or count) == "f','"
            if is_count and isinstance(text, ast.Constant) and PLURAL.match(text.value):
                name = ast.unparse(count.value)
                yield from () if name.isupper() else [f"{relative(path)}:{node.lineno} {name}{text.value}"]


def test_commands_say_one_of_a_thing_in_the_singular():
    """`words.pluralize` does; those of the laboratory count thousands."""
    thousands = ("cli/commands/lab.py", "cli/commands/simulate.py")
    commands = [path for path in FILES if relative(path).startswith("cli/") and relative(path) not in thousands]
    assert not [line for path in commands for line in plural_counts(path)]


def calls_in(*nodes):
    return {ast.unparse(call.func) for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call)}


def below_a_minute(nodes):
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return any(isinstance(value, int | float) and value < 60 for value in values)


def is_hasty(node):
    """Whether a piece of a test depends on how fast the machine is.

    It does if it measures with `perf_counter`, sleeps for a random time, asserts that something took less than a
    minute, or gives a process less than that.
    """
    if isinstance(node, ast.Attribute | ast.Name):
        return ast.unparse(node).endswith("perf_counter")
    if isinstance(node, ast.Compare):
        most = [at for op, at in zip(node.ops, node.comparators, strict=True) if isinstance(op, ast.Lt | ast.LtE)]
        return below_a_minute(most) and bool({"monotonic", "time.monotonic", "time.time"} & calls_in(node))
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    if name == "sleep":
        return any(call.endswith(("random", "uniform")) for call in calls_in(*node.args))
    return name == "communicate" and below_a_minute([word.value for word in node.keywords if word.arg == "timeout"])


@cache
def read_tests():
    """The functions of all test files, as file::function, and the lines of tests that depend on the machine."""
    functions, hasty = set(), []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and path.name.startswith("test_"):
                functions.add(f"{path.name}::{node.name}")
            if is_hasty(node):
                hasty.append(f"{path.name}:{node.lineno} {ast.unparse(node)[:60]}")
    return functions, hasty


@pytest.mark.parametrize(
    "line",
    ["perf_counter()", "time.sleep(draw.uniform(0.0, 0.9))", "assert 0.2 < time.monotonic() - began < 5.0",
     "child.communicate(timeout=5)", "abs(at - time.time()) <= 5"],
)  # fmt: skip
def test_what_depends_on_the_speed_of_the_machine_is_known(line):
    assert any(map(is_hasty, ast.walk(ast.parse(line))))


def test_no_test_depends_on_the_speed_of_the_machine():
    """Kill at counted events, give clocks, measure in benchmarks, and give what hangs minutes."""
    _, hasty = read_tests()
    assert not hasty
