"""The rows of the bench's table: which figure, how it is written, its goal, and what a peer measured."""

# label, rate or value, its quantiles, CPU, the goal in words, the goal as (figure or ratio, limit), the peers' figures
CREATE_GOAL_US = 150
CREATE_16 = "1,855/s, p99 21 ms, 900 us (etcd)"


def _of(keys, write):
    """What `write` makes of these figures; None when one was not measured."""
    return lambda figures: write(*(figures[key] for key in keys)) if all(key in figures for key in keys) else None


def _value(key, unit, scale=1.0, digits=1):
    return _of([key], lambda value: f"{value * scale:,.{digits}f} {unit}")


def _loop(name):
    return _of([f"{name}_per_s", f"{name}_p50_us", f"{name}_p99_us"],
               lambda rate, p50, p99: f"{rate:,.0f}/s, p50 {p50 / 1e3:.2f} ms, p99 {p99 / 1e3:.1f} ms")


def _quantiles(name):
    return _of([f"{name}_p50_ms", f"{name}_p99_ms"], lambda p50, p99: f"p50 {p50:.1f} ms, p99 {p99:.1f} ms")


def _cpu(key):
    return _value(key, "us", digits=1)


def _below(key, limit):
    return _of([key], lambda value: value < limit)


def _above(key, limit):
    return _of([key], lambda value: value > limit)


def _both(*tests):
    def test(figures):
        results = [one(figures) for one in tests]
        return None if None in results else all(results)
    return test


def _ratio(key, other, test):
    return _of([key, other], lambda value, beside: test(value / beside))


def _delete(count):
    return _of([f"delete_{count}_s", f"delete_{count}_cpu_s"], lambda seconds, cpu: f"{seconds:.1f} s, its own CPU {cpu:.2f} s")


def _creates(figures):
    """A row for each kind, the dearest first."""
    for name, cost in sorted(figures.get("creates_cpu_us", {}).items(), key=lambda item: -item[1]):
        yield (f"create of {name}, 16 writers", f"{cost / CREATE_GOAL_US:.2f} of the goal", f"{cost:,.1f} us", f"< {CREATE_GOAL_US} us",
               cost < CREATE_GOAL_US, "")


def _burst_rate(prefix):
    return _value(f"{prefix}_reaching_host_per_s", "/s", digits=0)


def _burst_running(prefix):
    return _of([f"{prefix}_all_running_s", f"{prefix}_running_per_s"],
               lambda seconds, rate: f"all after {seconds:.1f} s ({rate:,.0f}/s)")


NOTHING = lambda figures: None  # noqa: E731

