"""The table and plots of bench/run-peers: every row of the goals beside the peers, with figure, the peers' figures, ratios."""

import statistics
from pathlib import Path

import plot

PEERS = {"sublet": "sublet", "etcd": "kube-apiserver + etcd", "kine": "kube-apiserver + kine/SQLite", "vcluster": "vCluster 0.34.0"}
LOOPS = {"create_1": "create, 1 writer", "create_16": "create, 16 writers", "create_64": "create, 64 writers",
         "get_16": "GET, 16 readers", "list_4": "LIST of 500, 4 readers", "list_gzip_4": "LIST of 500, gzip", "patch_16": "merge-patch, 16 writers",
         "update_16": "PUT, 16 writers", "apply_16": "apply of a pod of 3 KB that exists, 16 writers", "apply_same_16": "the same, changing nothing"}
CPU_GOALS = {"create_16": 130, "create_64": 100, "get_16": 40, "list_4": 1000, "patch_16": 150, "apply_16": 250}


def _below(limit, unit):
    return f"< {limit} {unit}", lambda sublet, of: sublet < limit


NO_GOAL = ("", None)
# key, label, unit, scale, whether more is better, (goal in words, its test of sublet's median and a function of a peer's)
ROWS = [("idle_pss_kib", "idle memory, all processes", "MiB", 1 / 1024, False, _below(20, "MiB")),
        ("idle_cpu_percent", "idle CPU, of one core", "%", 1, False, _below(0.1, "%")),
        ("start_s", "start to first answer", "s", 1, False, _below(1, "s"))]
for _key, _label in LOOPS.items():
    _faster = ("> 3x the rate of etcd's", lambda sublet, of: sublet > 3 * of("etcd")) if _key == "create_64" else NO_GOAL
    _lower = ("lower than etcd's", lambda sublet, of: sublet < of("etcd")) if _key == "create_64" else NO_GOAL
    ROWS += [(f"{_key}_per_s", f"{_label}: rate", "/s", 1, True, _faster), (f"{_key}_p99_us", f"{_label}: p99", "ms", 1e-3, False, _lower),
             (f"{_key}_cpu_us", f"{_label}: server CPU", "us", 1, False, _below(CPU_GOALS[_key], "us") if _key in CPU_GOALS else NO_GOAL)]
ROWS += [("watch_idle_kib", "idle watch, own HTTP/1.1 TLS connection", "KiB", 1, False, _below(20, "KiB")),
         ("delivery_cpu_us", "event to one of 1,000 watchers, HTTP/1.1: server CPU", "us", 1, False, _below(20, "us")),
         ("delivery_p50_ms", "event to 1,000 watchers: p50", "ms", 1, False, NO_GOAL),
         ("delivery_p99_ms", "event to 1,000 watchers: p99", "ms", 1, False, NO_GOAL),
         ("paced_host_create_p50_ms", "pod create to host create, 10/s: p50", "ms", 1, False, _below(15, "ms")),
         ("paced_host_create_p99_ms", "pod create to host create, 10/s: p99", "ms", 1, False, _below(50, "ms")),
         ("paced_running_p50_ms", "Running back in the tenant, 10/s: p50", "ms", 1, False, _below(40, "ms")),
         ("paced_running_p99_ms", "Running back in the tenant, 10/s: p99", "ms", 1, False, _below(90, "ms")),
         ("burst_reaching_host_per_s", "burst reaching the host", "/s", 1, True, (">= 90 % of direct", lambda sublet, of: sublet >= 0.9 * of("etcd"))),
         ("burst_host_create_p99_ms", "burst reaching the host: p99", "s", 1e-3, False, NO_GOAL),
         ("burst_running_p50_ms", "burst Running in the tenant: p50", "s", 1e-3, False, NO_GOAL),
         ("burst_all_running_s", "burst: all Running in the tenant", "s", 1, False, ("<= 1.2x of direct", lambda sublet, of: sublet <= 1.2 * of("etcd"))),
         ("burst_host_cpu_ms", "burst: CPU of all the host's processes, a pod", "ms", 1, False, ("<= 1.1x of direct", lambda sublet, of: sublet <= 1.1 * of("etcd"))),
         ("burst_own_cpu_ms", "burst: CPU of the virtual cluster's processes, a pod", "ms", 1, False, ("< 2 ms", lambda sublet, of: sublet < 2))]


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Rounds:
    def __init__(self, lines: list[dict]):
        self.lines = lines

    def values(self, peer: str, key: str, scale: float = 1) -> list[float]:
        return [line["figures"][peer][key] * scale for line in self.lines if key in line["figures"].get(peer, {})]

    def ratios(self, peer: str, key: str, more: bool) -> list[float]:
        """Of the same round only: what the machine did to one it did to the other. Above 1 is in sublet's favour."""
        out = []
        for line in self.lines:
            ours, theirs = (line["figures"].get(name, {}).get(key) for name in ("sublet", peer))
            # In parts that do not hold both (start), each round stands against the median of the peer.
            if ours is not None and theirs is None and self.values(peer, key):
                theirs = statistics.median(self.values(peer, key))
            if ours is not None and theirs is not None and min(ours, theirs) > 0:
                out.append(ours / theirs if more else theirs / ours)
        return out

    def cell(self, peer: str, row) -> str:
        key, _, unit, scale, more, _ = row
        values = self.values(peer, key, scale)
        if not values:
            return "-"
        text = f"{number(statistics.median(values))} {unit}"
        if len(values) > 1:
            text += f" ({number(min(values))} to {number(max(values))})"
        ratios = self.ratios(peer, key, more) if peer != "sublet" else []
        if ratios:
            text += f"; **{number(statistics.median(ratios))}x**"
            if len(ratios) > 1:
                text += f" ({number(min(ratios))} to {number(max(ratios))})"
        return text

    def verdict(self, row) -> str:
        key, _, _, scale, _, (words, test) = row
        ours = self.values("sublet", key, scale)
        try:
            met = test(statistics.median(ours), lambda peer: statistics.median(self.values(peer, key, scale))) if test and ours else None
        except statistics.StatisticsError:  # the peer of the goal was not measured
            met = None
        return words + {True: ": met", False: ": **missed**", None: ""}[met]


