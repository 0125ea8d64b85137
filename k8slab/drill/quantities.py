"""Drills on quantities: units, sums, rounding, what may be written and how it is printed.

Simplified: see `k8slab.api.quantity`; every answer is a `Quantity`'s.
"""

from __future__ import annotations

import random

from k8slab.api.quantity import Quantity
from k8slab.drill.answers import amount, choice, exactly, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate

__all__ = ["KINDS", "quantities"]

_SOURCE = "apimachinery/pkg/api/resource/quantity.go"
_TWINS = {"Ki": "k", "Mi": "M", "Gi": "G", "k": "Ki", "M": "Mi", "G": "Gi"}
_SIZES = {"k": "1,000", "M": "1,000,000", "G": "1,000,000,000", "Ki": "1,024", "Mi": "1,048,576", "Gi": "1,073,741,824"}
_parse = Quantity.parse


def _to_bytes(rng: random.Random) -> Draft:
    suffix = rng.choice(list(_SIZES))
    text = f"{rng.choice(['1', '2', '3', '5', '10', '64', '0.5', '1.5', '2.5'])}{suffix}"
    twin = text.removesuffix(suffix) + _TWINS[suffix]
    answer = whole(
        _parse(text).value(),
        f"One {suffix} is {_SIZES[suffix]} bytes.",
        {
            _parse(twin).value(): f"That is {twin}; asked was {text}. With the i the step is 1,024, without it 1,000.",
            _parse(text.removesuffix(suffix)).value(): "That is the number without its suffix.",
        },
        unit="bytes",
    )
    return Draft(
        f"A container asks for `memory: {text}`. How many bytes is that?",
        answer,
        f"`{suffix}` stands for {_SIZES[suffix]}, so `{text}` is {_parse(text).value():,} bytes. "
        f"`{twin}` would be {_parse(twin).value():,}.",
    )


def _to_milli(rng: random.Random) -> Draft:
    text = rng.choice(
        [f"{rng.randint(1, 15) * 50}m", f"{rng.randint(1, 9)}", f"{rng.randint(1, 79) * 0.05:.2f}", "1e1"]
    )
    milli = _parse(text).milli_value()
    answer = whole(
        milli,
        "One CPU is 1,000 milli-CPUs, and `m` already means a thousandth.",
        {
            _parse(text).value(): "That is whole CPUs (rounded up); asked were thousandths.",
            milli * 1000: "Those are millionths: one factor of 1,000 too many.",
            milli // 1000: "Those are whole CPUs; asked were thousandths.",
        },
    )
    return Draft(
        f"`cpu: {text}`. As how many milli-CPUs does the scheduler count that?",
        answer,
        f"The scheduler calls `MilliValue()`: `{text}` times 1,000 is {milli:,}. Fractions would be rounded up.",
    )


def _pair(rng: random.Random) -> tuple[str, str]:
    """Two memory sizes close enough to be worth comparing."""
    whole_gi = rng.randint(1, 6)
    first = rng.choice([f"{whole_gi}Gi", f"{whole_gi}.5Gi", f"{whole_gi}G", f"{whole_gi * 1024}Mi"])
    others = [f"{whole_gi * 1000}Mi", f"{whole_gi}G", f"{whole_gi}Gi", f"{whole_gi * 1000}M", f"{whole_gi}.5G"]
    second = rng.choice([text for text in others if text != first])
    return (first, second) if rng.random() < 0.5 else (second, first)


def _larger(rng: random.Random) -> Draft:
    first, second = _pair(rng)
    order = _parse(first).cmp(_parse(second))
    right = {1: first, -1: second, 0: "equal"}[order]
    options = list(dict.fromkeys([first, second, "equal"]))
    answer = choice(
        right,
        options,
        "Turn both into bytes and compare: Gi and Mi go by 1,024, G and M by 1,000.",
        {"equal": "They differ: 1,024 is not 1,000."} if order else {},
        aliases={"same": "equal", "=": "equal"},
    )
    sizes = f"`{first}` is {_parse(first).value():,} bytes, `{second}` is {_parse(second).value():,}"
    return Draft(
        f"Which is more memory, `{first}` or `{second}`? Answer with one of the two, or `equal`.",
        answer,
        f"{sizes}. The suffix decides as much as the number: {'they are equal' if not order else right + ' is more'}.",
    )


