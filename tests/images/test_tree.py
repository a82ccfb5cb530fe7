#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trees that the kernel made, on many kinds of file system."""

import os
import sys

from fill import fill
from judge import (Mounted, copy, debugfs, expect, judge_tree, main, mke2fs,
                   need_root, ours, run)

SIZE = 48 << 20


def made(*options, size=SIZE, many=600, before=()):
    need_root()
    image = mke2fs("fs.img", size, *options)
    if before:
        debugfs(image, *before)
    with Mounted(image) as top:
        fill(top, many)
    return image


def indexed(image, path, levels):
    """debugfs says that directory @path has so many levels of index."""
    text = run("debugfs", "-R", f"htree_dump {path}", image).stdout
    expect(f"Indirect levels: {levels}" in text,
           f"{path} has not {levels} levels of index")
    return text


def test_images_ext4_of_defaults_is_the_kernels_tree():
    image = made("-t", "ext4", many=3000)
    indexed(image, "/many", 1)
    judge_tree(image, lines=3000)


def test_images_ext2_of_1k_blocks_is_the_kernels_tree():
    judge_tree(made("-t", "ext2", "-b", "1024"), lines=600)


def test_images_ext3_of_small_inodes_is_the_kernels_tree():
    judge_tree(made("-t", "ext3", "-I", "128", "-b", "2048"), lines=600)


def test_images_of_revision_0_is_the_kernels_tree():
    judge_tree(made("-t", "ext2", "-r", "0", "-b", "4096"), lines=600)


def test_images_without_filetype_is_the_kernels_tree():
    judge_tree(made("-t", "ext4", "-O", "^filetype"), lines=600)


def test_images_inline_data_and_value_inodes_is_the_kernels_tree():
    image = made("-t", "ext4", "-I", "512", "-b", "1024", "-O",
                 "inline_data,metadata_csum_seed,ea_inode,^has_journal")
    text = run("debugfs", "-R", "ea_list /pieces", image).stdout
    expect("own-inode" in text, "the value has no inode")
    judge_tree(image, lines=600)


def test_images_bigalloc_and_meta_bg_is_the_kernels_tree():
    judge_tree(made("-t", "ext4", "-O", "bigalloc,^resize_inode,meta_bg"),
               lines=600)


def test_images_uninit_bg_and_sparse_super2_is_the_kernels_tree():
    judge_tree(made("-t", "ext4", "-b", "1024", "-O",
                    "^metadata_csum,uninit_bg,sparse_super2,^resize_inode"),
               lines=600)


def test_images_every_hash_is_looked_up():
    for version in ("legacy", "half_md4", "tea"):
        for flag in (1, 2):
            image = made("-t", "ext4", "-b", "1024", "-O", "^has_journal",
                         many=400, before=(
                             f"ssv def_hash_version {version}",
                             f"ssv flags {flag}"))
            indexed(image, "/many", 0)
            said = judge_tree(image, lines=400)
            expect("index" not in said, f"the index was not used: {said}")


def test_images_index_of_three_levels_is_the_kernels_tree():
    # Three names of 250 bytes fill a block of 1 KiB.
    need_root()
    image = mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", "1024", "-O",
                   "large_dir,^has_journal")
    with Mounted(image) as top:
        os.mkdir(f"{top}/deep")
        for i in range(50000):
            if i % 50000 == 0:
                first = f"{top}/deep/{i}"
                open(first, "wb").close()
            os.link(first, f"{top}/deep/{i:0>250}")
    indexed(image, "/deep", 2)
    said = judge_tree(image, lines=50000)
    expect("index" not in said, f"the index was not used: {said}")


def test_images_deep_maps_are_the_kernels():
    need_root()
    for kind in ("ext2", "ext4"):
        image = mke2fs("fs.img", SIZE, "-t", kind, "-b", "1024", "-O",
                       "^has_journal")
        with Mounted(image) as top:
            with open(f"{top}/deep", "wb") as file:
                for i in range(6000):
                    os.pwrite(file.fileno(), b"x", i * 20480)
        text = run("debugfs", "-R", "stat /deep", image).stdout
        if kind == "ext2":
            expect("(TIND)" in text, "no triple indirect block")
        else:
            text = run("debugfs", "-R", "dump_extents /deep", image).stdout
            expect(" 2/ 2 " in text, "the tree is not two levels deep")
        judge_tree(image)


def test_images_external_journal_is_replayed_in_memory():
    need_root()
    with open("log.img", "wb") as file:
        file.truncate(8 << 20)
    run("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096", "log.img")
    loop = run("losetup", "-f", "--show", "log.img").stdout.strip()
    try:
        image = mke2fs("fs.img", SIZE, "-t", "ext4", "-b", "4096", "-J",
                       f"device={loop}")
        with Mounted(image, f"loop,journal_path={loop}") as top:
            fill(top, 300)
            run("sync", "-f", top)
            dirty, log = copy(image, "dirty.img"), copy("log.img", "dirty.log")
    finally:
        run("losetup", "-d", loop)
    ours(dirty, ok=(2,))
    seen, said = ours(dirty, f"journal={log}")
    expect("applied in memory" in said, f"nothing replayed: {said}")
    right, _ = ours(image)
    expect(seen[1:] == right[1:], "another tree than after unmounting")


def test_images_backup_superblock_is_found_and_said():
    image = made("-t", "ext4", "-b", "1024")
    right, _ = ours(image)
    with open(image, "r+b") as file:
        file.seek(1024)
        file.write(bytes(1024))
    seen, said = ours(image)
    expect("using the copy in block 8193" in said, f"said only: {said}")
    expect(seen[1:] == right[1:], "another tree by the copy")
    expect(ours(image, "superblock=24577")[0][1:] == right[1:],
           "another tree by the second copy")


def test_images_dirty_journal_is_replayed_in_memory():
    need_root()
    image = mke2fs("fs.img", SIZE, "-t", "ext4")
    with Mounted(image) as top:
        fill(top, 300)
        run("sync", "-f", top)
        dirty = copy(image, "dirty.img")
    features = run("dumpe2fs", "-h", dirty).stdout
    expect("needs_recovery" in features, "the journal is clean")
    # The kernel replays a copy of its own.
    kernels = copy(dirty, "kernels.img")
    with Mounted(kernels):
        pass
    before = open(dirty, "rb").read()
    seen, said = ours(dirty)
    expect(open(dirty, "rb").read() == before, "the image was written to")
    expect("applied in memory" in said, f"nothing replayed: {said}")
    right, _ = ours(kernels)
    expect(seen[1:] == right[1:], "another tree than after a replay")


def test_images_damaged_index_is_read_around_and_said():
    image = made("-t", "ext4", "-b", "1024", "-O", "^has_journal")
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
