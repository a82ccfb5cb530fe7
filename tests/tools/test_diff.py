#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant diff`: what was changed is told, and nothing else."""

import json
import os
import sys

from command import (Mounted, copy, debugfs, expect, extant, filled_image,
                     main, mke2fs, run)


def pair(change):
    """A filled image, and one that is changed through the kernel's mount."""
    one = filled_image("one.img")
    other = copy(one, "other.img")
    with Mounted(other) as top:
        change(top)
    return one, other


def diff(*arguments, ok=(1,)):
    """{path: [kind, changes]} of the JSON, which the text agrees with."""
    done = extant("diff", "--json", *arguments, ok=ok)
    told = json.loads(done.stdout)
    text = extant("diff", *arguments, ok=ok).stdout
    expect(len(told["differences"]) == len(text.splitlines()),
           f"the text is another: {text}")
    expect(told["same"] == (not told["differences"]), f"same: {told['same']}")
    quiet = extant("diff", "--quiet", *arguments, ok=ok)
    expect(not quiet.stdout, "--quiet says something")
    return {each["path"]: (each["kind"], each.get("changes", []))
            for each in told["differences"]}


def judge(change, right, *options):
    """The differences are @right: {path: kind, or [(what, old, new)]}."""
    seen = diff(*options, *pair(change))
    expect(seen.keys() == right.keys(),
           f"{sorted(seen)[:9]}, not {sorted(right)[:9]}")
    for path, (kind, changes) in seen.items():
        if isinstance(right[path], str):
            expect(kind == right[path], f"{path}: {kind}")
            continue
        told = [(c["what"], c.get("old", c.get("name", c.get("from"))),
                 c.get("new")) for c in changes]
        expect(kind == "changed" and told == right[path],
               f"{path}: {kind} {told}")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_diff_same():
    expect(not diff(*pair(lambda top: None), ok=(0,)), "differences")


def test_diff_of_other_layouts_is_none():
    """Blocks, holes and the order of entries are no difference."""
    one = filled_image("one.img")
    other = mke2fs("other.img", 128 << 20, "-t", "ext2", "-b", "1024", "-I",
                   "256", "-O", "^dir_index")
    with Mounted(one, "loop,ro") as source, Mounted(other) as top:
        run("cp", "-a", f"{source}/.", top)
        for name in ("sparse", "hole"):
            run("cp", "--sparse=never", "-p", f"{source}/{name}", top)
    seen = diff("-C", "/many", one, other, ok=(0,))
    expect(not seen, f"{seen}")
    seen = diff(one, other, ok=(0, 1))
    expect(seen.keys() <= {"lost+found", "pieces", "big"}, f"{seen}")


def test_diff_added_and_removed():
    def change(top):
        os.unlink(f"{top}/tiny")
        run("rm", "-r", f"{top}/dir3")
        os.makedirs(f"{top}/many!/x")
        write(f"{top}/many!/x/y", b"")
        write(f"{top}/many-", b"")
        write(f"{top}/many0", b"")
        write(f"{top}/zz", b"")

    judge(change, {
        "tiny": "removed", "dir3": "removed", "dir3/name0": "removed",
        "dir3/name2": "removed", "many!": "added", "many!/x": "added",
        "many!/x/y": "added", "many-": "added", "many0": "added",
        "zz": "added"})


