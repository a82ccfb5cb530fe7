#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant df` against df on the kernel's mount."""

import contextlib
import os

import tool_judge
from tool_judge import as_json, differs, expect, judge, run


@contextlib.contextmanager
def mounted(image):
    os.makedirs("mnt", exist_ok=True)
    run("mount", "-o", "loop,ro", image, "mnt")
    try:
        yield "mnt"
    finally:
        run("umount", "mnt")


def df(where, *options):
    lines = run("df", *options, where).stdout.splitlines()
    return lines[1].split()


def fill(image):
    """Write something, so that all numbers differ."""
    os.makedirs("mnt", exist_ok=True)
    run("mount", "-o", "loop", image, "mnt")
    try:
        for i in range(40):
            with open(f"mnt/{i}", "wb") as file:
                file.write(os.urandom(30000))
    finally:
        run("umount", "mnt")


def like_df(*options, size=64 << 20):
    def case():
        tool_judge.need_root()
        judge.mke2fs("fs.img", size, *options)
        fill("fs.img")
        ours = as_json("df", "--json", "fs.img")[0]
        with mounted("fs.img") as where:
            stat = os.statvfs(where)
            blocks, inodes = df(where, "-P"), df(where, "-i", "-P")
            human = df(where, "-h")
        differs("blocks", (ours["block_bytes"], ours["blocks"],
                           ours["blocks_free"], ours["blocks_available"]),
                (stat.f_frsize, stat.f_blocks, stat.f_bfree, stat.f_bavail))
        differs("inodes", (ours["inodes"], ours["inodes_free"]),
                (stat.f_files, stat.f_ffree))
        differs("line", line_of("fs.img"), blocks[1:5])
        differs("line of inodes", line_of("-i", "fs.img"), inodes[1:5])
        differs("line in words", line_of("-h", "fs.img"), human[1:5])
    return case


def line_of(*arguments):
    return judge.extant("df", *arguments).stdout.splitlines()[1].split()[1:]


def several():
    """What fails is named, the rest is shown."""
    for name in ("a.img", "b.img"):
        judge.mke2fs(name, 8 << 20, "-t", "ext4")
    done = judge.extant("df", "a.img", "none.img", "b.img", ok=(1,))
    differs("images", [line.split()[0] for line in done.stdout.splitlines()],
            ["Image", "a.img", "b.img"])
    expect("none.img" in done.stderr, done.stderr)
    done = judge.extant("df", "--json", "none.img", "a.img", "b.img", ok=(1,))
    images = judge.json.loads(done.stdout)
    differs("images", [one["image"] for one in images], ["a.img", "b.img"])
    done = judge.extant("df", "--json", "none.img", ok=(2,))
    differs("images", judge.json.loads(done.stdout), [])
    tool_judge.refused("df", words=["no IMAGE"])


def long_name():
    name = "a name of some length.img"
    judge.mke2fs(name, 8 << 20, "-t", "ext2")
    lines = judge.extant("df", name).stdout.splitlines()
    expect(len(lines[0]) == len(lines[1]) and lines[1].startswith(name + " "),
           f"{lines}")


if __name__ == "__main__":
    judge.main([
        ("ext2", like_df("-t", "ext2", "-b", "1024")),
        ("ext3", like_df("-t", "ext3")),
        ("ext4", like_df("-t", "ext4")),
        ("reserved", like_df("-t", "ext4", "-m", "20", "-N", "500")),
        ("bigalloc", like_df("-t", "ext4", "-O", "bigalloc")),
        ("meta-bg", like_df("-t", "ext4", "-b", "1024", "-O",
                            "meta_bg,^resize_inode")),
        ("several", several),
        ("long-name", long_name),
    ])