def write(lines: list[dict], folder: Path, stem: str) -> str:
    rounds = Rounds(lines)
    count = {part: sum(line["part"] == part for line in lines) for part in dict.fromkeys(line["part"] for line in lines)}
    options = lines[-1]["options"]
    # Other builds of sublet stand behind the peers.
    peers = PEERS | {name: f"sublet {name}" for line in lines for name in line["figures"] if name not in PEERS}
    text = [f"# sublet beside its peers, {lines[0]['date']} to {lines[-1]['date']}, commit {', '.join(dict.fromkeys(l['commit'] for l in lines))}", "",
            f"{lines[0]['machine']} (then {', '.join(l['machine'].rsplit(' ', 1)[1] for l in lines[1:])}). Rounds: {', '.join(f'{n} of {p}' for p, n in count.items())}, alternating; "
            f"closed loops of {options['seconds']:g} s, ConfigMaps of 1 KiB, HTTP/1.1 over TLS for all, idle CPU over {options['idle window']:g} s, burst of {options['burst']} pods; "
            "sublet with synchronous=FULL, etcd and kine with their defaults; versions: tools/testhost/pins.toml. Medians (range over rounds); **ratios** (range) above 1 are in sublet's favour. "
            "In the rows of pods the column kube-apiserver + etcd is the host itself, without a virtual cluster: the floor.", "",
            f"![rates]({stem}-rate.svg) ![CPU]({stem}-cpu.svg)", "",
            "| figure | " + " | ".join(peers.values()) + " | goal |", "|---" * (len(peers) + 2) + "|"]
    for row in ROWS:
        text.append(f"| {row[1]} | " + " | ".join(rounds.cell(peer, row) for peer in peers) + f" | {rounds.verdict(row)} |")
    text += ["", "Not measured: watches over HTTP/2 (the client speaks HTTP/1.1)."]
    text += [f"Failed in a round of {line['part']}: {line['failed']}" for line in lines if "failed" in line]

    def groups(suffix: str) -> list:
        out = []
        for key, label in LOOPS.items():
            found = [(PEERS[peer], rounds.values(peer, f"{key}_{suffix}")) for peer in PEERS]
            bars = [(name, statistics.median(v), min(v), max(v)) for name, v in found if v]
            if bars:
                out.append((label, bars))
        return out

    (folder / f"{stem}-rate.svg").write_text(plot.bars("Operations per second (each group has its own scale)", groups("per_s"), "/s"))
    (folder / f"{stem}-cpu.svg").write_text(plot.bars("Server CPU per operation (each group has its own scale)", groups("cpu_us"), "us"))
    (folder / f"{stem}.md").write_text("\n".join(text) + "\n")
    return "\n".join(text)
