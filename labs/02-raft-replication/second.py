"""Another correct solution, built otherwise: entries in a dict by index, the disk written by one method, progress of a
follower as an object, and commitment by trying index after index."""


class Log:
    def __init__(self, disk):
        self._disk = disk
        self._by_index = dict(enumerate(disk.load(), start=1))
        self._committed = 0

    @property
    def entries(self):
        return [self._by_index[index] for index in range(1, len(self._by_index) + 1)]

    @property
    def commit_index(self):
        return self._committed

    def learn_commit(self, index):
        self._committed = max(self._committed, index)

    def last(self):
        index = len(self._by_index)
        return index, self._by_index[index][0] if index else 0

    def has(self, index, term):
        return (index, term) == (0, 0) or (index in self._by_index and self._by_index[index][0] == term)

    def write(self, index, entry):
        """Put an entry at its place, without what stood there and behind it."""
        for later in range(index, len(self._by_index) + 1):
            del self._by_index[later]
        self._by_index[index] = entry

    def append(self, term, command):
        index = len(self._by_index) + 1
        self.write(index, (term, command))
        self._disk.save(self.entries)
        return index

    def on_append_entries(self, prev_index, prev_term, entries, leader_commit):
        if not self.has(prev_index, prev_term):
            if prev_index not in self._by_index:
                return False, len(self._by_index) + 1
            in_the_way = self._by_index[prev_index][0]
            return False, min(index for index, (term, _) in self._by_index.items() if term == in_the_way)
        for offset, entry in enumerate(entries):
            if not self.has(prev_index + 1 + offset, entry[0]):
                self.write(prev_index + 1 + offset, entry)
        self._disk.save(self.entries)
        compared = prev_index + len(entries)
        self.learn_commit(min(compared, leader_commit))
        return True, compared


class Progress:
    def __init__(self, next_index):
        self.match, self.next = 0, next_index


class Leader:
    def __init__(self, term, log, others):
        self._term, self._log = term, log
        self._progress = {other: Progress(log.last()[0] + 1) for other in others}

    def propose(self, command):
        index = self._log.append(self._term, command)
        self._try_commits()
        return index

    def append_entries(self, other):
        entries = self._log.entries
        at = self._progress[other].next - 1
        return at, entries[at - 1][0] if at else 0, entries[at:], self._log.commit_index

    def on_answer(self, other, success, index):
        progress = self._progress[other]
        if not success:
            if progress.match < index < progress.next:
                progress.next = index
            elif index <= progress.match:
                progress.next = progress.match + 1
        elif index > progress.match:
            progress.match = index
            progress.next = max(progress.next, index + 1)
        self._try_commits()

    def _try_commits(self):
        for index, (term, _) in enumerate(self._log.entries, start=1):
            holders = 1 + sum(one.match >= index for one in self._progress.values())
            if term == self._term and 2 * holders > len(self._progress) + 1:
                self._log.learn_commit(index)
