#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant check --quick` against e2fsck -fn.

What e2fsck calls clean must be clean here, and each damage of a list must be
found: one change to a clean image, by debugfs or by dd.  Where e2fsck passes
over a damage silently (it uses a copy, or looks at other things), the case
says so.
"""

import os
import re

import tool_judge
from tool_judge import as_json, differs, expect, judge, run
import test_debugfs

NOTHING = 0
E2FSCK_FINDS = (4, 8, 12)


def source():
    """A tree with something of everything that mke2fs -d takes."""
    os.makedirs("tree/a/b")
    for i in range(40):
        with open(f"tree/a/f{i}", "wb") as file:
            file.write(os.urandom(i * 997))
        os.symlink("x" * (i * 3 + 1), f"tree/a/b/l{i}")
    with open("tree/sparse", "wb") as file:
        for i in range(60):
            file.seek(i * 20000)
            file.write(b"piece")
    os.mkfifo("tree/fifo")


def make(image, size, *options):
    judge.mke2fs(image, size, "-d", "tree", *options)


def expect_clean(image, *options):
    run("e2fsck", "-fn", image)
    seen = as_json("check", "--quick", "--json", *options, image, ok=(0, 1))
    expect(seen["count"] == 0, f"{image}: {seen['findings'][:3]}")
    return seen


def clean(*options, size=96 << 20):
    def case():
        source()
        make("fs.img", size, *options)
        seen = expect_clean("fs.img")
        fields = judge.super_fields("fs.img")
        differs("inodes in use", seen["inodes_used"],
                int(fields["Inode count"]) - int(fields["Free inodes"]))
        if "bigalloc" not in fields["Filesystem features"]:
            differs("blocks in use", seen["clusters_used"],
                    int(fields["Block count"]) - int(fields["Free blocks"]) -
                    int(fields["First block"]))
    return case


def feature_matrix():
    for image in tool_judge.matrix():
        expect_clean(image)


def after_kernel():
    """Files made, torn, removed; orphans and a dirty journal."""
    tool_judge.need_root()
    judge.mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    os.mkdir("mnt")
    run("mount", "-o", "loop", "fs.img", "mnt")
    held = []
    try:
        for i in range(300):
            with open(f"mnt/{i}", "wb") as file:
                file.write(os.urandom(i * 100))
        for i in range(0, 300, 3):
            os.unlink(f"mnt/{i}")
        for i in range(1, 10, 3):
            held.append(open(f"mnt/{i}", "rb"))
            os.unlink(f"mnt/{i}")
        run("sync", "-f", "mnt")
        judge.copy("fs.img", "live.img")
    finally:
        for file in held:
            file.close()
        run("umount", "mnt")
    seen = expect_clean("fs.img")
    expect(seen["transactions_replayed"] == 0, "a clean image was replayed")
    expect(judge.needs_recovery("live.img"), "not dirty")
    seen = as_json("check", "--quick", "--json", "live.img")
    expect(seen["transactions_replayed"] > 0, "nothing was replayed")
    notes = [one["reason"] for one in seen["findings"]]
    expect(any("wait to be freed" in note for note in notes), f"{notes}")
    # Counts of the superblock lag behind now, which is no damage.
    run("e2fsck", "-y", "-E", "journal_only", "live.img")
    as_json("check", "--quick", "--json", "live.img")


def resized():
    source()
    make("fs.img", 16 << 20, "-t", "ext4", "-b", "1024")
    judge.make_file("large", 200 << 20)
    os.truncate("fs.img", 200 << 20)
    run("resize2fs", "fs.img")
    expect_clean("fs.img")
    run("e2fsck", "-f", "-y", "fs.img")
    run("resize2fs", "fs.img", "50M")
    expect_clean("fs.img")


def relabelled():
    source()
    make("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    run("tune2fs", "-L", "other", "-U", "random", "-c", "5", "fs.img",
        ok=None)
    expect_clean("fs.img")


# ---- damage ------------------------------------------------------------------


def where(image, what):
    """The first block of group 0's "Block bitmap", "Inode table", ..."""
    text = run("dumpe2fs", image).stdout
    return int(re.search(what + r" at (\d+)", text).group(1))


