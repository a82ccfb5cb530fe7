#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damage that is read around: superblocks with copies, directory indexes."""

import os
import re
import sys

from fill import fill
from judge import Mounted, copy, expect, main, mke2fs, need_root, ours, run


def made(*options, size=48 << 20, folder=False):
    need_root()
    if folder:
        os.mkdir("tree")
        fill("tree", 60, largest=300, far=1 << 24)
        return mke2fs("fs.img", size, *options, "-d", "tree")
    image = mke2fs("fs.img", size, *options)
    with Mounted(image) as top:
        fill(top, 60)
    return image


def wiped(image, offset, count):
    damaged = copy(image, "damaged.img")
    with open(damaged, "r+b") as file:
        file.seek(offset)
        file.write(bytes(count))
    return damaged


def judge_copies(image, least, wipe=1024):
    """Each copy by its block, and one by itself, shows the same tree.  Free
    counts in copies are old."""
    right, _ = ours(image)
    text = run("dumpe2fs", image).stdout
    copies = re.findall(r"Backup superblock at (\d+)", text)
    expect(len(copies) >= least, f"{len(copies)} copies of the superblock")
    damaged = wiped(image, 1024, wipe)
    before = open(damaged, "rb").read(1 << 20)
    seen, said = ours(damaged)
    using = re.search(r"using the copy in block (\d+)", said)
    expect(using and using[1] in copies, f"said only: {said}")
    expect(seen[1:] == right[1:], "another tree by the copy")
    for block in copies[:4]:
        seen, said = ours(damaged, f"superblock={block}")
        expect("using" not in said, f"said {said}")
        expect(seen[1:] == right[1:], f"another tree by {block}")
    expect(open(damaged, "rb").read(1 << 20) == before, "it was written to")
    ours(damaged, f"superblock={int(copies[0]) + 1}", ok=(2,))


def test_images_copies_of_1k_blocks():
    judge_copies(made("-t", "ext4", "-b", "1024"), 3, wipe=4096)


def test_images_copies_of_4k_blocks():
    judge_copies(made("-t", "ext4", "-b", "4096", size=512 << 20), 2,
                 wipe=1 << 14)


def test_images_copies_of_64k_blocks():
    # A group has almost 4 GiB.
    judge_copies(made("-t", "ext4", "-b", "65536", "-N", "4000",
                      size=20 << 30, folder=True), 1, wipe=1 << 17)


def test_images_copies_of_sparse_super2():
    judge_copies(made("-t", "ext4", "-b", "1024", "-O",
                      "sparse_super2,^resize_inode"), 2, wipe=4096)


def test_images_copies_of_meta_bg():
    # The descriptors in the first group are gone, too.
    judge_copies(made("-t", "ext4", "-b", "1024", "-O",
                      "meta_bg,^resize_inode"), 3, wipe=2048)


def test_images_copies_of_bigalloc():
    judge_copies(made("-t", "ext4", "-b", "1024", "-C", "16384", "-O",
                      "bigalloc,^resize_inode", size=300 << 20), 1)


def test_images_copy_is_taken_for_a_bad_checksum():
    image = made("-t", "ext4", "-b", "1024")
    right, _ = ours(image)
    with open(image, "r+b") as file:
        file.seek(1024 + 0x78)  # the label
        file.write(b"x")
    seen, said = ours(image)
    expect("using the copy in block 8193" in said, f"said only: {said}")
    expect(seen[1:] == right[1:], "another tree by the copy")


def test_images_without_any_superblock_are_refused():
    image = mke2fs("fs.img", 4 << 20, "-t", "ext2", "-b", "1024")
    _, said = ours(wiped(image, 0, 4096), ok=(2,))
    expect("bad magic" in said, f"said {said}")


def test_images_damaged_index_is_read_around_and_said():
    need_root()
    image = mke2fs("fs.img", 48 << 20, "-t", "ext4", "-b", "1024", "-O",
                   "^has_journal")
    with Mounted(image) as top:
        fill(top, 600)
    right, _ = ours(image)
    block = int(run("debugfs", "-R", "blocks /many", image).stdout.split()[0])
    with open(image, "r+b") as file:
        file.seek(block * 1024 + 40)
        file.write(b"\xff" * 8)
    seen, said = ours(image)
    expect("reading the directory without it" in said, f"said only: {said}")
    expect(seen == right, "another tree without the index")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
