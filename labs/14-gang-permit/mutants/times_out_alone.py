"""Only the Pod whose time is over is sent back; the others wait for it."""

KILLED_BY = "back-together"
CAUSE = "alone"
CHANGES = (
    (
        "        return [pod for gang in sorted(late) for pod in self.send_back(gang)]",
        (
            "        back = [pod for pod, (_, since) in self.waits.items() if now_ms - since >= self.wait_ms]\n"
            "        for pod in back:\n"
            "            del self.waits[pod]\n"
            "        return back"
        ),
    ),
)
