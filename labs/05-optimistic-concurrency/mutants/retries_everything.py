"""Every exception is a reason to try again: a lost answer makes two writes of one."""

KILLED_BY = "retries-only-conflicts"
CAUSE = "again"
CHANGES = (("        except ConflictError:\n            if tried", "        except Exception:\n            if tried"),)