# (label, value, server CPU, goal, test of the goal, the peer's figure in the project's table of goals)
ROWS = [
    ("create, 1 writer", _loop("create_1"), _cpu("create_1_cpu_us"), "", NOTHING, ""),
    ("create, 16 writers", _loop("create_16"), _cpu("create_16_cpu_us"), "< 130 us, synchronous=FULL",
     _below("create_16_cpu_us", 130), CREATE_16),
    ("create, 64 writers", _loop("create_64"), _cpu("create_64_cpu_us"), "< 100 us; > 3x the rate, lower p99",
     _both(_below("create_64_cpu_us", 100), _above("create_64_per_s", 3 * 2172)),
     "2,172/s, p99 67 ms, 808 us (etcd)"),
    ("GET, 16 readers", _loop("get_16"), _cpu("get_16_cpu_us"), "< 40 us", _below("get_16_cpu_us", 40),
     "3,857/s, p99 12 ms, 410 us (etcd)"),
    ("LIST of 500, 4 readers", _loop("list_4"), _cpu("list_4_cpu_us"), "< 1 ms", _below("list_4_cpu_us", 1000),
     "141/s, 9.0 ms (etcd)"),
    ("LIST of 500 with gzip, 4 readers", _loop("list_gzip_4"), _cpu("list_gzip_4_cpu_us"), "reported", NOTHING, ""),
    ("GET at 200/s, alone", _quantiles("get_alone"), NOTHING, "reported", NOTHING, ""),
    ("GET at 200/s, beside LISTs of 20,000 without pause", _quantiles("get_beside_list"), NOTHING, "p99 < 5 ms",
     _below("get_beside_list_p99_ms", 5), ""),
    ("the same with gzip", _quantiles("get_beside_list_gzip"), NOTHING, "p99 < 5 ms", _below("get_beside_list_gzip_p99_ms", 5), ""),
    ("Lease PUT at 20/s, beside 64 connections that list 5,000 pods each", _quantiles("lease_of_account"), NOTHING, "p99 < 100 ms",
     _below("lease_of_account_p99_ms", 100), ""),
    ("the same by an account of kube-system", _quantiles("lease_of_system"), NOTHING, "p99 < 100 ms", _below("lease_of_system_p99_ms", 100), ""),
    ("/readyz at 20/s beside them", _quantiles("readyz"), NOTHING, "p99 < 100 ms", _below("readyz_p99_ms", 100), ""),
    ("merge-patch, 16 writers", _loop("patch_16"), _cpu("patch_16_cpu_us"), "< 150 us", _below("patch_16_cpu_us", 150),
     "1,537/s, p99 28 ms, 1,130 us (etcd)"),
    ("PUT, 16 writers", _loop("update_16"), _cpu("update_16_cpu_us"), "reported", NOTHING, ""),
    ("apply of a pod of 3 KB that exists, 16 writers", _loop("apply_16"), _cpu("apply_16_cpu_us"), "< 250 us", _below("apply_16_cpu_us", 250), ""),
    ("the same, changing nothing", _loop("apply_same_16"), _cpu("apply_same_16_cpu_us"), "reported", NOTHING, ""),
    ("event to 1,000 TLS watchers", _quantiles("delivery"), _cpu("delivery_cpu_us"), "< 20 us a delivery, HTTP/1.1",
     _below("delivery_cpu_us", 20), "28-33 us (etcd)"),
    ("idle TLS watch, HTTP/1.1", _value("watch_idle_kib", "KiB"), NOTHING, "< 18 KiB", _below("watch_idle_kib", 18), "46 KiB (etcd)"),
    ("memory of 10,000 objects", _value("objects_added_kib", "MiB", 1 / 1024), NOTHING, "< 30 MiB",
     _below("objects_added_kib", 30 * 1024), ""),
    ("idle memory, all processes", _value("idle_pss_kib", "MiB", 1 / 1024), NOTHING, "< 20 MiB",
     _below("idle_pss_kib", 20 * 1024), "309 MiB (etcd), 456 MiB (vCluster)"),
    ("idle CPU, of one core", _value("idle_cpu_percent", "%", digits=3), NOTHING, "< 0.1 %", _below("idle_cpu_percent", 0.1),
     "2.1 % (etcd), 5.9 % (vCluster)"),
    ("create to first kubectl answer", _value("start_s", "s", digits=2), NOTHING, "< 1 s", _below("start_s", 1),
     "3 s (etcd), 14 s (vCluster)"),
    ("tenant pod create to host create, 10/s", _quantiles("paced_host_create"), NOTHING, "< 15 ms p50, < 50 ms p99",
     _both(_below("paced_host_create_p50_ms", 15), _below("paced_host_create_p99_ms", 50)), "24 ms p50, 53 ms p99 (vCluster)"),
    ("Running back in the tenant, 10/s", _quantiles("paced_running"), NOTHING, "< 40 ms p50, < 90 ms p99",
     _both(_below("paced_running_p50_ms", 40), _below("paced_running_p99_ms", 90)), "72 ms p50, 148 ms p99 (vCluster)"),
    ("the same pods on the host directly", _quantiles("paced_direct_running"), NOTHING, "reported", NOTHING, "19 ms p50, 43 ms p99"),
    ("burst of pods reaching the host", _burst_rate("burst"), NOTHING, ">= 90 % of direct",
     _ratio("burst_reaching_host_per_s", "burst_direct_reaching_host_per_s", lambda r: r >= 0.9), "40/s (vCluster)"),
    ("the same burst to the host directly", _burst_rate("burst_direct"), NOTHING, "reported", NOTHING, "200-280/s"),
    ("that burst Running in the tenant", _burst_running("burst"), NOTHING, "within 1.2x of direct",
     _ratio("burst_all_running_s", "burst_direct_all_running_s", lambda r: r <= 1.2), "20/s, p50 35 s (vCluster)"),
    ("the direct burst Running", _burst_running("burst_direct"), NOTHING, "reported", NOTHING, "all after 6 s (169/s)"),
    ("delete of a virtual cluster with 500 pods", _delete(500), NOTHING, "< 5 s, < 1 s of CPU",
     _both(_below("delete_500_s", 5), _below("delete_500_cpu_s", 1)), ""),
    ("the same with 2,200 pods", _delete(2200), NOTHING, "< 20 s", _below("delete_2200_s", 20), ""),
    ("code of the kinds' rules in the executable, at most", _value("rules_mib", "MiB", digits=2), NOTHING, "< 1.5 MiB", _below("rules_mib", 1.5), ""),
]
VERDICT = {True: "met", False: "**missed**", None: ""}


def render(figures: dict, heading: str, failed: list[str]) -> str:
    lines = [heading, "", "| figure | sublet | server CPU per operation | goal | | peer's figure on another such machine |",
             "|---|---|---|---|---|---|"]
    for label, value, cpu, goal, test, peer in ROWS:
        text = value(figures)
        if text is not None:
            lines.append(f"| {label} | {text} | {cpu(figures) or ''} | {goal} | {VERDICT[test(figures)]} | {peer} |")
    for label, text, cpu, goal, met, peer in _creates(figures):
        lines.append(f"| {label} | {text} | {cpu} | {goal} | {VERDICT[met]} | {peer} |")
    lines += [""] + [f"Not measured: {failure}" for failure in failed]
    return "\n".join(lines).rstrip()
