#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input: one line on stderr with file and reason, exit status 2, and not
a byte written.  Needs no root."""

import os
import struct
import subprocess

import judge
import test_debugfs
from judge import debugfs, expect, mke2fs, run

SIZE = 1024


def poke(image, offset, data):
    with open(image, "r+b") as file:
        file.seek(offset)
        file.write(data)


def peek(image, offset, count):
    with open(image, "rb") as file:
        file.seek(offset)
        return file.read(count)


def digest(*names):
    return run("sha256sum", *names).stdout


def refuses(words, *arguments, files=(), name=None, commands=("replay",)):
    """@name: the file that the complaint must name, the last by default."""
    before = digest(*files) if files else ""
    for command in commands:
        done = judge.extant("journal", command, *arguments, ok=(2,))
        expect(not done.stdout, f"{command} printed {done.stdout[:50]}")
        expect(done.stderr.count("\n") == 1, f"not one line: {done.stderr}")
        want = f"extant: {name or arguments[-1]}: "
        expect(done.stderr.startswith(want), f"not of that file: {done.stderr}")
        expect(words in done.stderr, f"not '{words}': {done.stderr}")
    expect(not files or digest(*files) == before, "something was written")


BOTH = ("dump", "replay")


def dirty(log=True, features="^metadata_csum"):
    """dirty.img, of 1 KiB blocks, whose log brings blocks home to 12000 to
    12009.  Its own checksums are off unless @features say so, the log's are
    v1 then and v3 with them."""
    mke2fs("dirty.img", 16 << 20, "-t", "ext4", "-b", str(SIZE), "-J",
           "size=1", "-O", features)
    if log:
        made = test_debugfs.Log(SIZE, 3)
        made.write(range(12000, 12010))
        debugfs("dirty.img", "jo -c", *made.commands, "jc")
    return judge.mapped(judge.dump("dirty.img"))


def change_super(offset, data):
    poke("dirty.img", 1024 + offset, data)


def not_an_image():
    judge.make_file("empty", 0)
    judge.make_file("zero", 1 << 20)
    os.mkdir("folder")
    refuses("too small", "empty", files=["empty"], commands=BOTH)
    refuses("bad magic", "zero", files=["zero"], commands=BOTH)
    refuses("", "missing", commands=BOTH)
    refuses("", "folder", commands=BOTH)


def no_journal():
    mke2fs("fs.img", 4 << 20, "-t", "ext2")
    refuses("has no journal", "fs.img", files=["fs.img"], commands=BOTH)


def bad_superblock():
    dirty()
    good = peek("dirty.img", 1024, 1024)
    for offset, data, words in [
            (0x38, b"\0\0", "bad magic"),
            (0x18, b"\x07", "block size"),
            (0x20, bytes(4), "blocks per group"),
            (0x28, bytes(4), "inodes per group"),
            (0x58, b"\x7f", "inode size"),
            (0x04, b"\xff\xff\xff\x7f", "number of inodes"),
            (0x00, b"\0\0\0\0", "number of inodes"),
            (0xFE, b"\x03", "descriptor size"),
            (0x60, b"\xff\xff\xff\xff", "unknown incompatible features"),
    ]:
        change_super(offset, data)
        refuses(words, "dirty.img", files=["dirty.img"], commands=BOTH)
        poke("dirty.img", 1024, good)


def bad_superblock_checksum():
    mke2fs("dirty.img", 8 << 20, "-t", "ext4", "-O", "metadata_csum")
    change_super(0x78, b"another name")
    refuses("checksum", "dirty.img", files=["dirty.img"], commands=BOTH)


def truncated():
    dirty()
    os.truncate("dirty.img", 15 << 20)
    refuses("on a device of 15360", "dirty.img", files=["dirty.img"],
            commands=BOTH)


def forbidden_features():
    dirty()
    flags = peek("dirty.img", 1024 + 0x64, 4)
    change_super(0x64, bytes([flags[0], flags[1] | 0x10, flags[2], flags[3]]))
    refuses("read-only", "dirty.img", files=["dirty.img"])
    change_super(0x64, bytes([flags[0], flags[1], flags[2], 0x80]))
    refuses("unknown features", "dirty.img", files=["dirty.img"])


def no_map():
    """The inode and its copy are both lost."""
    dirty()
    debugfs("dirty.img", "clri <8>")
    change_super(0x10C, bytes(68))
    refuses("journal inode", "dirty.img", files=["dirty.img"], commands=BOTH)


def bad_journal_superblock():
    log = dirty(features="metadata_csum")
    at = log[0] * SIZE
    good = peek("dirty.img", at, 1024)
    for offset, data, words in [
            (0, b"\0\0\0\0", "no journal superblock"),
            (0x0C, struct.pack(">I", 4096), "block"),
            (0x10, struct.pack(">I", 1 << 31), "block"),
            (0x14, struct.pack(">I", 0), "block"),
            (0x1C, struct.pack(">I", 5000), "block"),
            (0x28, struct.pack(">I", 0x8000), "features"),
    ]:
        poke("dirty.img", at + offset, data)
        refuses(words, "dirty.img", files=["dirty.img"])
        poke("dirty.img", at, good)
    poke("dirty.img", at + 0x20, b"\0\0\0\1")
    refuses("checksum", "dirty.img", files=["dirty.img"])


def bad_log():
    """Damage before the end of the log is not a torn tail."""
    for features, words in (("metadata_csum", "bad copy of block 12000"),
                            ("^metadata_csum", "bad checksum")):
        log = dirty(features=features)
        # 1: descriptor, 2 to 11: copies, 12: commit.
        good = peek("dirty.img", log[2] * SIZE, SIZE)
        poke("dirty.img", log[2] * SIZE + 100, b"damage")
        refuses(words, "dirty.img", files=["dirty.img"])
        poke("dirty.img", log[2] * SIZE, good)
        poke("dirty.img", log[1] * SIZE + 12, struct.pack(">I", 1 << 30))
        refuses("checksum", "dirty.img", files=["dirty.img"])


def bad_homes():
    """Copies for blocks that are the log's own, or none at all."""
    log = dirty(log=False)
    for home, words in [(1 << 30, ""), (log[20], "")]:
        made = test_debugfs.Log(SIZE, 3)
        made.write([12000])
        judge.copy("dirty.img", "one.img")
        debugfs("one.img", "jo", *made.commands, "jc")
        poke("one.img", log[1] * SIZE + 12, struct.pack(">I", home))
        refuses(words, "one.img", files=["one.img"])


