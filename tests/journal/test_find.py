#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finding the journal wherever it may be.

Over the layouts that mke2fs can make; with a map in many pieces; with the
journal inode lost; inside a partition.  Needs no root.
"""

import os
import struct

import judge
import test_debugfs
from judge import Skip, debugfs, dump, expect, mke2fs, run

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../../shared/data/images/feature-matrix.tar.zst")


def expect_map(image):
    """Our map is debugfs's list of blocks, in order, less its few nodes."""
    seen = dump(image)
    ours = judge.mapped(seen)
    text = judge.ask_debugfs(image, "blocks <8>")
    theirs = list(map(int, text.split()))
    known = set(ours)
    expect([block for block in theirs if block in known] == ours,
           "the map is not debugfs's")
    expect(len(theirs) - len(ours) <= len(ours) / 64 + 4,
           f"{len(theirs) - len(ours)} blocks are missing from the map")
    expect(len(ours) == seen["journal"]["blocks"], "the map has holes")
    return seen


def layout(*options, size=48 << 20):
    def case():
        mke2fs("fs.img", size, *options)
        seen = expect_map("fs.img")
        expect(seen["journal"]["source"] == "inode", "not by the inode")
        expect(seen["end"]["replayable"], "a fresh journal is not replayable")
        done = judge.extant("journal", "replay", "fs.img")
        expect("nothing to do" in done.stdout, "a fresh image is not clean")
    return case


def fragmented():
    """1024 blocks apart from each other: an extent tree of depth 2."""
    mke2fs("fs.img", 8 << 20, "-t", "ext4", "-b", "1024", "-O",
           "^has_journal,^resize_inode,^metadata_csum", "-N", "16")
    debugfs("fs.img", *(f"setb {block}" for block in range(4096, 8192, 2)))
    debugfs("fs.img", "setb 100 3996")
    run("tune2fs", "-j", "-J", "size=1", "fs.img")
    seen = expect_map("fs.img")
    expect(len(seen["journal"]["map"]) > 336, "not in pieces enough")
    expect("depth 2" in extent_depth("fs.img"), "the tree is not of depth 2")
    log = test_debugfs.Log(1024, 5)
    blocks = range(4096, 4296, 2)
    log.write(blocks)
    debugfs("fs.img", "jo", *log.commands, "jc")
    judge.judge_replay("fs.img", blocks=100)


def extent_depth(image):
    text = judge.ask_debugfs(image, "ex <8>")
    levels = {line.split("/")[1].split()[0] for line in text.splitlines()
              if "/" in line}
    return f"depth {max(map(int, levels))}"


def lost_inode(*options):
    """The copy of the map in the superblock serves, and we say so."""
    def case():
        log, first = make_log(*options)
        debugfs("dirty.img", "clri <8>")
        done = judge.extant("journal", "dump", "--json", "dirty.img")
        expect("copy of its block map" in done.stderr, "used without a word")
        seen = dump("dirty.img")
        expect(seen["journal"]["source"] == "superblock", "not by the copy")
        judge.copy("dirty.img", "ours.img")
        judge.extant("journal", "replay", "ours.img")
        for block, contents in log.home.items():
            got = test_debugfs.read_block("ours.img", 1024, block)
            expect(got == contents, f"block {block} is not home")
        expect(first in log.home, "nothing was logged")
        again = judge.extant("journal", "replay", "ours.img")
        expect("nothing to do" in again.stdout, "still needs recovery")
        judge.judge_structure("ours.img")
    return case


def make_log(*options):
    mke2fs("dirty.img", 16 << 20, "-b", "1024", "-J", "size=1", *options)
    log = test_debugfs.Log(1024, 3)
    log.write(range(12000, 12050))
    debugfs("dirty.img", "jo", *log.commands, "jc")
    return log, 12000


