"""Hostile text in data, names, files and models is text wherever people see it."""

import ast
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.text import Text

import hicorex
from hicorex import HicorexError, HierarchicalCorex
from hicorex.bounds.result import NoUpper, NoUpperReason
from hicorex.cli.display import LiveProgress, PrintableConsole, show_decisions
from hicorex.datasets import make_latent_tree
from hicorex.findings.groups import groupings_of
from hicorex.findings.reasons import why_this_size
from hicorex.findings.words import summary
from hicorex.fitted.model import StopReason
from hicorex.input.column_kinds import ColumnDecision, ColumnReason
from hicorex.input.notes import Renamed
from hicorex.report import named_samples, write_report
from hicorex.report.markup import Markup, element, joined, script_data, text
from hicorex.selection.sizing import Sizing, Tried
from hicorex.storage.archive import to_bytes
from hicorex.support.printing import PrintableStream, json_text, printable, printable_streams

PACKAGE = Path(hicorex.__file__).parent
AWAY = '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/x">'
IMAGE = "<img src=http://127.0.0.1:9/y onerror=alert(1)>"
SCRIPT = "\"'></td></script><script>alert(1)</script>"
ESCAPES = "\x1b]0;owned\x07\x1b[31m \x9b2J \x7f \u202eflip\u2066 \u2028 \ud800 \r\nhicorex: all is well"
FORMULA = '=HYPERLINK("http://127.0.0.1:9/z")'
HOSTILE = [AWAY, IMAGE, SCRIPT, ESCAPES, FORMULA, "</script", "${title} $title $x^2$", "<!--<svg/onload=alert(1)>"]
# What a terminal obeys, or shows in another order; line feeds are of the layout.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def crafted(tmp_path_factory):
    """A model in a file whose every text is hostile, with a table of such names, rows and values."""
    X = make_latent_tree(60, 8, 2, random_state=1)[0]
    values = np.array(HOSTILE[:2], object)
    table = pd.DataFrame(values[X], columns=pd.Index(HOSTILE, dtype=object))
    table = table.set_axis(pd.Index([f"{HOSTILE[i % 8]} {i}" for i in range(60)], name=AWAY, dtype=object))
    # Two factors on top, as where the search for a layer above them found no more than chance.
    model = HierarchicalCorex((2,), n_states=2, n_init=1, random_state=0).fit(table).set_params(layers="auto")
    no_upper = NoUpper(NoUpperReason.NOT_DISCRETE, f"{IMAGE} {ESCAPES} $x^2$")
    none = dict.fromkeys(("upper", "upper_stderr", "upper_theorem", "entropy_lower", "entropy_upper"))
    fitted = replace(
        model.fitted_,
        stop_reason=StopReason.NOTHING_MORE,
        next_sizing=Sizing(1, (Tried(1, 0.1, 0.1, 1),)),
        bounds=replace(model.bounds_, no_upper=no_upper, **none),
        reading={"missing": [], "row_names": AWAY, "words": {}, "names": None},
    )
    model.publish(fitted, layers_=model.layers_)
    path = tmp_path_factory.mktemp("crafted") / "model.hicorex"
    model.save(path)
    return path, table


@pytest.fixture(scope="module")
def crafted_page(crafted):
    """The report of that model, with texts also where numbers and names of ours belong, as no file may have them."""
    path, table = crafted
    model = hicorex.load(path)
    own = model.bounds_
    layers = tuple(row._replace(name=f"{AWAY} {ESCAPES} $y$", n_factors=f"{AWAY} {IMAGE}") for row in own.layers)
    factors = tuple(row._replace(name=f"{SCRIPT} {ESCAPES}") for row in own.factors)
    model.bounds_ = replace(own, layers=layers, factors=factors)
    model.set_params(structure=AWAY, random_state=IMAGE, verbose=SCRIPT)
    groups = pd.Series([IMAGE, AWAY, ESCAPES, SCRIPT] * 2, pd.Index(HOSTILE, dtype=object), object, SCRIPT)
    decisions = [
        ColumnDecision(name, AWAY, ColumnReason.UNUSABLE_TYPE, 0.1, type_name=f"{IMAGE} {ESCAPES}") for name in HOSTILE
    ]
    samples = named_samples(table, *model.states_and_log_z(table))
    groupings = groupings_of(HOSTILE, groups)
    write_report(path.with_name("report.html"), model, samples, groupings, f"{SCRIPT} {ESCAPES}", decisions)
    path.with_name("small.html").write_text(f"<!doctype html><meta charset=utf-8>{model._repr_html_()}", "utf-8")
    return path.with_name("report.html")


# A page