def inode_of(image, path):
    text = judge.ask_debugfs(image, f"stat {path}")
    return int(re.search(r"Inode: (\d+)", text).group(1))


def overwrite(image, offset, data):
    with open(image, "r+b") as file:
        file.seek(offset)
        file.write(data)


def judge_damage(name, image, words, e2fsck=E2FSCK_FINDS, block=None,
                 inode=None):
    done = run("e2fsck", "-fn", image, ok=None)
    expect(done.returncode in e2fsck,
           f"{name}: e2fsck ends with {done.returncode}")
    seen = as_json("check", "--quick", "--json", image, ok=(1,))
    text = judge.extant("check", "--quick", image, ok=(1,)).stdout
    real = [one for one in seen["findings"] if not one["note"]]
    expect(seen["count"] == len(real) > 0, f"{name}: counts {seen['count']}")
    expect(len(text.splitlines()) == len(seen["findings"]) + 1,
           f"{name}: not one line each:\n{text}")
    found = [one for one in real if words in one["reason"] and
             block in (None, one.get("block")) and
             inode in (None, one.get("inode"))]
    expect(found, f"{name}: nothing says '{words}' of block {block}, inode "
           f"{inode}: {real[:4]}")


def by_dd(kind):
    """Bytes of all sorts where bitmaps, tables and superblocks are."""
    def case():
        source()
        make("fs.img", 64 << 20, "-t", kind, "-b", "1024")
        ext4 = kind == "ext4"
        noise = os.urandom(1024)
        table = where("fs.img", "Inode table")
        bad = "checksum" if ext4 else "free, the descriptor says"
        for name, block, words, ok in (
                ("block bitmap", where("fs.img", "Block bitmap"), bad,
                 E2FSCK_FINDS),
                ("inode bitmap", where("fs.img", "Inode bitmap"), bad,
                 E2FSCK_FINDS),
                ("inode table", table + 3, "checksum" if ext4 else "",
                 E2FSCK_FINDS),
                # e2fsck takes the copies and is content.
                ("descriptors", 2, "descriptor of group 0", (0, 4, 12)),
                ("superblock", 1, "magic", (0, 4, 12)),
                ("copy", 8193, "copy of the superblock", (0,))):
            judge.copy("fs.img", "bad.img")
            overwrite("bad.img", block * 1024, noise)
            judge_damage(name, "bad.img", words, ok)
    return case


