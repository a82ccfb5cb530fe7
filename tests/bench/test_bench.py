#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_bench.py EXTANT: `extant bench` runs, and what it prints is sane.

Never how fast anything is: only what holds at any speed.  Speaks TAP.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback

EXTANT = sys.argv[1]
SHORT = ["--seconds", "0.02", "--repeat", "2"]
# Files of some hundred megabytes, which no disk needs to see.
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "."


class Skip(Exception):
    pass


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


def ops_of(*words):
    """The grids of a run of `ops` by name, each with its cells by block and
    row."""
    run = bench("ops", *SHORT, *words, "--json")
    assert run.returncode == 0, run.stderr
    return {grid["name"]: {(c["block"], c["row"]): c for c in grid["cells"]}
            for grid in json.loads(run.stdout)["grids"]}


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


OPS = ["stat", "missing", "open", "pread-4k", "pread-1m", "readdir",
       "readlink", "getxattr"]
WALKS = {"stat", "missing", "open", "readlink", "getxattr"}
FILES = ["", ", one file each", ", one file"]


def rows_of(op, sides):
    """What an operation is measured on."""
    rows = {side + how for side in sides
            for how in (FILES if op == "stat" else [""])}
    if op in WALKS:
        rows |= {"walk=ref" + how for how in (FILES if op == "stat" else [""])}
    if op.startswith("pread"):
        rows.add("memcpy")
    return rows | ({"bare"} if op == "stat" else set())


def counted_everywhere(grids):
    """Whether each cell did something in some run: a thread that gets no
    processor in one may in another."""
    return all(any(v > 0 for v in cell["ops_per_s"]["runs"])
               for cells in grids.values() for cell in cells.values())


def check_ops(words, sides, lacks=()):
    # However slow the machine: runs may be as long as it takes.
    for seconds in ("0.02", "0.2", "1"):
        grids = ops_of(*words, "--seconds", seconds)
        if counted_everywhere(grids):
            break
    assert counted_everywhere(grids)
    assert list(grids) == OPS
    for op, cells in grids.items():
        rows = rows_of(op, [s for s in sides if (op, s) not in lacks])
        assert {row for _, row in cells} == rows, op
        assert {block for block, _ in cells} == {"1 client", "2 clients"}


def has_attributes(folder):
    try:
        os.setxattr(folder, "user.bench", b"x")
        return True
    except OSError:
        return False


def test_ops_measures_a_folder_and_an_image():
    with tempfile.TemporaryDirectory(dir=QUICK) as top:
        folder = os.path.join(top, "folder")
        image = os.path.join(top, "image")
        os.mkdir(folder)
        lacks = [] if has_attributes(folder) else [("getxattr", folder),
                                                   ("getxattr", "extant"),
                                                   ("getxattr", "walk=ref")]
        run = bench("ops", "--prepare", "--threads", "1,2", folder)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
        # Again: what is there already is no obstacle.
        assert bench("ops", "--prepare", "--threads", "2",
                     folder).returncode == 0
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", folder, image,
                        "64M"], check=True, stdout=subprocess.DEVNULL,
                       env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
        if not lacks:
            check_ops((folder, image), [folder, "extant", "mem"])
        cells = ops_of("open", "--threads", "1", "--config", "mem,extant",
                       image)["open"]
        assert set(cells) == {("1 client", "extant"), ("1 client", "mem")}
        assert "--prepare" in refused("ops", "--threads", "3", image)
        assert "nowhere" in refused("ops", "--config", "nowhere", image)
        assert "image" in refused("ops", image, image)
        assert "--compare" in refused("ops", "--compare", image)
        assert "--prepare" in refused("ops", "--prepare", image)
        assert "directory" in refused("ops", "--prepare", folder, folder)


def loops_of_ours():
    found = []
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            with open(path) as file:
                found += [path] if "extant-bench" in file.read() else []
        except OSError:
            pass
    return found


def test_ops_compares_with_the_kernel():
    if os.geteuid() != 0 or not os.access("/dev/loop-control", os.W_OK):
        assert os.geteuid() == 0 or "root" in refused("ops", "--compare")
        raise Skip("needs root and a loop device")
    check_ops(("--compare",), ["kernel", "extant", "mem"])
    for _ in range(50):
        if not loops_of_ours():
            return
        time.sleep(0.1)
    assert not loops_of_ours()


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
    refused("journal", "--compare")
    assert "--compare" in refused("ops")
    refused("ops", "no-such-file")
    refused("ops", "--threads", "129", ".")
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
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception:
            bad += 1
            for line in traceback.format_exc().splitlines():
                print("#", line)
            print(f"not ok {number} - {name}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
