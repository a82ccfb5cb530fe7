#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Journals that debugfs wrote, in each form of the format that it knows,
replayed by us and by e2fsck.  Needs no root.

Each journal holds: a transaction of many descriptor blocks; blocks that begin
with the journal's own magic number; blocks logged twice; blocks revoked, some
of them logged again after that; and a last transaction that was never
committed.  What must be home afterwards is known here, too, so that a fault
which we share with e2fsck would not pass.
"""

import random
import struct

import judge
from judge import debugfs, expect, judge_replay, mke2fs

MAGIC = struct.pack(">I", 0xC03B3998)

# Not any number will do: of some, debugfs 1.47.0 estimates too few descriptor
# blocks and leaves no commit block where one belongs.
MANY = 260


class Log:
    """Transactions for debugfs to write, and what they come to."""

    def __init__(self, size, seed):
        self.size = size
        self.random = random.Random(seed)
        self.commands = []
        self.home = {}
        self.files = 0

    def write(self, blocks, magic=(), commit=True):
        contents = {block: self.random.randbytes(self.size) for block in blocks}
        for block in magic:
            contents[block] = MAGIC + contents[block][4:]
        self.files += 1
        name = f"data{self.files}"
        with open(name, "wb") as file:
            file.write(b"".join(contents[block] for block in blocks))
        self.commands.append(f"jw {'' if commit else '-c '}"
                             f"-b {','.join(map(str, blocks))} {name}")
        if commit:
            self.home.update(contents)

    def revoke(self, blocks):
        self.commands.append(f"jw -r {','.join(map(str, blocks))} /dev/null")
        for block in blocks:
            self.home.pop(block, None)


def fill(size, first, revokes):
    """A log over MANY blocks from @first on, and some behind them."""
    log = Log(size, 11)
    log.write(range(first, first + MANY), magic=[first, first + 7])
    log.write([first + 3, first + 5, first + 6])
    if revokes:
        log.revoke([first + 4, first + 5, first + MANY + 9])
    log.write([first + 5, first + 8], magic=[first + 8])
    if revokes:
        log.revoke([first + 8, first + 20])
    log.write([first + 21], commit=False)
    return log


def read_block(image, size, block):
    with open(image, "rb") as file:
        file.seek(block * size)
        return file.read(size)


def expect_home(before, after, size, log, first):
    """Each block is what the log says last, or what it was."""
    for block in range(first, first + MANY + 10):
        want = log.home.get(block)
        if want is None:
            want = read_block(before, size, block)
        expect(read_block(after, size, block) == want,
               f"block {block} is not what the log came to")


def make_image(size, wide, version):
    """dirty.img, with blocks of @size, 64-bit or not, checksums of @version
    (0: none), and a journal to replay.  Returns the log and its first home
    block."""
    blocks = 8192 if size < 65536 else 4096
    mke2fs("fs.img", blocks * size, "-t", "ext4", "-b", str(size),
           "-O", ("64bit" if wide else "^64bit") +
           (",^metadata_csum" if version == 1 else ""), "-N", "64",
           "-J", f"size={max(1024 * size >> 20, 1)}")
    first = blocks - MANY - 20
    # debugfs 1.47.0 gets the v1 checksum over revoke blocks wrong, says
    # e2fsck, too; the kernel's are in test_kernel.
    log = fill(size, first, revokes=version != 1)
    # Without metadata_csum, -c alone means v1.
    how = ["", " -c", " -c -v 2", " -c -v 3"][version]
    debugfs("fs.img", "jo" + how, *log.commands, "jc")
    judge.copy("fs.img", "dirty.img")
    return log, first


def case(size, wide, version):
    def judge_it():
        log, first = make_image(size, wide, version)
        count = 3 if version == 1 else 5
        seen = judge_replay("dirty.img", transactions=count, blocks=MANY - 10)
        expect(seen["end"]["transactions"] == count, "the wrong number of "
               f"transactions: {seen['end']['transactions']}")
        expect_home("dirty.img", "ours.img", size, log, first)
        judge.run("e2fsck", "-fn", "ours.img")
        got = set(seen["superblock"]["compat"] + seen["superblock"]["incompat"])
        want = [{"revoke"}, {"checksum"}, {"revoke", "checksum_v2"},
                {"revoke", "checksum_v3"}][version]
        want |= {"64bit"} if wide else set()
        expect(got == want, f"the journal has features {sorted(got)}")
        tags = [tag for block in seen["blocks"] if block["type"] == "descriptor"
                and block["live"] for tag in block["tags"]]
        expect(sum("escape" in tag["flags"] for tag in tags) == 3,
               "not three escaped blocks")
    return judge_it


if __name__ == "__main__":
    judge.main([
        (f"{size // 1024}k-{64 if wide else 32}bit-"
         f"{f'v{version}' if version else 'plain'}", case(size, wide, version))
        for size in (1024, 4096, 65536)
        for wide in (True, False)
        for version in (0, 1, 2, 3)
    ])
