"""Another correct solution, built otherwise: ordered dicts for the queue, a heap with stale entries for the delays."""

import heapq
from collections import OrderedDict
from itertools import count


class WorkQueue:
    """One state per key: waiting, working, or working and wanted again."""

    def __init__(self):
        self._waiting = OrderedDict()
        self._wanted_again = {}  # key in work -> was it added since
        self._is_open = True

    def add(self, item):
        if not self._is_open:
            return
        if item in self._wanted_again:
            self._wanted_again[item] = True
        else:
            self._waiting.setdefault(item)

    def get(self):
        if not self._waiting:
            return None
        item, _ = self._waiting.popitem(last=False)
        self._wanted_again[item] = False
        return item

    def done(self, item):
        if self._wanted_again.pop(item, False):
            self._waiting[item] = None

    def __len__(self):
        return len(self._waiting)

    def shut_down(self):
        self._is_open = False


class DelayingQueue(WorkQueue):
    def __init__(self):
        super().__init__()
        self._heap = []
        self._due = {}
        self._number = count()

    def add_after(self, item, delay_ms, now_ms):
        if delay_ms <= 0:
            return self.add(item)
        due_ms = now_ms + delay_ms
        if due_ms < self._due.get(item, due_ms + 1):
            self._due[item] = due_ms
            heapq.heappush(self._heap, (due_ms, next(self._number), item))

    def tick(self, now_ms):
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, _, item = heapq.heappop(self._heap)
            if self._due.get(item) == due_ms:  # else an earlier entry has been there before
                del self._due[item]
                self.add(item)

    def next_due_ms(self):
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None


class RateLimiter:
    def __init__(self, base_ms=5, most_ms=1_000_000):
        self._first, self._most = base_ms, most_ms
        self._delays = {}
        self._times = {}

    def when(self, item):
        delay = min(self._delays.get(item, self._first), self._most)
        self._delays[item] = min(2 * delay, self._most)
        self._times[item] = self._times.get(item, 0) + 1
        return delay

    def forget(self, item):
        self._delays.pop(item, None)
        self._times.pop(item, None)

    def num_requeues(self, item):
        return self._times.get(item, 0)
