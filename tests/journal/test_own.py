#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Journals that our own committer wrote, replayed by e2fsck and by us.

A small program runs operations on the free blocks of an image and ends
without closing it, as in a crash.  It says what each block must be after
recovery, so that a fault which our replay shares with our committer shows.
"""

import contextlib
import os
import sys

import judge
from judge import Skip, expect, judge_replay, make_file, mke2fs, run

COUNT = 300


@contextlib.contextmanager
def loop(image):
    if os.geteuid() != 0:
        raise Skip("an external journal takes root, to make a loop device")
    device = run("losetup", "--find", "--show", image).stdout.strip()
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


def make_image(size, wide, journal_mib, *options):
    blocks = (journal_mib << 20) // size + 4 * COUNT + 2048
    mke2fs("fs.img", blocks * size, "-t", "ext4", "-b", str(size),
           "-O", "64bit" if wide else "^64bit", "-N", "64", *options)
    return blocks - COUNT - 20


def make_dirty(first, checksum, wide, ops, journal="-"):
    """Operations on fs.img; the blocks that were free at the end."""
    done = run(MAKER, "fs.img", journal, checksum, "64" if wide else "32",
               str(first), str(COUNT), str(ops), "7", "model")
    return {int(line) for line in done.stdout.split()}


def expect_model(image, size, first, free):
    with open("model", "rb") as model, open(image, "rb") as file:
        for block in range(first, first + COUNT):
            file.seek(block * size)
            want, got = model.read(size), file.read(size)
            expect(block in free or want == got,
                   f"block {block} is not what was committed last")


def judge_own(size, checksum, wide, ops, journal_mib):
    def judge_it():
        first = make_image(size, wide, journal_mib, "-J",
                           f"size={journal_mib}")
        free = make_dirty(first, checksum, wide, ops)
        judge.copy("fs.img", "dirty.img")
        seen = judge_replay("dirty.img", transactions=2, blocks=COUNT // 10,
                            spare=free)
        expect_model("ours.img", size, first, free)
        expect_model("theirs.img", size, first, free)
        judge.run("e2fsck", "-fn", "ours.img")
        expect_features(seen, checksum, wide)
        expect(any(block["type"] == "revoke" for block in seen["blocks"]),
               "nothing was revoked")
    return judge_it


def expect_features(seen, checksum, wide):
    got = set(seen["superblock"]["compat"] + seen["superblock"]["incompat"])
    want = {"none": set(), "v1": {"checksum"}, "v2": {"checksum_v2"},
            "v3": {"checksum_v3"}}[checksum] | {"revoke"}
    want |= {"64bit"} if wide else set()
    expect(got == want, f"the journal has features {sorted(got)}")


def judge_external(size, checksum, wide):
    def judge_it():
        make_file("log.img", 1100 * size)
        run("mke2fs", "-q", "-F", "-b", str(size), "-O", "journal_dev",
            "log.img")
        with loop("log.img") as device:
            first = make_image(size, wide, 0, "-J", f"device={device}")
        free = make_dirty(first, checksum, wide, 20, "log.img")
        judge.copy("fs.img", "dirty.img")
        judge.copy("log.img", "dirty.jnl")
        judge_replay("dirty.img", journal="dirty.jnl", transactions=2,
                     blocks=COUNT // 10, spare=free)
        expect_model("ours.img", size, first, free)
        expect_model("theirs.img", size, first, free)
    return judge_it


if __name__ == "__main__":
    MAKER = os.path.abspath(sys.argv.pop(2))
    FORMS = [(checksum, wide) for checksum in ("none", "v1", "v2", "v3")
             for wide in (True, False)]
    judge.main([
        (f"{size // 1024}k-{64 if wide else 32}bit-{checksum}",
         judge_own(size, checksum, wide, 20, max(1024 * size >> 20, 1)))
        for size in (1024, 4096, 65536) for checksum, wide in FORMS
    ] + [
        (f"wrap-{size // 1024}k-{checksum}",
         judge_own(size, checksum, True, 3000, max(1024 * size >> 20, 1)))
        for size in (1024, 4096) for checksum in ("v1", "v3")
    ] + [
        (f"external-{size // 1024}k-{checksum}",
         judge_external(size, checksum, wide))
        for size in (1024, 4096) for checksum, wide in FORMS[1::3]
    ])