def one_bit():
    """A single wrong bit of a bitmap, and of an inode."""
    source()
    make("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    for what in ("Block bitmap", "Inode bitmap", "Inode table"):
        at = where("fs.img", what) * 1024
        # Of the root's mode, the second inode's, or of the padding.
        at += 256 if what == "Inode table" else 5
        with open("fs.img", "rb") as file:
            file.seek(at)
            byte = file.read(1)[0]
        judge.copy("fs.img", "bad.img")
        overwrite("bad.img", at, bytes([byte ^ 4]))
        judge_damage(what, "bad.img", "checksum")


def by_debugfs(kind, *cases):
    """(commands, words, arguments of judge_damage)"""
    def case():
        source()
        make("fs.img", 64 << 20, "-t", kind, "-b", "1024")
        for commands, words, arguments in cases:
            judge.copy("fs.img", "bad.img")
            judge.debugfs("bad.img", *commands.split("; "))
            expect(open("fs.img", "rb").read() != open("bad.img", "rb").read(),
                   f"{commands}: changes nothing")
            if "path" in arguments:
                arguments = dict(arguments)
                arguments["inode"] = inode_of("fs.img",
                                              arguments.pop("path"))
            judge_damage(commands, "bad.img", words, **arguments)
    return case


SILENT = {"e2fsck": (0,)}
FILE = {"path": "/a/f20"}

SUPER = (
    ("ssv last_orphan 99999999", "no such inode", SILENT),
    ("ssv state 2", "errors were found before", SILENT),
    ("ssv inodes_count 10", "does not fit", {}),
    ("ssv r_blocks_count 99999999", "reserved blocks", {}),
    ("ssv first_ino 3", "first inode", {}),
    ("ssv blocks_per_group 100", "does not fit", {}),
)
GROUP = (
    ("set_bg 0 checksum 0x1234", "checksum", {"e2fsck": (0, 4)}),
    ("set_bg 0 block_bitmap 500; set_bg 0 checksum calc", "", {}),
    ("set_bg 0 inode_table 700; set_bg 0 checksum calc", "", {}),
    ("set_bg 0 free_blocks_count 3; set_bg 0 checksum calc",
     "the descriptor says 3", {}),
    ("set_bg 0 free_inodes_count 3; set_bg 0 checksum calc",
     "the descriptor says 3", {}),
    ("set_bg 0 used_dirs_count 77; set_bg 0 checksum calc",
     "77 directories", {}),
    ("set_bg 0 itable_unused 2040; set_bg 0 checksum calc",
     "none ever was", {}),
    ("set_bg 0 block_bitmap_csum 0x12; set_bg 0 checksum calc",
     "block bitmap of group 0: bad checksum", {}),
    ("setb 8000", "", {}),
    ("freeb 900", "", {}),
    ("seti <500>", "", {}),
    ("freei /a/f9", "", {}),
)
INODE = (
    ("sif /a/f20 mode 0", "type", FILE),
    ("sif /a/f20 links_count 0", "no links", FILE),
    ("sif /a/f20 dtime 77", "time of deletion", FILE),
    ("sif /a/f20 file_acl 99999999", "attributes", FILE),
    ("sif /a/f20 extra_isize 500", "fields behind", FILE),
    ("sif /a/f20 blocks 99999", "sectors", FILE),
    ("sif /a/f20 block[0] 99999999", "extent tree", FILE),
    ("sif /a/f20 checksum 0x1", "checksum", FILE),
    ("sif /a size 1", "size that cannot be", {"path": "/a"}),
    ("sif <2> mode 0100644", "root", {"inode": 2}),
    ("clri /a/f9", "", {}),
)
WORDS = (
    ("sif /a/f2 block[0] 99999999", "outside", {"path": "/a/f2"}),
    ("sif /a/f2 block[1] 3", "fixed metadata", {"path": "/a/f2"}),
    ("sif /a/f2 blocks 99999", "sectors", {"path": "/a/f2"}),
    ("sif /a/f20 mode 0", "type", FILE),
    ("sif /a/f20 links_count 0", "no links", FILE),
    ("set_bg 0 free_blocks_count 3", "the descriptor says 3", {}),
    ("set_bg 0 flags 3", "takes checksums", {}),
    ("ssv free_blocks_count 7", "7 free blocks", SILENT),
    ("ssv journal_inum 12", "no journal", {}),
)


def journal():
    """A log that is not intact, and one that nobody was told of."""
    test_debugfs.make_image(1024, True, 3)
    as_json("check", "--quick", "--json", "dirty.img")
    seen = judge.dump("dirty.img")
    commits = [one["device"] for one in seen["blocks"]
               if one["type"] == "descriptor"]
    judge.copy("dirty.img", "bad.img")
    overwrite("bad.img", commits[0] * 1024 + 20, b"\xff" * 64)
    seen = as_json("check", "--quick", "--json", "bad.img", ok=(1,))
    expect(any(one["part"] == "journal" and not one["note"]
               for one in seen["findings"]), f"{seen['findings'][:3]}")
    run("debugfs", "-w", "-R", "feature -needs_recovery", "dirty.img")
    seen = as_json("check", "--quick", "--json", "dirty.img", ok=(1,))
    expect(any("needs_recovery is not set" in one["reason"]
               for one in seen["findings"]), f"{seen['findings'][:3]}")


def orphan_file():
    source()
    make("fs.img", 64 << 20, "-t", "ext4", "-b", "1024", "-O", "orphan_file")
    expect_clean("fs.img")
    ino = judge.super_fields("fs.img")["Orphan file inode"]
    block = int(judge.ask_debugfs("fs.img", f"blocks <{ino}>").split()[0])
    overwrite("fs.img", block * 1024 + 4, b"\x0c")
    judge_damage("orphan file", "fs.img", "checksum", block=block,
                 inode=int(ino))


def threads_agree():
    """Whatever the number of threads, the same findings in the same order."""
    source()
    make("fs.img", 96 << 20, "-t", "ext3", "-b", "1024", "-g", "512")
    noise = os.urandom(256)
    for match in list(re.finditer(r"bitmap at (\d+)",
                                  run("dumpe2fs", "fs.img").stdout))[::7]:
        overwrite("fs.img", int(match.group(1)) * 1024, noise)
    texts = {judge.extant("check", "--quick", "--threads", str(n), "fs.img",
                          ok=(1,)).stdout for n in (1, 2, 3, 16)}
    expect(len(texts) == 1, "threads see different things")
    expect(len(texts.pop().splitlines()) > 20, "too little damage")


def nothing_written():
    source()
    make("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    judge.debugfs("fs.img", "clri /a/f9")
    judge.copy("fs.img", "before.img")
    judge.extant("check", "--quick", "fs.img", ok=(1,))
    run("cmp", "fs.img", "before.img")


def refusals():
    judge.make_file("zero.img", 1 << 20)
    tool_judge.refused("check", "--quick", "zero.img", words=["magic"])
    tool_judge.refused("check", "zero.img", words=["--quick"])
    tool_judge.refused("check", "--quick", words=["no IMAGE"])
    tool_judge.refused("check", "--quick", "none.img", words=["none.img"])
    tool_judge.refused("check", "--quick", "--threads", "0", "zero.img",
                       words=["--threads"])


EXT4 = ("-t", "ext4", "-b", "1024")

if __name__ == "__main__":
    judge.main([
        ("ext2", clean("-t", "ext2", "-b", "1024")),
        ("ext2-revision-0", clean("-t", "ext2", "-r", "0", size=20 << 20)),
        ("ext3", clean("-t", "ext3")),
        ("ext4", clean(*EXT4)),
        ("ext4-64k", clean("-t", "ext4", "-b", "65536", size=600 << 20)),
        ("bigalloc", clean(*EXT4, "-O", "bigalloc", "-C", "16384")),
        ("meta-bg", clean(*EXT4, "-O", "meta_bg,^resize_inode")),
        ("meta-bg-no-flex", clean(*EXT4, "-O",
                                  "meta_bg,^resize_inode,^flex_bg")),
        ("sparse-super2", clean(*EXT4, "-O", "sparse_super2")),
        ("every-copy", clean(*EXT4, "-O", "^sparse_super,^resize_inode")),
        ("no-checksums", clean(*EXT4, "-O", "^metadata_csum")),
        ("crc16", clean(*EXT4, "-O", "^metadata_csum,uninit_bg")),
        ("narrow", clean(*EXT4, "-O", "^64bit")),
        ("small-inodes", clean(*EXT4, "-I", "128")),
        ("inline-data", clean(*EXT4, "-O", "inline_data")),
        ("no-lazy", clean(*EXT4, "-E", "lazy_itable_init=0")),
        ("small-groups", clean(*EXT4, "-g", "256", "-O", "^resize_inode")),
        ("no-journal", clean(*EXT4, "-O", "^has_journal")),
        ("fast-commit", clean(*EXT4, "-O", "fast_commit")),
        ("odd-size", clean(*EXT4, size=77777 << 10)),
        ("feature-matrix", feature_matrix),
        ("after-kernel", after_kernel),
        ("resized", resized),
        ("relabelled", relabelled),
        ("dd-ext2", by_dd("ext2")),
        ("dd-ext3", by_dd("ext3")),
        ("dd-ext4", by_dd("ext4")),
        ("one-bit", one_bit),
        ("debugfs-super", by_debugfs("ext4", *SUPER)),
        ("debugfs-group", by_debugfs("ext4", *GROUP)),
        ("debugfs-inode", by_debugfs("ext4", *INODE)),
        ("debugfs-ext2", by_debugfs("ext2", *WORDS)),
        ("journal", journal),
        ("orphan-file", orphan_file),
        ("threads-agree", threads_agree),
        ("nothing-written", nothing_written),
        ("refusals", refusals),
    ])