def _sum(rng: random.Random) -> Draft:
    if rng.random() < 0.5:
        texts = [f"{rng.randint(1, 19) * 50}m", rng.choice(["0.5", "1", "1.5", "0.25", "2"]), f"{rng.randint(1, 9)}00m"]
    else:
        texts = [f"{rng.randint(1, 15) * 64}Mi", rng.choice(["1Gi", "0.5Gi", "1.5Gi"]), f"{rng.randint(1, 4)}Gi"]
    texts = texts[: rng.randint(2, 3)]
    rng.shuffle(texts)
    total = sum((_parse(text) for text in texts[1:]), _parse(texts[0]))
    without_last = sum((_parse(text) for text in texts[1:-1]), _parse(texts[0]))
    answer = amount(
        total,
        "Bring all of them to the smallest unit, add, and only then choose a suffix.",
        [(without_last, "One of them is missing in that sum.")],
    )
    return Draft(
        f"What do {', '.join(f'`{text}`' for text in texts)} add up to? Any unit will do.",
        answer,
        f"The sum is `{total}`. It is printed with the largest suffix that loses nothing, in the family (decimal or "
        f"binary) of the first one.",
    )


def _left_over(rng: random.Random) -> Draft:
    has = rng.choice(["4Gi", "8Gi", "2Gi", "16Gi"])
    used = [f"{rng.randint(1, 7) * 128}Mi", rng.choice(["512Mi", "500M", "1Gi", "0.25Gi"])]
    left = _parse(has) - _parse(used[0]) - _parse(used[1])
    added = _parse(used[0]) + _parse(used[1])
    answer = amount(
        left,
        "Subtract both requests, in one unit; mind which of them are powers of 1,024.",
        [(added, "That is what is taken; asked is what is left.")],
    )
    return Draft(
        f"A node has `{has}` of memory to allocate; two Pods on it ask for `{used[0]}` and `{used[1]}`. "
        "How much is left?",
        answer,
        f"{_parse(has).value():,} - {_parse(used[0]).value():,} - {_parse(used[1]).value():,} = {left.value():,} "
        f"bytes, printed `{left}`. What the Pods really use does not come into it.",
    )


