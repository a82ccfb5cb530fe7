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
import random
import re
import struct
import subprocess
import sys
import time

from judge import (Mounted, WALK, copy, expect, judge_same, main, mke2fs,
                   need_root, ours, run)

MUTANTS = int(os.environ.get("EXTANT_MUTANTS", "30"))


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


def dirty_image(before, change, options):
    """A copy, and the tree that the mount showed."""
    need_root()
    image = mke2fs("fs.img", 24 << 20, "-t", "ext4", "-O", "fast_commit",
                   *options.split())
    with Mounted(image, "loop,noatime") as top:
        inside(top, before, change)
        dirty = copy(image, "dirty.img")
        right = run(WALK, "host", top).stdout.splitlines()
    return dirty, right


def judge(before, change, options="-b 4096", applied=True):
    dirty, right = dirty_image(before, change, options)
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


CRC32C = []
for _value in range(256):
    for _ in range(8):
        _value = _value >> 1 ^ (0x82f63b78 if _value & 1 else 0)
    CRC32C.append(_value)


def crc32c(crc, data):
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 255]
    return crc


def mutate(area, block_bytes, rng):
    """Change bodies of records, and the checksums that cover them."""
    at, crc = 0, 0
    while at + 4 <= len(area):
        tag, length = struct.unpack_from("<HH", area, at)
        if not 1 <= tag <= 9:
            return
        if tag < 7 and rng.random() < 0.3:
            # Most fields are in front; inodes keep their maps behind 40.
            field = at + 4 + rng.randrange(min(length, 60))
            area[field] = rng.choice((0, 1, 2, 12, 13, 255,
                                      rng.randrange(256)))
        end = at + (8 if tag == 8 else 4 + length)
        crc = crc32c(crc, area[at:end])
        if tag == 8:
            struct.pack_into("<I", area, end, crc)
            crc = 0
        at += 4 + length
        if block_bytes - at % block_bytes < 4:
            at += -at % block_bytes


def test_images_fast_mutants_end_in_time():
    seed = int(os.environ.get("EXTANT_SEED", str(time.time_ns())))
    print(f"# EXTANT_SEED={seed}")
    rng = random.Random(seed)
    dirty, _ = dirty_image(index, lambda: (
        index_change(), os.makedirs("x/y"), write("x/y/f", b"f" * 9000),
        pieces("anchor", 30, 8192)), "-b 4096")
    text = run("debugfs", "-R", "stat <8>", dirty).stdout
    runs = [tuple(map(int, found)) for found in
            re.findall(r"\((\d+)-(\d+)\):(\d+)-", text)]
    with open(dirty, "rb") as file:
        whole = file.read()
    count, = struct.unpack_from(">I", whole, runs[0][2] * 4096 + 0x10)
    blocks, = struct.unpack_from(">I", whole, runs[0][2] * 4096 + 0x54)
    first, _, start = runs[-1]
    expect(first <= count - blocks, "fast commits lie in pieces")
    begin = (start + count - blocks + 1 - first) * 4096
    room = (blocks - 1) * 4096
    applied = 0
    for number in range(MUTANTS):
        data = bytearray(whole)
        area = data[begin:begin + room]
        mutate(area, 4096, rng)
        data[begin:begin + len(area)] = area
        with open("mutant.img", "wb") as file:
            file.write(data)
        try:
            done = subprocess.run([WALK, "image", "mutant.img", "log=1"],
                                  capture_output=True, timeout=30,
                                  check=False)
        except subprocess.TimeoutExpired:
            expect(False, f"mutant {number} does not end")
        expect(done.returncode in (0, 1, 2),
               f"mutant {number} ends with {done.returncode}: "
               f"{done.stderr.decode(errors='replace')[:1000]}")
        applied += b"fast commits" in done.stderr
    expect(applied > MUTANTS // 2, f"only {applied} had fast commits left")


def tests():
    for options in ("-b 1024", "-b 4096 -O ^metadata_csum,^64bit"):
        for name in CASES:
            test = functools.partial(test_case, name, options)
            test.__name__ = "test_images_fast_" + "_".join(
                (name.replace("-", "_"), options.split()[1]))
            yield test
    yield test_images_fast_inline_file
    yield test_images_fast_block_map_with_indirect_blocks_is_told
    yield test_images_fast_mutants_end_in_time


if __name__ == "__main__":
    sys.exit(main(list(tests())))
