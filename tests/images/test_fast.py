#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fast commits, applied in memory: the tree that fsync promised.

The kernel changes a file system with fast commits, and ends with an fsync; then
the image is copied as if power had failed.  What is right is what the mount
shows at that moment.  Neither the kernel nor e2fsck is asked to replay: the
former (6.18) dies of a block map, the latter (1.47.0) loses directories.
Records say nothing of the times of directories, how long they are, or of their
index.
"""

import functools
import os
import sys

from judge import (Mounted, WALK, copy, expect, judge_same, main, mke2fs,
                   need_root, ours, run)


def write(path, data, mode="wb"):
    with open(path, mode) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def fsync(path="anchor"):
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def without_directory_extras(lines):
    for line in lines:
        words = line.split(" ")
        if words[1] != "entry" and words[2].startswith("04"):
            words[6:14] = ["-"] * 8
        yield " ".join(words)


def inside(top, before, change):
    here = os.getcwd()
    os.chdir(top)
    try:
        write("anchor", b"anchor")
        before()
        run("sync", "-f", ".")
        change()
        write("anchor", b"!", "ab")
    finally:
        os.chdir(here)


def judge(before, change, options="-b 4096", applied=True):
    need_root()
    image = mke2fs("fs.img", 24 << 20, "-t", "ext4", "-O", "fast_commit",
                   *options.split())
    with Mounted(image, "loop,noatime") as top:
        inside(top, before, change)
        dirty = copy(image, "dirty.img")
        right = run(WALK, "host", top).stdout.splitlines()
    log = run("debugfs", "-R", "logdump", dirty).stdout
    expect("tag TAIL" in log, f"no fast commits:\n{log}")
    stamp = os.stat(dirty).st_mtime_ns
    seen, said = ours(dirty)
    expect(os.stat(dirty).st_mtime_ns == stamp, "it was written to")
    expect(("fast commits applied in memory" in said) == applied, said)
    if applied:
        judge_same(list(without_directory_extras(seen[1:])),
                   list(without_directory_extras(right)))
    else:
        expect("not applied" in said, said)


def nothing():
    pass


def pieces(path, count, step, start=0):
    with open(path, "r+b") as file:
        for i in range(count):
            os.pwrite(file.fileno(), b"%d" % i, start + i * step)
        os.fsync(file.fileno())


def many(form, first, last):
    for i in range(first, last):
        write(form.format(i), b"%d" % i)


def prepare_files():
    for name in "abc":
        write(name, name.encode() * 50000)
    os.makedirs("d/e")
    write("d/f", b"f")


def index():
    os.mkdir("many")
    many("many/{:0>40}", 0, 200)


def index_change():
    for i in range(0, 200, 9):
        os.unlink(f"many/{i:0>40}")
    many("many/new{:0>40}", 0, 12)
    os.rename(f"many/{1:0>40}", f"many/{2:0>40}")


CASES = {
    "create": (nothing, lambda: write("new", b"new" * 3000)),
    "append": (prepare_files, lambda: write("a", b"more" * 9000, "ab")),
    "truncate": (prepare_files, lambda: os.truncate("a", 5000)),
    "regrow": (prepare_files, lambda: (
        os.truncate("a", 5000), write("a", b"z" * 30000, "ab"))),
    "attributes": (prepare_files, lambda: (
        os.chmod("a", 0o600), os.chown("b", 70000, 80000),
        os.utime("c", (5000000000, 5000000000)))),
    "link": (prepare_files, lambda: os.link("a", "d/link")),
    "rename": (prepare_files, lambda: os.rename("a", "d/e/renamed")),
    "rename-over": (prepare_files, lambda: os.rename("a", "b")),
    "unlink": (prepare_files, lambda: (os.unlink("a"), os.unlink("d/f"))),
    "reuse": (prepare_files, lambda: (
        os.unlink("d/f"), write("again", b"again"))),
    "mkdir": (prepare_files, lambda: (
        os.makedirs("x/y/z"), os.mkdir("empty"), write("x/y/z/f", b"f"))),
    "rmdir": (prepare_files, lambda: os.rmdir("d/e")),
    "back-and-forth": (prepare_files, lambda: (
        os.rename("a", "b"), fsync("b"), os.rename("c", "a"), fsync("a"),
        os.unlink("b"), os.link("a", "b"))),
    "grow-a-directory": (prepare_files, lambda: many(
        "d/a-name-that-needs-some-room-{}", 0, 40)),
    "index": (index, index_change),
    "scatter": (prepare_files, lambda: pieces("a", 300, 3072, 1 << 20)),
}


def test_case(name, options):
    judge(*CASES[name], options=options)


def test_images_fast_inline_file():
    judge(nothing, lambda: write("new", b"inside"), "-b 4096 -O inline_data")


def test_images_fast_block_map_with_indirect_blocks_is_told():
    judge(nothing, lambda: write("new", b"12345678" * 4096),
          "-b 1024 -O ^extent,^64bit", applied=False)


def tests():
    for options in ("-b 1024", "-b 4096 -O ^metadata_csum,^64bit"):
        for name in CASES:
            test = functools.partial(test_case, name, options)
            test.__name__ = "test_images_fast_" + "_".join(
                (name.replace("-", "_"), options.split()[1]))
            yield test
    yield test_images_fast_inline_file
    yield test_images_fast_block_map_with_indirect_blocks_is_told


if __name__ == "__main__":
    sys.exit(main(list(tests())))
