"""The answer of `k8slab explain-pending` as one page of HTML: no script, nothing loaded from elsewhere.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from k8slab.cli.pending_words import MOST_ROWS, no_remedy, said_of, some_of
from k8slab.cluster.snapshots import ClusterSnapshot, Finding

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h2 { margin-top: 2.5rem; }
.message { font-family: ui-monospace, monospace; border-left: 4px solid; padding: .3rem .8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8886; vertical-align: top; }
td { overflow-wrap: normal; }
td:first-child { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.fits { font-weight: bold; }
"""


def page(snapshot: ClusterSnapshot, findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """The whole page. Every text of the snapshot is escaped."""
    pods = sum(1 + len(finding.same_as) for finding in findings)
    title = f"{pods} {'Pod' if pods == 1 else 'Pods'} looked at, {len(snapshot.nodes)} nodes"
    body = [f"<h1>{escape(title)}</h1>"]
    if notes:
        body.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>")
    for finding in findings:
        body += _section(finding)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Pending Pods</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _section(finding: Finding) -> list[str]:
    lines = [f"<h2>{escape(finding.pod)}: {escape(str(finding.state))}</h2>"]
    about = [f"Owner: {finding.owner}"] if finding.owner else []
    if finding.same_as:
        about.append(f"The same goes for {len(finding.same_as)} more: {some_of(finding.same_as, 10)}")
    about += [finding.reason] if finding.reason else []
    lines += [f"<p>{escape(text)}</p>" for text in about]
    if finding.message:
        lines.append(f'<p class="message">{escape(finding.message)}</p>')
    if finding.recorded:
        said = "says the same" if finding.recorded == finding.message else f"says: {finding.recorded}"
        lines.append(f"<p>Its last condition {escape(said)}</p>")
    return [*lines, *_changes(finding), *_nodes(finding)]


def _changes(finding: Finding) -> list[str]:
    if not finding.message:
        return []
    lines = ["<h3>What would make it fit</h3>"]
    if finding.remedies:
        items = (f"<li>{escape(r.text)} (then: {escape(some_of(r.nodes, 5))})</li>" for r in finding.remedies)
        lines.append(f"<ol>{''.join(items)}</ol>")
    else:
        said = no_remedy(finding)
        lines.append(f"<p>{escape(said[:1].upper() + said[1:])}.</p>")
    found = finding.eviction
    if found is None:
        return [*lines, "<p>Preemption would not help.</p>"]
    text = f"Preemption would evict {', '.join(found.victims)} from {found.node}"
    return [*lines, f"<p>{escape(text)}; disruption budgets broken: {found.pdb_violations}.</p>"]


def _nodes(finding: Finding) -> list[str]:
    if finding.explanation is None:
        return []
    rows = finding.explanation.nodes
    plugins = list(next((row.weighted for row in rows if row.weighted), {}))
    if len(rows) <= MOST_ROWS:
        heads = [
            ("Node", ""),
            ("Verdict", ""),
            *((name, "number") for name in (*plugins, *(["Total"] * bool(plugins)))),
        ]
        cells = []
        for row in rows:
            scores = [str(row.weighted.get(name, "")) for name in plugins]
            total = [str(row.total) if row.weighted else ""] if plugins else []
            cells.append([row.node, said_of(row), *scores, *total])
        return ["<h3>Nodes</h3>", _table(heads, cells)]
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(said_of(row), []).append(row.node)
    counted = [[str(len(names)), said, some_of(names, 5)] for said, names in groups.items()]
    return ["<h3>Nodes</h3>", _table([("Nodes", "number"), ("Verdict", ""), ("Which", "")], counted)]


def _table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col" class="{css}">{escape(name)}</th>' for name, css in heads)
    body = []
    for row in rows:
        cells = "".join(
            f'<td class="{"fits" if cell == "fits" else css}">{escape(cell)}</td>'
            for cell, (_, css) in zip(row, heads, strict=True)
        )
        body.append(f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
