"""The paper, clause by clause: each is a small experiment that holds here, or raises AssertionError.

>>> from k8slab.raft import paper
>>> paper.coverage()[0]
('figure 2', 'State', 'current term and vote survive a crash')

The book prints the table; the tests run every row.

Upstream: none. Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", 2014;
Ongaro, "Consensus: Bridging Theory and Practice" (thesis), 2014
"""

from k8slab.raft.paper import figure_2, sections
from k8slab.raft.paper.table import CLAUSES, Clause, coverage

__all__ = ["CLAUSES", "Clause", "coverage", "figure_2", "sections"]
