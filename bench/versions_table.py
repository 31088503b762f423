"""The table of `bench/run-peers --only sublet`: versions of sublet beside each other, what got slower marked."""

import statistics
from pathlib import Path

from peers_table import LOOPS, number

LIMIT = 0.03  # a median this much worse counts, when the rounds agree
# key, label, unit, scale, more is better, a worse median is an error
ROWS = [("idle_pss_kib", "memory after a tour of kubectl", "MiB", 1 / 1024, False, True),
        ("loaded_pss_kib", "memory after the loops", "MiB", 1 / 1024, False, True),
        ("idle_cpu_percent", "idle CPU, of one core", "%", 1, False, False)]
for _key, _label in LOOPS.items():
    ROWS += [(f"{_key}_cpu_us", f"{_label}: server CPU", "us", 1, False, True), (f"{_key}_per_s", f"{_label}: rate", "/s", 1, True, False),
             (f"{_key}_p99_us", f"{_label}: p99", "ms", 1e-3, False, False)]
ROWS += [("watch_idle_kib", "idle watch, own HTTP/1.1 TLS connection", "KiB", 1, False, True),
         ("delivery_cpu_us", "event to one of 1,000 watchers: server CPU", "us", 1, False, True),
         ("delivery_p50_ms", "event to 1,000 watchers: p50", "ms", 1, False, True),
         ("delivery_p99_ms", "event to 1,000 watchers: p99", "ms", 1, False, False)]


def _cell(values, unit, scale) -> str:
    if not values:
        return "-"
    text = f"{number(statistics.median(values) * scale)} {unit}"
    return text + (f" ({number(min(values) * scale)} to {number(max(values) * scale)})" if len(values) > 1 else "")


def _change(base, now, more: bool) -> list[float]:
    """By how much each round is worse than the base of the same round; below 0: better."""
    return [(b / n if more else n / b) - 1 for b, n in zip(base, now) if b and n and b > 0 and n > 0]


def compare(lines: list[dict], base: str, name: str, row):
    """(the change in words, is it worse than LIMIT and beyond the spread)"""
    key, _, _, _, more, counts = row
    pairs = [(l["figures"].get(base, {}).get(key), l["figures"].get(name, {}).get(key)) for l in lines]
    pairs = [(b, n) for b, n in pairs if b is not None and n is not None]
    if not pairs:
        return "-", False
    changes = _change(*zip(*pairs), more)
    if not changes:
        return "-", False
    middle = statistics.median(changes)
    # Beyond the spread: every round says so. One round shows no spread, and so proves nothing.
    worse = counts and middle > LIMIT and len(changes) > 2 and min(changes) > 0
    text = f"{middle:+.1%}" + (f" ({min(changes):+.1%} to {max(changes):+.1%})" if len(changes) > 1 else "")
    return ("**worse** " if worse else "") + text, worse


def write(lines: list[dict], names: list[str], folder: Path, stem: str) -> tuple[str, bool]:
    """names: the base first. The table, and whether something got slower."""
    base, slower = names[0], []
    text = [f"# Versions of sublet beside each other, {lines[0]['date']} to {lines[-1]['date']}", "",
            f"{lines[0]['machine']} (then {', '.join(l['machine'].rsplit(' ', 1)[1] for l in lines[1:]) or 'no more'}). {len(lines)} rounds, the order turned round each time; closed "
            f"loops of {lines[-1]['options']['seconds']:g} s, ConfigMaps of 1 KiB, HTTP/1.1 over TLS, synchronous=FULL. Medians (range); change: the median of the rounds' own changes "
            f"(range), above 0 is worse. **worse**: more than {LIMIT:.0%}, and in every one of three or more rounds.", "",
            "| figure | " + " | ".join(names) + " | " + " | ".join(f"{n} beside {base}" for n in names[1:]) + " |", "|---" * (2 * len(names)) + "|"]
    for row in ROWS:
        key, label, unit, scale = row[:4]
        cells = [_cell([l["figures"][n][key] for l in lines if key in l["figures"].get(n, {})], unit, scale) for n in names]
        for name in names[1:]:
            change, worse = compare(lines, base, name, row)
            cells.append(change)
            slower += [f"{label} ({name})"] if worse else []
        text.append(f"| {label} | " + " | ".join(cells) + " |")
    text += ["", "Slower: " + (", ".join(slower) or "nothing") + "."]
    text += [f"Failed in a round: {l['failed']}" for l in lines if "failed" in l]
    (folder / f"{stem}.md").write_text("\n".join(text) + "\n")
    return "\n".join(text), bool(slower)
