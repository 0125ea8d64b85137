"""Both delays of a key are kept, so it comes out twice."""

KILLED_BY = "earliest-wins"
CAUSE = "twice"
CHANGES = (
    (
        "        self.waiting = {}  # item -> due_ms",
        "        self.waiting = []",
    ),
    (
        "            self.waiting[item] = min(due_ms, self.waiting.get(item, due_ms))",
        "            self.waiting.append((due_ms, item))",
    ),
    (
        "sorted((due_ms, item) for item, due_ms in self.waiting.items() if due_ms <= now_ms)",
        "sorted(entry for entry in self.waiting if entry[0] <= now_ms)",
    ),
    (
        "        for _, item in due:\n            del self.waiting[item]\n            self.add(item)",
        "        self.waiting = [one for one in self.waiting if one[0] > now_ms]\n"
        "        for _, item in due:\n            self.add(item)",
    ),
    (
        "min(self.waiting.values(), default=None)",
        "min((due_ms for due_ms, _ in self.waiting), default=None)",
    ),
)