def test_a_crafted_model_stays_on_its_page(visit, crafted_page):
    page = visit(crafted_page)
    page.wait_for_timeout(300)
    assert page.locator("meta[http-equiv=refresh], img:not(.pixels), script:not([id=data])").count() == 1  # ours
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title().startswith("\"'></td></script><script>alert(1)")
    for where in ("#summary", "#explained", "#made"):
        assert "<meta http-equiv=refresh" in page.locator(where).inner_text()
    assert IMAGE in page.locator("#explained").inner_text()
    assert page.locator("#columns").inner_text().count(IMAGE) == len(HOSTILE) + 1
    assert "${title}" in page.locator("#factors").inner_text()
    assert "<meta http-equiv" in page.locator("#samples").inner_text()
    assert not UNSAFE.search(page.locator("body").inner_text().replace("\t", " "))
    names = page.evaluate("JSON.parse(document.getElementById('data').textContent).map.names")
    for name in names[:8]:
        page.fill("#search", name)
        page.press("#search", "Enter")
        assert page.locator("#panel h3").text_content() == name
    for button in page.locator("button[data-factor]").all():
        button.click()
        assert page.locator("#panel").is_visible()
    assert page.locator("#panel img, #panel script, #legend img").count() == 0


def test_a_notebook_shows_a_crafted_model_as_text(visit, crafted_page):
    page = visit(crafted_page.with_name("small.html"), ours=False)
    page.wait_for_timeout(300)
    assert page.locator("meta[http-equiv], img").count() == 0
    assert "<img src=http" in page.locator(".hicorex").inner_text()


def test_markup_escapes_what_it_has_not_made():
    assert element("b", "<i>", title='"><i>') == '<b title="&quot;&gt;&lt;i&gt;">&lt;i&gt;</b>'
    assert element("b", element("i", "&")) == "<b><i>&amp;</i></b>"
    assert joined(["<", element("br")], ">") == "&lt;&gt;<br></br>"
    assert not isinstance(element("i") + "<b>", Markup)  # a sum is text again
    assert text("a\x1b\u202e") == "a\\x1b\\u202e"
    assert script_data(["</script>", "\u2028", "\ud800", "\x7f"]) == (
        '["\\u003c/script\\u003e","\\u2028","\\ud800","\\u007f"]'
    )


def test_no_other_module_writes_html():
    """Tags are written by markup.py alone; graph.py writes XML, figures.py tidies that of matplotlib."""
    tags = (
        "a|b|i|p|br|h[1-6]|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|th|td|div|span|img|svg|figure|figcaption|button|label"
    )
    tags += "|input|details|summary|section|script|style|meta|link|html|head|body|iframe|form|text|g"
    tag = re.compile(rf"</?({tags})[\s>/]|<!", re.IGNORECASE)
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        own = file.relative_to(PACKAGE).as_posix()
        words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        literals = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words
        ]
        made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and "Markup" in ast.unparse(node.func)]
        if own != "report/markup.py":
            assert not made, own
        if own not in ("report/markup.py", "report/figures.py", "findings/graph.py"):
            assert not [own for own in literals if tag.search(own)], own


# A terminal


def test_what_a_terminal_obeys_is_spelt_out():
    shown = printable("a\x1b[2J\x9b\x7f\x00\u202e\u2066\u2028\ud800\r\n\t\x85\U000e0001")
    assert shown == r"a\x1b[2J\x9b\x7f\x00\u202e\u2066\u2028\ud800\r\n\t\x85\U000e0001"
    same = "snow \u2603, \U0001f469\u200d\U0001f52c, \u6f22\u5b57\u3000, 1\u00a0000, \u0627\u0644"
    assert printable(same) == same
    assert json.loads(json_text({"a": "\x7f\x1b"})) == {"a": "\x7f\x1b"}
    assert not UNSAFE.search(json_text("\x7f\x9b\u2028"))


def test_streams_take_text_alone():
    below = io.StringIO()
    stream = PrintableStream(below)
    print("a\x1b\nb", file=stream, flush=True)
    stream.writelines(["c\r", "d"])
    assert below.getvalue() == "a\\x1b\nb\nc\\rd"
    with pytest.raises(TypeError):
        stream.write(b"a")
    before = sys.stdout, sys.stderr
    with pytest.raises(ValueError, match="x"), printable_streams():
        raise ValueError("x")
    assert (sys.stdout, sys.stderr) == before


def test_summaries_and_messages_of_a_crafted_model_are_printable(crafted):
    model = hicorex.load(crafted[0])
    for told in (summary(model), str(model.bounds_), repr(model.bounds_), str(HicorexError(ESCAPES))):
        assert "x1b" in told
        assert not UNSAFE.search(told)
    assert len(str(model.bounds_).splitlines()) == 3 + len(model.layers_)