def partition():
    """IMAGE#N, and not a byte outside of it."""
    test_debugfs.make_image(1024, True, 3)
    start, disk = 1 << 20, "disk.img"
    size = os.path.getsize("dirty.img")
    entry = struct.pack("<B3xB3xII", 0, 0x83, start // 512, size // 512)
    with open(disk, "wb") as file:
        file.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")
        file.seek(start)
        with open("dirty.img", "rb") as image:
            file.write(image.read())
        file.write(b"the end" * 1024)
    judge.copy(disk, "before.img")
    done = judge.extant("journal", "replay", disk, ok=(2,))
    expect("disk.img#N" in done.stderr, f"no hint: {done.stderr}")
    judge.replay_both("dirty.img")
    judge.extant("journal", "replay", disk + "#1")
    with open(disk, "rb") as file, open("before.img", "rb") as before, \
            open("ours.img", "rb") as ours:
        expect(file.read(start) == before.read(start), "the table has changed")
        expect(file.read(size) == ours.read(), "not the same as without #1")
        before.seek(start + size)
        expect(file.read() == before.read(), "the end has changed")


def feature_matrix():
    """Superblocks of every shape open; these images are too small for a
    journal, and that is what we say of each."""
    if not os.path.exists(DATA):
        raise Skip("needs ../shared/data/images/feature-matrix.tar.zst")
    run("tar", "-xf", DATA)
    images = [name for name in os.listdir(".") if name.endswith(".img")]
    expect(len(images) == 63, f"{len(images)} images")
    for image in images:
        done = judge.extant("journal", "dump", image, ok=(2,))
        expect("has no journal" in done.stderr, f"{image}: {done.stderr}")


EXT4 = ("-t", "ext4", "-b", "1024")

if __name__ == "__main__":
    judge.main([
        ("ext4-1k", layout(*EXT4)),
        ("ext4-2k", layout("-t", "ext4", "-b", "2048")),
        ("ext4-4k", layout("-t", "ext4", "-b", "4096")),
        ("ext4-16k", layout("-t", "ext4", "-b", "16384", size=256 << 20)),
        ("ext4-64k", layout("-t", "ext4", "-b", "65536", size=1 << 30)),
        ("ext3-1k", layout("-t", "ext3", "-b", "1024", "-J", "size=4")),
        ("ext3-old", layout("-t", "ext3", "-b", "1024", "-I", "128",
                            "-O", "^sparse_super,^resize_inode")),
        ("ext3-triple", layout("-t", "ext3", "-b", "1024", "-J", "size=80",
                               size=512 << 20)),
        ("meta-bg", layout(*EXT4, "-O", "meta_bg,^resize_inode", "-g", "512")),
        ("meta-bg-no-flex", layout(
            *EXT4, "-O", "meta_bg,^resize_inode,^flex_bg,^64bit",
            "-g", "256", "-J", "size=1", "-N", "2048")),
        ("no-flex-bg", layout(*EXT4, "-O", "^flex_bg", "-g", "1024",
                              "-N", "2048")),
        ("bigalloc", layout(*EXT4, "-O", "bigalloc", "-C", "8192")),
        ("sparse-super2", layout(*EXT4, "-O", "sparse_super2", "-g", "2048")),
        ("no-sparse-super", layout(*EXT4, "-O", "^sparse_super,^resize_inode",
                                   "-g", "2048")),
        ("csum-seed-orphan-file", layout(
            *EXT4, "-O", "metadata_csum_seed,orphan_file")),
        ("uninit-bg", layout(*EXT4, "-O", "^metadata_csum,uninit_bg")),
        ("uninit-bg-32bit", layout(
            *EXT4, "-O", "^metadata_csum,uninit_bg,^64bit")),
        ("large-descriptors", layout(*EXT4, "-E", "desc_size=128")),
        ("large-inodes", layout(*EXT4, "-I", "1024", "-N", "512")),
        ("small-inodes", layout(*EXT4, "-I", "128")),
        ("packed-meta", layout(*EXT4, "-E", "packed_meta_blocks=1")),
        ("many-features", layout(
            *EXT4, "-O", "quota,project,mmp,inline_data,encrypt,verity,"
            "casefold,large_dir,ea_inode,stable_inodes,fast_commit")),
        ("fragmented", fragmented),
        ("lost-inode-extents", lost_inode("-t", "ext4")),
        ("lost-inode-indirect", lost_inode("-t", "ext3")),
        ("partition", partition),
        ("feature-matrix", feature_matrix),
    ])
