"""Plays operations on a learner's queue. Runs in the child, next to the learner's code; knows nothing of what is right.

Workers take items with `get` and hold them until `done`, `ok` or `fail`. Times are milliseconds; `clock` moves them.
"""


def drive(names, setting):
    if setting == "limiter":
        limiter = names["RateLimiter"]()
        methods = {"when": "when", "forget": "forget", "requeues": "num_requeues"}
        return lambda verb, item: getattr(limiter, methods[verb])(item)
    queue = names["DelayingQueue" if setting == "delays" else "WorkQueue"]()
    held = {}
    now = [0]

    def get(worker):
        item = queue.get()
        if item is not None and setting == "delays":
            queue.done(item)  # here work takes no time
        elif item is not None:
            held.setdefault(worker, []).append(item)
        return item

    def done(worker):
        if not held.get(worker):
            return None
        item = held[worker].pop(0)
        queue.done(item)
        return item

    def clock(ms):
        now[0] += int(ms)
        queue.tick(now[0])
        return now[0]

    def add(item):
        queue.add(item)

    def later(item, ms):
        queue.add_after(item, int(ms), now[0])

    def shut_down():
        queue.shut_down()

    verbs = {
        "add": add,
        "get": get,
        "done": done,
        "len": lambda: len(queue),
        "later": later,
        "clock": clock,
        "due": lambda: queue.next_due_ms(),
        "shut-down": shut_down,
    }
    return lambda verb, *words: verbs[verb](*words)