def bad_new_superblock():
    """The log would leave a superblock that makes no sense."""
    dirty(log=False)
    with open("garbage", "wb") as file:
        file.write(os.urandom(SIZE))
    debugfs("dirty.img", "jo", "jw -b 1 garbage", "jc")
    refuses("would leave", "dirty.img", files=["dirty.img"])


def flag_and_log_disagree():
    """Transactions in the log of a clean file system are old ones."""
    dirty()
    flags = peek("dirty.img", 1024 + 0x60, 1)
    change_super(0x60, bytes([flags[0] & ~4]))
    refuses("needs_recovery is not set", "dirty.img", files=["dirty.img"])


def outside():
    """The wrong journal device, none, or one too many."""
    for name in ("one.jnl", "two.jnl"):
        judge.make_file(name, 4 << 20)
        run("mke2fs", "-q", "-F", "-b", "1024", "-O", "journal_dev", name)
    uuid = judge.super_fields("one.jnl")["Filesystem UUID"].replace("-", "")
    mke2fs("fs.img", 8 << 20, "-t", "ext4", "-b", "1024", "-O",
           "^has_journal,^metadata_csum")
    poke("fs.img", 1024 + 0x5C, bytes([peek("fs.img", 1024 + 0x5C, 1)[0] | 4]))
    poke("fs.img", 1024 + 0xD0, bytes.fromhex(uuid))
    done = judge.extant("journal", "replay", "--journal", "one.jnl", "fs.img")
    expect("nothing to do" in done.stdout, "the right journal is refused")
    everything = ["fs.img", "one.jnl", "two.jnl"]
    refuses("on another device", "fs.img", files=everything, commands=BOTH)
    refuses("another file system", "--journal", "two.jnl", "fs.img",
            files=everything, commands=BOTH, name="two.jnl")
    refuses("not a journal device", "--journal", "fs.img", "fs.img",
            files=everything, commands=("dump",), name="fs.img")
    refuses("journal device", "one.jnl", files=everything)
    mke2fs("inside.img", 8 << 20, "-t", "ext4", "-b", "1024")
    refuses("inside the file system", "--journal", "one.jnl", "inside.img",
            files=everything, commands=BOTH)


def usage():
    for arguments in [(), ("nothing",), ("journal",), ("journal", "burn"),
                      ("journal", "dump"), ("journal", "dump", "a", "b"),
                      ("journal", "dump", "--what", "a"),
                      ("journal", "dump", "--journal"),
                      ("journal", "replay", "--live", "a")]:
        done = judge.extant(*arguments, ok=(2,))
        expect(not done.stdout and done.stderr, f"{arguments}: said nothing")
    for arguments in [("--help",), ("--version",), ("journal", "--help"),
                      ("journal", "-h"), ("journal", "dump", "-h"),
                      ("help", "journal")]:
        done = judge.extant(*arguments)
        expect(done.stdout and not done.stderr, f"{arguments}: said nothing")
    mke2fs("fs.img", 8 << 20, "-t", "ext4")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([judge.EXTANT, "journal", "dump", "fs.img"],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    expect(done.returncode == 2 and "standard output" in done.stderr,
           "a full disk goes unnoticed")


if __name__ == "__main__":
    judge.main([
        ("not-an-image", not_an_image),
        ("no-journal", no_journal),
        ("bad-superblock", bad_superblock),
        ("bad-superblock-checksum", bad_superblock_checksum),
        ("truncated", truncated),
        ("forbidden-features", forbidden_features),
        ("no-map", no_map),
        ("bad-journal-superblock", bad_journal_superblock),
        ("bad-log", bad_log),
        ("bad-homes", bad_homes),
        ("bad-new-superblock", bad_new_superblock),
        ("flag-and-log-disagree", flag_and_log_disagree),
        ("outside", outside),
        ("usage", usage),
    ])
