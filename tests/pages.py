"""How the page of a report is looked at: the data that it draws from, its elements, and names that try to get out."""

import json
import re
from html.parser import HTMLParser

from conftest import HOSTILE

HOSTILE_PAGE = [
    *HOSTILE,
    "<img src=x onerror=\"document.title='broken'\">",
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "&lt;b&gt; \u2028 \\u003c $math$ ${title}",
    "javascript:alert(1)",
    "x" * 5000,
]


def data_of(path):
    """What the page draws from."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"))[1]
    )


def n_shown(page):
    """The number of links that a page in a browser says that it shows."""
    return int(page.locator("#links-shown").inner_text().split()[0].replace(",", ""))


class Elements(HTMLParser):
    """All elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
