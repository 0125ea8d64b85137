"""Sphinx extension of the book: text that several widgets of a page share is stored once in it, and a page made from
a notebook leads to that notebook in the browser edition.

Every widget model carries its own copy of its JavaScript and styles; a page with five steppers would hold five
times 30 KB. Equal strings move to the key `shared` of the page's widget state, and the models refer to them by
`k8slab-shared:NUMBER`; book/_static/k8slab-static.js puts them back. Without JavaScript a sentence stands there.

The link to the browser edition is relative, so that the site works under any folder; it is left out when the build
made no such edition (K8SLAB_BROWSER_EDITION, set by k8slab/dev/pages.py).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import Any
from urllib.parse import quote

from sphinx.application import Sphinx

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'(<script type="application/vnd\.jupyter\.widget-view\+json">.*?</script>)', re.DOTALL)
NO_SCRIPT = (
    '<noscript><p class="k8slab-noscript">Here stands an interactive figure, which needs JavaScript; '
    "the text and the printed results around it do not.</p></noscript>"
)
MARK = "k8slab-shared:"
LAUNCH = (
    '<p class="k8slab-launch"><a href="{address}">Open in the browser</a> '
    "<span>Run and change the cells: nothing to install, ten to fifteen seconds to start.</span></p>"
)
SHORTEST = 200  # shorter strings are not worth a reference


def share(widgets: dict[str, Any]) -> dict[str, Any]:
    """A widget-state document whose models name equal long strings by number."""
    models = widgets.get("state", {})
    texts = [value for model in models.values() for value in model["state"].values() if isinstance(value, str)]
    repeated = [text for text, count in Counter(texts).items() if count > 1 and len(text) >= SHORTEST]
    numbers = {text: str(number) for number, text in enumerate(repeated)}

    def short(value: Any) -> Any:
        return MARK + numbers[value] if isinstance(value, str) and value in numbers else value

    state = {
        key: {**model, "state": {name: short(value) for name, value in model["state"].items()}}
        for key, model in models.items()
    }
    return {**widgets, "state": state, "shared": {number: text for text, number in numbers.items()}}


def say_where(html: str) -> str:
    """A page's HTML with a sentence beside each widget for readers without JavaScript."""
    return VIEW.sub(rf"\1{NO_SCRIPT}", html)


def with_launch_link(html: str, address: str) -> str:
    """A page's HTML with the way to the browser edition under its title."""
    title, end, rest = html.partition("</h1>")
    return title + end + LAUNCH.format(address=address) + rest if end else html


def on_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Rewrite the widget state that myst-nb adds to a page's scripts; say where a figure is that needs them."""
    if "body" in context:
        context["body"] = say_where(context["body"])
        if app.config.k8slab_browser_edition and context.get("page_source_suffix") == ".ipynb":
            notebook = context["pathto"]("lite/notebooks/index.html", 1) + f"?path={quote(pagename)}.ipynb"
            context["body"] = with_launch_link(context["body"], notebook)
    for script in context.get("script_files", []):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == STATE and "body" in attributes:
            text = json.dumps(share(json.loads(attributes["body"])), ensure_ascii=False, separators=(",", ":"))
            attributes["body"] = text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def setup(app: Sphinx) -> dict[str, Any]:
    # "html": when it changes, all pages are written again
    app.add_config_value("k8slab_browser_edition", os.environ.get("K8SLAB_BROWSER_EDITION") == "1", "html")
    app.connect("html-page-context", on_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
