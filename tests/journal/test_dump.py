#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our dump against that of debugfs (logdump), parsed from its text.

What logdump shows must be in our dump, block for block: type, sequence, home
blocks with their flags, revoked blocks.  And what we say a replay would use
must be in logdump's.
"""

import json
import os
import re
import subprocess

import judge
import test_debugfs
import test_kernel
from judge import expect

FOUND = re.compile(r"Found (?:expected )?sequence (\d+), type (\d+) "
                   r"\([^)]*\) at block (\d+)")
TAG = re.compile(r" *FS block (\d+) logged at(?: sequence \d+,)? journal "
                 r"block (\d+) \(flags 0x([0-9a-f]+)\)")
REVOKED = re.compile(r" *Revoke FS block (\d+)")
TYPES = {1: "descriptor", 2: "commit", 5: "revoke"}
FLAGS = {"escape": 1, "same_uuid": 2, "deleted": 4, "last": 8}


def logdump(image, options, journal=None):
    """{log block: (type, sequence, what it holds)} as debugfs says."""
    outside = f" -f {journal}" if journal else ""
    text = judge.ask_debugfs(image, f"logdump {options}{outside}")
    blocks = {}
    for line in text.splitlines():
        if match := FOUND.match(line):
            sequence, kind, at = map(int, match.groups())
            holds = []
            blocks[at] = (TYPES[kind], sequence, holds)
        elif match := TAG.match(line):
            holds.append((int(match[1]), int(match[2]), int(match[3], 16)))
        elif match := REVOKED.match(line):
            holds.append(int(match[1]))
    expect(blocks, "logdump shows nothing")
    return blocks


def ours(seen):
    """The same of our dump, and which of those are live."""
    blocks, live = {}, set()
    last = seen["superblock"]["end"] - seen["superblock"]["first"]
    for block in seen["blocks"]:
        at, holds = block["log"], []
        if block["type"] not in TYPES.values():
            continue
        if block["type"] == "descriptor":
            for number, tag in enumerate(block["tags"], 1):
                where = at + number
                if where >= seen["superblock"]["end"]:
                    where -= last
                flags = sum(FLAGS[flag] for flag in tag["flags"])
                holds.append((tag["home"], where, flags))
        elif block["type"] == "revoke":
            holds = block["revoked"]
        blocks[at] = (block["type"], block["sequence"], holds)
        if block["live"]:
            live.add(at)
    return blocks, live


def compare(image, options, journal=None, least=1):
    seen = judge.dump(image, *(["--journal", journal] if journal else []))
    theirs = logdump(image, options, journal)
    blocks, live = ours(seen)
    for at, block in theirs.items():
        expect(blocks.get(at) == block, f"log block {at}: we say "
               f"{blocks.get(at)}, debugfs {block}")
    expect(live <= set(theirs), f"log block {min(live - set(theirs), default=0)}"
           " is not in debugfs's dump")
    expect(len(theirs) >= least, f"only {len(theirs)} blocks shown")
    # Copies follow their descriptor and are of its sequence.
    data = {block["log"]: block for block in seen["blocks"]
            if block["type"] == "data" and block["live"]}
    for at in live:
        if blocks[at][0] == "descriptor":
            for home, where, flags in blocks[at][2]:
                copy = data.pop(where)
                expect(copy["home"] == home and copy["sequence"] ==
                       blocks[at][1], f"log block {where} is not a copy of "
                       f"{home}")
    expect(not data, "copies that no descriptor has")
    expect(all(block["checksum"] != "bad" for block in seen["blocks"]
               if block.get("live")), "a live block has a bad checksum")


def written_by_debugfs(size, wide, version):
    def case():
        test_debugfs.make_image(size, wide, version)
        compare("dirty.img", "-a", least=9)
    return case


def written_by_kernel(mkfs, old=True):
    """@old: the first block of the ring is one of the log's own, without
    which logdump shows nothing of an empty log."""
    def case():
        image = test_kernel.kernel_image(mkfs)
        compare(image, "-a", least=20)
        judge.extant("journal", "replay", image)
        if old:
            compare(image, "-aO", least=20)
    return case


def wrapped():
    compare(test_kernel.wrapped_image(), "-a", least=5)


def outside():
    test_kernel.outside_image("1024")
    compare("dirty.img", "-a", "dirty.jnl", least=20)


def names():
    """Any name of an image comes back out of JSON, UTF-8 or not."""
    judge.mke2fs("fs.img", 8 << 20, "-t", "ext4")
    for name in [b'a"\\b\n\x01', b"\xff\xc0\x80", b"\xe0\xa0\x80",
                 b"\xed\xa0\x80", "\u00fc\U0001f600".encode(),
                 b"\xf4\x90\x80\x80", b"\xe0\x80", b"\x7f"]:
        os.link("fs.img", name)
        done = subprocess.run([judge.EXTANT, "journal", "dump", "--json", name],
                              capture_output=True, check=True)
        told = json.loads(done.stdout.decode("utf-8"))["image"]
        expect(os.fsencode(told) == name, f"{name} is told as {told!a}")


if __name__ == "__main__":
    judge.main([
        ("debugfs-1k-64bit-v3", written_by_debugfs(1024, True, 3)),
        ("debugfs-1k-64bit-v2", written_by_debugfs(1024, True, 2)),
        ("debugfs-4k-32bit-plain", written_by_debugfs(4096, False, 0)),
        ("debugfs-64k-32bit-v2", written_by_debugfs(65536, False, 2)),
        ("kernel-1k", written_by_kernel(["-t", "ext4", "-b", "1024"])),
        ("kernel-4k-plain", written_by_kernel(
            ["-t", "ext4", "-b", "4096", "-O", "^metadata_csum"], old=False)),
        ("kernel-ext3", written_by_kernel(["-t", "ext3", "-b", "1024"])),
        ("kernel-wrapped", wrapped),
        ("kernel-outside", outside),
        ("names", names),
    ])