def test_diff_each_attribute():
    def change(top):
        os.chmod(f"{top}/small", 0o4711)
        os.chown(f"{top}/empty", 5, 6)
        write(f"{top}/tiny", b"tinY")
        write(f"{top}/grown", b"longer than before")
        with open(f"{top}/big", "r+b") as file:
            file.seek(299999)
            last = file.read(1)
            file.seek(299999)
            file.write(bytes([last[0] ^ 1]))
        os.unlink(f"{top}/fast")
        os.symlink("other", f"{top}/fast")
        os.unlink(f"{top}/null")
        os.mknod(f"{top}/null", 0o20666, os.makedev(1, 5))
        os.unlink(f"{top}/fifo")
        os.mkdir(f"{top}/fifo")
        os.setxattr(f"{top}/d/e", "user.none", b"some")
        os.setxattr(f"{top}/pieces", "user.new", b"")
        os.removexattr(f"{top}/d", "system.posix_acl_default")

    judge(change, {
        "small": [("mode", "0644", "4711")],
        "empty": [("uid", "0", "5"), ("gid", "0", "6")],
        "tiny": [("content", "3", None)],
        "grown": [("size", "3000", "18")],
        "big": [("content", "299999", None)],
        "fast": [("target", "short", "other")],
        "null": [("mode", "0644", "0644")] and [("device", "1:3", "1:5")],
        "fifo": [("type", "fifo", "directory")],
        "d/e": [("attribute", "user.none", None)],
        "pieces": [("attribute added", "user.new", None)],
        "d": [("attribute removed", "system.posix_acl_default", None)]})


def test_diff_options_leave_out():
    def change(top):
        os.chown(f"{top}/tiny", 5, 6)
        os.setxattr(f"{top}/pieces", "user.new", b"")

    judge(change, {"tiny": [("uid", "0", "5"), ("gid", "0", "6")]},
          "--no-xattrs")
    judge(change, {"pieces": [("attribute added", "user.new", None)]},
          "--no-owner")


def test_diff_times():
    one, other = pair(lambda top: os.utime(f"{top}/tiny", ns=(5, 10**18 + 7)))
    expect(not diff(one, other, ok=(0,)), "times are compared")
    seen = diff("--times", one, other)
    expect(list(seen) == ["tiny"] and seen["tiny"][1][0]["new"] ==
           "2001-09-09 01:46:40.000000007 +0000", f"{seen}")


def test_diff_links():
    def change(top):
        os.unlink(f"{top}/many/a-rather-long-name-\u00e9-7")
        write(f"{top}/many/a-rather-long-name-\u00e9-7", b"")
        os.unlink(f"{top}/empty")
        os.link(f"{top}/hole", f"{top}/zz")
        write(f"{top}/empty", b"")
        os.unlink(f"{top}/future")
        os.link(f"{top}/past", f"{top}/future")

    first = "many/a-rather-long-name-\u00e9-0"
    judge(change, {
        "many/a-rather-long-name-\u00e9-7": [("link", first, None)],
        "zz": "added",
        "past": [("link", None, "future")]})


def test_diff_directories():
    def change(top):
        run("cp", "-a", f"{top}/d", f"{top}/many/copy")
        write(f"{top}/many/copy/new", b"")

    one, other = pair(change)
    seen = diff("-C", "d", "-C", "many/copy", one, other)
    expect(set(seen) - {"f"} == {"new"}, f"{seen}")
    expect(not diff("-C", "dir8", one, other, ok=(0,)), "dir8 differs")
    done = extant("diff", "-C", "tiny", one, other, ok=(2,))
    expect("tiny: Not a directory" in done.stderr, done.stderr)
    extant("diff", one, ok=(2,))
    extant("diff", one, "no.img", ok=(2,))


def test_diff_nul():
    one, other = pair(lambda top: write(f"{top}/new\nline", b""))
    done = extant("diff", "-0", one, other, ok=(1,))
    expect(done.stdout == "added: new\nline\0", repr(done.stdout))


def test_diff_damaged_is_trouble():
    for name in ("bad", "good"):
        with open(name, "wb") as file:
            file.write(name.encode() * 20000)
    for image in ("one.img", "other.img"):
        mke2fs(image, 8 << 20, "-t", "ext2", "-b", "1024")
        debugfs(image, "write bad bad", "write good good")
    debugfs("other.img", "sif bad block[3] 99999999")
    done = extant("diff", "one.img", "other.img", ok=(2,))
    expect("other.img: bad: damaged" in done.stderr, done.stderr)
    expect(not done.stdout, done.stdout)


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
