#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_bench.py EXTANT: `extant bench` runs, and what it prints is sane.

Never how fast anything is: only what holds at any speed.  Speaks TAP.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback

EXTANT = sys.argv[1]
SHORT = ["--seconds", "0.02", "--repeat", "2"]
# Files of some hundred megabytes, which no disk needs to see.
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "."


def bench(*words):
    return subprocess.run([EXTANT, "bench", *words], capture_output=True,
                          text=True)


def grid_of(*words):
    """The only grid of a run, and its cells by (block, row)."""
    run = bench("journal", *SHORT, *words, "--json")
    assert run.returncode == 0, run.stderr
    grids = json.loads(run.stdout)["grids"]
    assert len(grids) == 1
    return grids[0], {(c["block"], c["row"]): c for c in grids[0]["cells"]}


def median(cell, metric):
    return cell[metric]["median"]


def test_ops_counts_in_every_cell():
    grid, cells = grid_of("ops", "--threads", "1,3")
    rows = ["percpu", "atomic", "lock", "bare"]
    assert set(cells) == {(b, r) for b in ("1 client", "3 clients") for r in rows}
    for cell in cells.values():
        assert len(cell["ops_per_s"]["runs"]) == 2
        assert all(v > 0 for v in cell["ops_per_s"]["runs"])
        assert all(v >= 0 for v in cell["switches_per_op"]["runs"])


def test_config_chooses_rows():
    _, cells = grid_of("begin", "--config", "lock")
    assert [row for _, row in cells] == ["six atomic additions", "lock"]
    assert all(median(cell, "ns") > 0 for cell in cells.values())


def test_latency_quantiles_ascend():
    grid, cells = grid_of("latency", "--config", "percpu")
    blocks = {block for block, _ in cells}
    assert blocks == {"no commits", "every 100 ms", "back to back"}
    for (block, row), cell in cells.items():
        for i in range(2):
            spread = [cell[m]["runs"][i] for m in
                      ("p50_ns", "p99_ns", "p99_99_ns", "max_ns")]
            assert spread == sorted(spread), spread
        committed = median(cell, "commits_per_s") > 0
        assert committed == (row != "clock alone" and block == "back to back") \
            or block == "every 100 ms"


def test_group_waits_for_two_flushes():
    grid, cells = grid_of("group", "--threads", "16", "--seconds", "0.3")
    alone = cells["16 clients", "one by one"]
    # A flush takes a millisecond, a commit two of them, and each wait is
    # answered by a commit of its own.
    assert median(alone, "flush_ms_mean") >= 1
    assert all(v >= 2 for v in alone["wait_ms_p50"]["runs"])
    assert all(v <= 1.01 for v in alone["waits_per_commit"]["runs"])
    together = cells["16 clients", "in groups"]
    assert all(v >= 1 for v in together["waits_per_commit"]["runs"])
    assert {bar["what"] for bar in grid["bars"]} == {
        "waits per commit, in groups", "mean wait in ms, in groups"}


def test_log_and_plain_write_the_same():
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = os.path.join(folder, "scratch")
        grid, cells = grid_of("log", "mem:", path)
        assert not os.path.exists(path)
    assert len(grid["bars"]) == 2
    for block in ("mem:", path):
        plain = cells[block, "plain writes"]
        log = cells[block, "log, crc32c"]
        assert median(plain, "mib_per_txn") > 32
        assert median(plain, "mib_per_txn") == median(log, "mib_per_txn")
        assert median(plain, "flushes_per_txn") == 2
        assert median(log, "flushes_per_txn") == 2


def test_host_and_command_are_told():
    run = bench("journal", "begin", "--config", "percpu", *SHORT, "--json")
    told = json.loads(run.stdout)
    assert told["command"][:4] == ["extant", "bench", "journal", "begin"]
    assert "percpu" in told["command"]
    for key in ("kernel", "cpu", "cpus", "version", "flavour", "compiler"):
        assert told["host"][key], key


def test_table_names_rows_and_bars():
    run = bench("journal", "begin", *SHORT)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    for start in ("1 client ", "  six atomic additions ", "  percpu ",
                  "  lock ", "  percpu over six atomic additions: "):
        assert any(line.startswith(start) for line in lines), start
    assert run.stderr == ""


def refused(*words):
    run = bench(*words)
    assert run.returncode == 2, words
    assert run.stdout == "", words
    assert len(run.stderr.splitlines()) == 1, run.stderr
    assert run.stderr.startswith("extant: "), run.stderr
    return run.stderr


def test_wrong_usage_is_told_in_a_line():
    refused()
    refused("nothing")
    refused("journal", "--nothing")
    refused("journal", "--threads")
    refused("journal", "--threads", "0")
    refused("journal", "--threads", "1,x")
    refused("journal", "--seconds", "nan")
    refused("journal", "--seconds", "0")
    refused("journal", "--repeat", "100")
    assert "percpo" in refused("journal", "--config", "percpo")


def test_existing_file_is_left_alone():
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = os.path.join(folder, "precious")
        with open(path, "wb") as file:
            file.write(b"data")
        assert path in refused("journal", "begin", path)
        with open(path, "rb") as file:
            assert file.read() == b"data"
        # Too small, even with leave.
        assert path in refused("journal", "begin", "--overwrite", path)


def main():
    tests = [(name, test) for name, test in globals().items()
             if name.startswith("test_")]
    bad = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            bad += 1
            for line in traceback.format_exc().splitlines():
                print("#", line)
            print(f"not ok {number} - {name}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