@pytest.fixture
def clean(run):
    """A command all of whose output is printable, and says something hostile."""

    def give(*words, code=0, says="x1b"):
        told = run(*words)
        assert told.code == code, told.err
        assert not UNSAFE.search(told.out + told.err)
        assert "--debug" in words or "\nhicorex: all is well" not in told.err
        assert says in told.out + told.err
        return told

    return give


def test_commands_on_a_crafted_model_leave_the_terminal_alone(clean, crafted, tmp_path):
    path, table = crafted
    odd = tmp_path / "odd\x1b[2J\u202e\nhicorex: all is well"
    odd.mkdir()
    clean("describe", path)
    told = clean("describe", path, "--json", says="\\u001b")
    assert json.loads(told.out)["stop_reason"] == f"in layer 2, {why_this_size(hicorex.load(path).next_sizing_)}"
    clean("report", path, "--out", odd / "page.html")
    clean("report", path, "--out", odd / "page.txt", code=2)
    clean("describe", odd / "none.hicorex", code=2)
    clean("describe", odd / "none.hicorex", "--debug", code=1)
    clean("describe", path, f"--{ESCAPES[:30]}", code=2)
    clean("transform", path, odd / "none \udcff.csv", code=2)
    table.iloc[:, :3].to_csv(odd / "few.csv", index=False)
    clean("transform", path, odd / "few.csv", code=2)
    clean("score", path, odd / "few.csv", code=2)


def test_whatever_a_command_prints_is_printable(clean, crafted, monkeypatch):
    """Also what nobody has thought of: text of another library, and where a fault arose."""
    monkeypatch.setattr("hicorex.findings.words.summary", lambda model: ESCAPES)
    clean("describe", crafted[0])
    monkeypatch.setattr("hicorex.findings.words.summary", _fault)
    clean("describe", crafted[0], code=1)
    clean("describe", crafted[0], "--debug", code=1)


def _fault(model):
    raise RuntimeError(ESCAPES)


def test_messages_about_files_leave_the_terminal_alone(clean, tmp_path, monkeypatch):
    (tmp_path / "kind.hicorex").write_bytes(to_bytes(ESCAPES.replace("\ud800", ""), {}))
    clean("describe", "kind.hicorex", code=2, says="damaged")
    monkeypatch.setattr("hicorex.storage.archive.FORMAT", 99)
    monkeypatch.setattr("hicorex.__version__", ESCAPES.replace("\ud800", ""))
    (tmp_path / "version.hicorex").write_bytes(to_bytes("model", {}))
    monkeypatch.setattr("hicorex.storage.archive.FORMAT", 1)
    clean("describe", "version.hicorex", code=2, says="damaged")


def test_a_fit_of_hostile_names_leaves_the_terminal_alone(clean, crafted, tmp_path):
    _, table = crafted
    odd = "odd\x1b[2J\u202e\nhicorex: all is well \udcff"  # which is not UTF-8 on the disk
    plain = table.rename(columns=lambda name: name.replace("\ud800", ""))
    plain = plain.set_axis([name.replace("\ud800", "") for name in plain.index]).rename_axis(AWAY)
    plain.to_csv(tmp_path / f"{odd}.csv", encoding="utf-8")
    told = clean("fit", f"{odd}.csv", "--layers", "2,1", "--starts", 1, "--max-iter", 5)
    assert "--max-iter" in told.err
    clean("fit", f"{odd}.csv", "--layers", "2,1", code=2)  # there are results
    clean("transform", f"{odd}-hicorex", f"{odd}.csv", "--out", "labels.csv", says="")
    clean("score", f"{odd}-hicorex", f"{odd}.csv", "--json", says="")


class Tty(io.StringIO):
    """A terminal of which all that it gets is known."""

    def isatty(self):
        return True


def test_a_live_display_obeys_itself_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Tty())
    monkeypatch.setattr(sys, "stdout", Tty())
    tty = sys.stderr
    with printable_streams():
        unusable = ColumnReason.UNUSABLE_TYPE
        show_decisions(
            [ColumnDecision(ESCAPES, "ignored", unusable, 0.1, type_name=ESCAPES)], [Renamed(ESCAPES, 2, "b")]
        )
        PrintableConsole().print(Text(ESCAPES))
        with LiveProgress() as progress:
            progress.layer(1)
            print(f"hicorex: a warning {ESCAPES}", file=sys.stderr)
            print(f"words {ESCAPES}")
            progress.layer_done()
            progress._show(ESCAPES)
        assert isinstance(sys.stderr, PrintableStream)
    got = tty.getvalue()
    assert "\x1b[" in got  # its own
    assert got.count(r"\x1b]0;owned\x07") == 4  # the table folds it
    rest = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", got).replace("\r", "")
    assert not UNSAFE.search(rest)
    assert "\x1b[31m" not in got
