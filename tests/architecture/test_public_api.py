"""What `import socialcrawl` promises: names, signatures, columns, and examples that run."""

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from api_examples import open_example_world
from public_members import find_members, list_own_classes

import socialcrawl as sc
from socialcrawl.api import network, table_definitions
from socialcrawl.campaign.settings import Settings

ROOT = Path(__file__).parents[2]
STUB = ROOT / "socialcrawl/__init__.pyi"
PROMISE = Path(__file__).with_name("public_api.txt")
TABLES = {
    "posts": table_definitions.POSTS.columns,
    "accounts": table_definitions.ACCOUNTS.columns,
    "score_curve": table_definitions.SCORE_CURVE.columns,
    "campaigns": table_definitions.CAMPAIGNS.columns,
    "ledger": table_definitions.LEDGER.columns,
    "changes": table_definitions.CHANGES.columns,
    "nodes": network.NODE_COLUMNS,
    "edges": network.EDGE_COLUMNS,
}


def format_call(one):
    """The parameters of a function, without annotations, which Python versions write differently."""
    signature = inspect.signature(one)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def list_members(name, one):
    """The public members of a class; only a Campaign is made by calling its class."""
    yield name + (format_call(one) if one is sc.Campaign else "")
    for member, value in sorted(find_members(one).items()):
        plain = inspect.unwrap(value.__func__ if isinstance(value, classmethod | staticmethod) else value)
        if member.startswith("_"):
            continue
        if callable(plain):
            yield f"{name}.{member}{format_call(plain)}"
        elif isinstance(plain, property) or inspect.ismemberdescriptor(plain):
            yield f"{name}.{member}"


def describe_interface():
    """One line for each public name, method and column: what may only be changed with a new major version."""
    lines = []
    for name in sorted(sc.__all__):
        one = getattr(sc, name)
        lines += list_members(name, one) if inspect.isclass(one) else [name + format_call(one)]
    for table, columns in TABLES.items():
        lines += [f"table {table}: {column} {kind}" for column, (kind, _) in columns.items()]
    return "\n".join(lines) + "\n"


def test_the_interface_is_the_one_that_is_promised():
    """After an intended change: python tests/architecture/test_public_api.py"""
    assert describe_interface() == PROMISE.read_text("utf-8")


def test_every_public_name_has_a_docstring_that_says_what_it_does():
    for name in sc.__all__:
        one = getattr(sc, name)
        assert inspect.getdoc(one), name
        for member, value in find_members(one).items() if inspect.isclass(one) else ():
            assert member.startswith("_") or not callable(value) or inspect.getdoc(value), f"{name}.{member}"


UNCHECKED = {
    **dict.fromkeys(
        (f"Campaign.{key}" for key in ("added", *Settings.model_fields) if key != "name"),
        "the settings check them, and name the key",
    ),
    "simulate.graph": "simulate says itself how to make one",
    "simulate.estimators": "simulate says itself what is wrong with which one",
}


def list_public_callables():
    """(name, function) of what a program calls: not of estimators, which programs write, nor of results and errors."""
    for name in sc.__all__:
        one = getattr(sc, name)
        if not inspect.isclass(one):
            yield name, one
        elif one is not sc.Estimator:
            members = {} if one is not sc.Campaign else {name: one.__init__}
            own = {
                f"{name}.{member}": value for member, value in find_members(one).items() if not member.startswith("_")
            }
            for member, value in (members | own).items():
                function = value.__func__ if isinstance(value, classmethod) else value
                if inspect.isfunction(function):
                    yield member, function


def test_every_argument_of_a_public_callable_is_checked():
    found = set()
    for name, function in list_public_callables():
        rules = vars(function).get("argument_rules", {})
        parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
        assert set(rules) <= parameters, name
        found |= {f"{name}.{parameter}" for parameter in parameters - set(rules)}
    assert found == set(UNCHECKED)


def test_the_stub_for_type_checkers_has_the_same_names_from_the_same_places():
    found = {
        alias.asname: (node.module, alias.name)
        for node in ast.parse(STUB.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(found) == sorted(sc.__all__)
    for name, (module, attribute) in found.items():
        assert getattr(importlib.import_module(module), attribute) is getattr(sc, name)


def test_a_name_that_does_not_exist_is_an_attribute_error_and_all_names_are_listed():
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        _ = sc.opne
    assert set(sc.__all__) <= set(dir(sc))


def find_examples(name):
    """The examples of a public name: of its docstring and, for a class, of the docstrings of its members."""
    one = getattr(sc, name)
    parts = list_own_classes(one) if inspect.isclass(one) else [one]
    found = [test for part in parts for test in doctest.DocTestFinder().find(part, name, module=False)]
    return [test for test in found if test.examples]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with open_example_world(tmp_path_factory.mktemp("examples")) as names:
        yield names


@pytest.mark.parametrize("name", sorted(sc.__all__))
def test_the_examples_in_docstrings_run(name, world, capsys):
    for test in find_examples(name):
        Path("new.db").unlink(missing_ok=True)
        test.globs = dict(world)
        assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(sc.__all__))
def test_every_public_name_has_an_example_that_uses_each_of_its_methods(name):
    source = "\n".join(example.source for test in find_examples(name) for example in test.examples)
    assert source, f"{name} has no example"
    one = getattr(sc, name)
    members = [member for member in find_members(one) if not member.startswith("_")] if inspect.isclass(one) else []
    missing = [member for member in members if not re.search(rf"\b{member}\b", source)]
    assert not missing, f"no example of {name} uses {missing}"


def test_no_heavy_library_is_loaded_before_it_is_used():
    heavy = "pandas polars networkx igraph matplotlib sklearn scipy pyarrow sqlalchemy numpy pydantic"
    code = f"import sys, socialcrawl; print([name for name in {heavy.split()} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
    code = f"import sys, socialcrawl; socialcrawl.open; print([n for n in {heavy.split()[:5]} if n in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


@pytest.mark.parametrize("library", ["pandas", "polars", "networkx", "igraph"])
def test_a_missing_library_is_named_with_the_extra_that_has_it(library, monkeypatch):
    from socialcrawl.api.data_tables import import_library

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        sc.SocialcrawlError, match=rf"{library} is not installed: pip install 'socialcrawl\[analysis\]'"
    ):
        import_library(library)


if __name__ == "__main__":
    PROMISE.write_text(describe_interface(), "utf-8")
