"""docs/architecture.md tells of the tree as it is."""

import re

from conftest import PROJECT
from test_package import ORDER, PACKAGE

PAGE = (PROJECT / "docs" / "architecture.md").read_text()


def test_the_table_of_folders_has_the_order_of_imports():
    table = PAGE.split("## The folders")[1].split("## The way")[0]
    names = [name for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(.*?)`", row)]
    assert [name.strip("/").removesuffix(".py") for name in names] == [name for name in ORDER if name != "__main__"]


def test_the_walks_name_functions_that_are_there():
    for folder, rest in re.findall(r"^1\. `(\w+)/` ((?:.|\n   )*)", PAGE, re.MULTILINE):
        for place in re.sub(r"\s+", " ", rest).split("; "):
            module, _, names = place.rpartition(": ")
            file = PACKAGE / folder / module.replace(".", "/")
            file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
            text = file.read_text()
            for name in names.split(", "):
                assert re.search(rf"(def|class) {name.rpartition('.')[2]}\b", text), f"{folder}/{module}: {name}"
