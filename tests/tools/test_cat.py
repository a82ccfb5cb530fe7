#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant cat` beside the contents of the kernel's mount."""

import hashlib
import os
import pty
import subprocess
import sys

import tools
from tools import (Mounted, broken_pipe, expect, extant, filled, full_disk, main, mke2fs,
                   need_root, output, refusals, same)


def test_cat_files_are_what_the_kernel_reads():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        for path in ("dir/zero", "dir/one", "dir/block", "dir/more", "dir/large",
                     "sparse", "odd/new\nline", b"odd/\xff\xfe", "./dir//one"):
            with open(os.path.join(os.fsencode(top), os.fsencode(path)),
                      "rb") as file:
                right = file.read()
            expect(output("cat", image, path) == right, f"{path}: other bytes")
        expect(output("cat", image, "dir/one", "dir/more", "dir/one") ==
               b"".join(open(f"{top}/dir/{n}", "rb").read()
                        for n in ("one", "more", "one")), "not one after the "
               "other")


def test_cat_huge_sparse_file_costs_no_reading():
    need_root()
    image = mke2fs("fs.img", 16 << 20, "-t", "ext4")
    with Mounted(image) as top:
        with open(top + "/huge", "wb") as file:
            os.pwrite(file.fileno(), b"middle", 70 << 20)
            file.truncate((1 << 27) + 5)
    total, digest = 0, hashlib.md5()
    with subprocess.Popen([tools.EXTANT, "cat", image, "huge"],
                          stdout=subprocess.PIPE) as process:
        while piece := process.stdout.read(1 << 20):
            total += len(piece)
            digest.update(piece)
    right = hashlib.md5()
    zeroes = bytes(1 << 20)
    for i in range(1 << 7):
        right.update(b"middle" + zeroes[6:] if i == 70 else zeroes)
    right.update(bytes(5))
    expect(process.returncode == 0 and total == (1 << 27) + 5, f"{total} bytes")
    expect(digest.digest() == right.digest(), "other bytes")


def test_cat_what_is_no_file_is_named_and_the_rest_done():
    image = filled()
    done = extant("cat", image, "dir", "nothing", "null", "odd/*", "fifo",
                  "dangling", ok=(1,), lines=5)
    for words in ("dir: Is a directory", "nothing: No such file",
                  "null: Invalid argument", "fifo: Invalid argument",
                  "dangling: No such file"):
        expect(words in done.said, f"not '{words}': {done.said}")
    same(done.stdout, b"*", "the rest")


def test_cat_damaged_file_is_named():
    need_root()
    image = mke2fs("fs.img", 16 << 20, "-t", "ext4", "-b", "1024")
    with Mounted(image) as top:
        with open(top + "/file", "wb") as file:
            for i in range(200):
                os.pwrite(file.fileno(), b"x", i * 4096)
        with open(top + "/good", "wb") as file:
            file.write(b"good")
    text = tools.run("debugfs", "-R", "dump_extents /file", image).stdout
    node = int([line for line in text.splitlines() if " 0/ 1" in line]
               [0].split()[7])
    with open(image, "r+b") as file:
        file.seek(node * 1024)
        file.write(b"\xff" * 1024)
    done = extant("cat", image, "file", "good", ok=(1,))
    expect("fs.img: file: damaged" in done.said, f"said {done.said}")
    expect(done.stdout.endswith(b"good"), "the rest is missing")


def test_cat_broken_pipe_ends_it():
    broken_pipe("cat", filled(), "sparse")


def test_cat_tells_how_far_it_is_and_takes_that_away():
    image = filled()
    master, slave = pty.openpty()
    with subprocess.Popen([tools.EXTANT, "cat", image, "sparse", "nothing"],
                          stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        shown = os.read(master, 65536)  # the pipe is full meanwhile
        process.stdout.read()
        process.wait()
        while True:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break
    os.close(master)
    expect(process.returncode == 1, f"status {process.returncode}")
    expect(b"\r\x1b[Kwritten 0 files, " in shown, f"{shown}")
    # The line is gone before a complaint, and at the end.
    gone, complaint = shown.split(b"extant: ")
    expect(gone.endswith(b"\r\x1b[K") and complaint.endswith(
        b"No such file or directory\r\n"), f"{shown}")


def test_cat_refusals():
    refusals("cat", "/x")
    extant("cat", "fs.img", ok=(2,), lines=1)


def test_cat_full_disk_is_told():
    full_disk("cat", filled(), "dir/large")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
