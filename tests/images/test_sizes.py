#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Large things: what they cost is bounded by what is asked of them.

Work is judged by the reads of the device and the peak of memory; times are
printed, and judged by nobody.  EXTANT_NAMES and EXTANT_EXTENTS are the sizes,
a million each by default.
"""

import os
import random
import re
import sys

from judge import (Mounted, WALK, debugfs, expect, main, mke2fs, need_root,
                   run)

NAMES = int(os.environ.get("EXTANT_NAMES", "1000000"))
EXTENTS = int(os.environ.get("EXTANT_EXTENTS", "1000000"))
MEMORY_KIB = 64 << 10


def walked(image, *options):
    """Lines, and what they cost by name."""
    done = run(WALK, "image", image, "stats=1", "log=1", *options)
    cost = {name: float(value) for name, value in
            re.findall(r"(\w+)=([\d.]+)", done.stderr.splitlines()[-1])}
    print(f"# {done.stderr.strip()}")
    return done.stdout.splitlines(), cost


def planted(number, name, block, text):
    """debugfs commands for a file of one block, where both are chosen."""
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return [f"seti <{number}>", f"sif <{number}> mode 0100644",
            f"sif <{number}> links_count 1", f"sif <{number}> extra_isize 32",
            f"sif <{number}> flags 0x80000",
            f"sif <{number}> block[0] 0xf30a", f"sif <{number}> block[1] 4",
            f"eo <{number}>", f"insert_node 0 1 {block}", "ec",
            f"sif <{number}> size 4096", f"sif <{number}> blocks 8",
            f"zap_block -p {ord(text):#x} {block}",
            f"ln <{number}> {name}"]


def test_images_16_tib_open_and_list():
    image = mke2fs("fs.img", 16 << 40, "-t", "ext4", "-b", "4096", "-O",
                   "^has_journal")
    groups, inodes = 131072, 2048
    places = {"first": (0, 20), "middle": (groups // 2, 1),
              "last": (groups - 1, inodes)}
    commands = []
    for name, (group, index) in places.items():
        commands += planted(group * inodes + index, name,
                            group * 32768 + 30000, name[0])
    debugfs(image, *commands)
    for name, (group, index) in places.items():
        text = run("debugfs", "-R", f"stat {name}", image).stdout
        expect(f"Inode: {group * inodes + index} " in text
               and f"(0):{group * 32768 + 30000}" in text,
               f"{name} is not in its group: {text}")
    lines, cost = walked(image)
    files = {line.split()[0]: line for line in lines
             if " 4096 8 " in line and " entry " not in line
             and " 100644 " in line}
    expect(set(files) == {"/first", "/middle", "/last"}, f"{lines}")
    for name in places:
        with open("wanted", "w", encoding="utf-8") as file:
            file.write(name[0] * 4096)
        wanted = run(WALK, "hash", "wanted").stdout.strip()
        expect(files[f"/{name}"].endswith(f"0-4096, {wanted}"),
               files[f"/{name}"])
    expect(cost["peak_kib"] < MEMORY_KIB, "too much memory")
    # The descriptors, 8 MiB, and some blocks.
    expect(cost["bytes"] < 9 << 20 and cost["reads"] < 100, "too much read")


def test_images_a_directory_of_a_million_names():
    need_root()
    image = mke2fs("fs.img", 512 << 20, "-t", "ext4", "-b", "4096", "-O",
                   "^has_journal", "-N", "1000")
    with Mounted(image) as top:
        os.mkdir(f"{top}/many")
        for i in range(NAMES):
            # An inode has at most 65000 names.
            if i % 60000 == 0:
                first = f"{top}/many/name-{i}"
                with open(first, "wb"):
                    pass
            else:
                os.link(first, f"{top}/many/name-{i}")
        blocks = os.stat(f"{top}/many").st_size // 4096
        numbers = [os.stat(f"{top}/many/name-{i}").st_ino
                   for i in range(0, NAMES, 997)]
    with open("paths", "w", encoding="utf-8") as file:
        for i in range(0, NAMES, 997):
            file.write(f"/many/name-{i}\n")
    lines, cost = walked(image, "visit=paths")
    expect(lines == [str(number) for number in numbers], "other inodes")
    # Each look-up takes one leaf and what of the index is not cached.
    expect(cost["reads"] < 2 * len(lines) + 200, "too many reads")
    lines, cost = walked(image)
    names = {line.split()[0] for line in lines if " entry " in line}
    for i in random.Random(1).sample(range(NAMES), min(NAMES, 1000)):
        expect(f"/many/name-{i}" in names, f"name-{i} is missing")
    expect(len(names) == NAMES + 8, f"{len(names)} names")
    # One pass: no block twice, though readdir is called many times.
    expect(cost["reads"] < blocks * 1.1 + 300, "blocks were read again")


def test_images_a_file_of_a_million_extents():
    need_root()
    image = mke2fs("fs.img", 2 << 30, "-t", "ext4", "-b", "1024", "-O",
                   "^has_journal", "-N", "100")
    with Mounted(image) as top:
        with open(f"{top}/f", "wb") as file:
            for i in range(EXTENTS):
                os.pwrite(file.fileno(), b"%d" % i, i * 2048)
    text = run("debugfs", "-R", "stat /f", image).stdout
    expect(text.count("ETB") > EXTENTS // 84, "too few extents")
    with open("wanted", "wb") as file:
        for i in range(EXTENTS):
            file.write((b"%d" % i).ljust(1024, b"\0"))
        file.truncate((EXTENTS - 1) * 1024 + len(b"%d" % (EXTENTS - 1)))
    wanted = run(WALK, "hash", "wanted").stdout.strip()
    lines, cost = walked(image)
    line = next(line for line in lines if line.startswith("/f ")
                and " entry " not in line)
    expect(line.endswith(" " + wanted), f"other contents: ...{line[-100:]}")
    expect(line.count("-") == EXTENTS, "other segments")
    # Each data block once, each block of the tree once.
    expect(cost["bytes"] < EXTENTS * 1024 * 1.1 + (8 << 20), "read again")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