def _rounds_up(rng: random.Random) -> Draft:
    milli = rng.choice([rng.randint(1, 499), rng.randint(501, 999), 1000 * rng.randint(1, 3) + rng.randint(1, 400)])
    text = f"{milli}m"
    up = _parse(text).value()
    answer = whole(
        up,
        "`Value()` never loses anything: what is not whole is rounded up.",
        {milli // 1000: "That is rounded down. `Value()` rounds up.", milli: "Those are the thousandths."},
    )
    return Draft(
        f"Something that is counted in whole units is given as `{text}`. Which integer does `Quantity.Value()` return?",
        answer,
        f"`{text}` is {milli / 1000:g}. `Value()` rounds away from zero, so it is {up}: rounding down would let "
        "someone have a fraction for nothing.",
    )


def _milli_memory(rng: random.Random) -> Draft:
    text = f"{rng.choice([64, 100, 128, 256, 400, 512, 900, 1500, 2048, 128000])}m"
    answer = whole(
        _parse(text).value(),
        "The suffix `m` means a thousandth, for memory as for anything else.",
        {
            _parse(text[:-1] + "Mi").value(): "That is Mi; written is m, a thousandth.",
            _parse(text[:-1] + "M").value(): "That is M, a million; written is m, a thousandth.",
            0: "It is rounded up, not down.",
        },
        unit="bytes",
    )
    return Draft(
        f"Somebody wrote `memory: {text}` in a manifest, and the API server took it (with a warning). "
        "How many bytes does the scheduler count for it?",
        answer,
        f"`{text}` is {text[:-1]} thousandths of a byte; `Value()` rounds that up to {_parse(text).value()}. "
        "As a request that fits anywhere; as a limit nothing can run in it.",
    )


def _is_legal(text: str) -> str:
    """ "" or upstream's complaint."""
    try:
        _parse(text)
    except ValueError as error:
        return str(error)
    return ""


def _legal(rng: random.Random) -> Draft:
    number = rng.choice(["1", "2", "0.5", "1.5", "10", "100", "+1", ".5", "1."])
    right = rng.choice(["Ki", "Mi", "Gi", "k", "M", "G", "m", "", "e3", "E"])
    wrong = rng.choice(["K", "mi", "MB", "GiB", "gi", " Gi", "%", "h", "e3Ki", "g", "kB", "e"])
    text = number + (right if rng.random() < 0.5 else wrong)
    error = _is_legal(text)
    why = f"It is refused: {error}." if error else "It is accepted: a number, then a suffix that is known, or none."
    suffixes = "`n u m k M G T P E`, `Ki Mi Gi Ti Pi Ei`, or an exponent such as `e3`"
    found = f"The parser answers: {error}." if error else f"It is the number {_plain(text)}."
    return Draft(
        f"Is `{text}` a legal quantity?",
        yes_no(not error, why),
        f"A quantity is a number and one suffix, without a space: {suffixes}. {found}",
    )


def _plain(text: str) -> str:
    found = _parse(text)
    return f"{found.value():,}" if found.round_up(0)[1] else f"{found.milli_value() / 1000:g}"


def _printed(rng: random.Random) -> Draft:
    text = rng.choice(
        [
            f"{rng.choice([1, 2, 3, 5, 8])}000m",
            f"{rng.randint(1, 9)}.{rng.choice(['5', '25', '1'])}",
            f"{rng.choice([1, 2, 4, 8]) * 1024}Mi",
            f"{rng.choice([0.5, 1.5, 2.5])}Gi",
            f"0.{rng.randint(1, 9)}Ki",
            f"{rng.randint(1, 9)}000k",
        ]
    )
    printed = str(_parse(text))
    answer = exactly(
        printed,
        "Canonical means: no fraction, and the largest suffix that loses nothing.",
        {
            text: "That is what was written; it is not canonical, so it is printed anew.",
            str(_parse(text).value()): "The amount is right, but a suffix is used as soon as one fits.",
        },
    )
    return Draft(
        f"A quantity was written `{text}`. Once parsed, as which text is it printed (`Quantity.String()`)?",
        answer,
        f"`{text}` is not canonical, so it is printed as `{printed}`: no fraction, and the largest suffix that "
        "loses nothing. Binary amounts that are no whole number of bytes change to "
        "the decimal family.",
    )


def _family(rng: random.Random) -> Draft:
    first = rng.choice(["0", "0", f"{rng.randint(1, 9)}Ki", f"{rng.randint(1, 9)}k", f"{rng.randint(1, 9)}M"])
    second = rng.choice(
        [f"{rng.randint(1, 9)}Ki", f"{rng.randint(1, 9)}k", rng.choice(["1024Ki", "2048Ki", "4096Ki"]), "500k"]
    )
    total, turned = _parse(first) + _parse(second), _parse(second) + _parse(first)
    answer = exactly(
        str(total),
        "The sum prints in the family (decimal or binary) of the first one; a zero has none of its own.",
        {
            str(turned): "That is the family of the second one; the first decides.",
            str(Quantity(total.value())): "That is the decimal family.",
        },
    )
    return Draft(
        f"A sum begins with `{first}`, then `{second}` is added. As which text does the result print?",
        answer,
        f"`{total}`. A sum keeps the family of what it began with; only a zero takes over the family of what is added "
        "to it, so totals of memory print in Ki, Mi and Gi although they began as a plain 0.",
    )


KINDS = (
    Kind("to-bytes", 1, f"{_SOURCE} (Value)", _to_bytes),
    Kind("to-milli", 1, f"{_SOURCE} (MilliValue)", _to_milli),
    Kind("larger", 1, f"{_SOURCE} (Cmp)", _larger),
    Kind("sum", 2, f"{_SOURCE} (Add)", _sum),
    Kind("left-over", 2, f"{_SOURCE} (Sub)", _left_over),
    Kind("rounds-up", 2, f"{_SOURCE} (Value, ScaledValue)", _rounds_up),
    Kind("legal", 2, f"{_SOURCE} (ParseQuantity)", _legal),
    Kind("milli-memory", 3, f"{_SOURCE} (Value)", _milli_memory),
    Kind("printed", 3, f"{_SOURCE} (CanonicalizeBytes)", _printed),
    Kind("family", 3, f"{_SOURCE} (Add)", _family),
)


def quantities(rng: random.Random) -> Drill:
    """An exercise on quantities."""
    return generate("quantities", KINDS, rng)
