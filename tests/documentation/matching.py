"""Whether a printed text is what the page shows.

Words must be equal. Numbers may differ by two per cent beyond what rounding them as on the page explains, by anything
below 1e-8 (certificates and rounding differ from machine to machine), and times by anything. Line breaks and lengths of
rules do not count. An ellipsis on the page, ``…``, stands for whatever was left out there.
"""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-−+]?(?:\d+(?:,\d{3})*(?:\.\d*)?|\binf\b)(?:e[-+]?\d+)?")
TOKEN = re.compile(rf"…|TIME|[─━]+|{NUMBER.pattern}|[^\W\d]+|\S")
# seconds: alone, in a table before its column of evidence, in JSON; and moments
TIMED = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.+]+|[\d.]+(?:e[-+]?\d+)?(?= s\b| +[✓✗–])|(?<=\"seconds\": )[\d.e-]+|[\d.]+(?= seconds?\b)"
)
NOISE = 1e-8


def tokens(text: str) -> list[str]:
    """Words, numbers and signs, without layout; singular and plural alike.

    >>> tokens("Optimal: gap 2.7e-11 (2 iterations, 0.03 s)")
    ['Optimal', ':', 'gap', '2.7e-11', '(', '2', 'iteration', ',', 'TIME', 's', ')']
    """
    plain = TIMED.sub("TIME", " ".join(text.split()).replace("iterations", "iteration"))
    return ["─" if token[0] in "─━" else token for token in TOKEN.findall(plain)]


def agree(printed: str, shown: str) -> bool:
    """Whether two tokens are the same word, or numbers that may be taken for each other.

    >>> agree("0.1234", "0.12"), agree("0.2", "0.12"), agree("2e-12", "7e-10"), agree("fast", "full")
    (True, False, True, False)
    """
    if printed == shown:
        return True
    if not (NUMBER.fullmatch(printed) and NUMBER.fullmatch(shown)):
        return False
    a, b = (float(text.replace("−", "-").replace(",", "")) for text in (printed, shown))
    digits, _, power = shown.partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return max(abs(a), abs(b)) < NOISE or abs(a - b) <= 0.501 * last + 0.02 * abs(a)


def difference(printed: str, shown: str) -> str:
    """Empty if ``printed`` is what the page shows, else where they part.

    >>> difference("a 1.00 b c d", "a 1.01 … d")
    ''
    >>> difference("a 1.00 b", "a 2.00 b")
    "the page goes on with '2.00 b', the program with '1.00 b'"
    """
    real = tokens(printed)
    parts: list[list[str]] = [[]]
    for token in tokens(shown):
        if token == "…":
            parts.append([])
        else:
            parts[-1].append(token)
    at = 0
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        starts = [at] if number == 0 else range(at, len(real) - len(part) + 1)
        if number and last and part:
            starts = [len(real) - len(part)] if len(real) - len(part) >= at else []
        found = next((start for start in starts if _alike(real[start : start + len(part)], part)), None)
        if found is None or (last and number == 0 and len(real) != len(part)):
            return _parting(real[at:], part)
        at = found + len(part)
    return ""


def _alike(real: list[str], part: list[str]) -> bool:
    return len(real) == len(part) and all(map(agree, real, part))


def _parting(real: list[str], part: list[str]) -> str:
    alike = [agree(*pair) for pair in zip(real, part, strict=False)]
    same = alike.index(False) if False in alike else len(alike)
    claimed, came = (" ".join(text[same : same + 12]) for text in (part, real))
    return f"the page goes on with {claimed!r}, the program with {came!r}"
