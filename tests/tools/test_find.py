#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant find` beside find(1) on the kernel's mount."""

import json
import os
import sys

import tools
from tools import (Mounted, broken_pipe, debugfs, expect, extant, fill_deep, filled,
                   full_disk, host, main, mke2fs, need_root, output, partitions,
                   refusals, same)

EXPRESSIONS = """
-name *o*
-iname *O*E*
-name .*
-name dir
-name [!d]*
-path */sub*
-wholename ./odd/*
-ipath ./DIR/*
-lname dir*
-type f
-type d,l
-type b
-type c
-type p
-type s
-size 1
-size -1
-size +8
-size 4097c
-size +4k
-size -2M
-size 2w
-empty
-perm 644
-perm 4755
-perm -4000
-perm /6000
-perm /0
-links 2
-links +1
-uid +1000
-gid 70001
-mtime +1000
-mtime -1
-mtime 0
-mmin -10
-mmin +10
-newer dir/mode1777
-newermt 2020-01-01
-newermt @1000000000
-maxdepth 0
-maxdepth 1
-mindepth 2
-mindepth 1 -maxdepth 2 -type d
-depth
-depth -maxdepth 1
-name sub -prune
-name sub -prune -o -print
-path ./odd -prune -o -type f -print
! -type f
-not -name *e*
-type f -name m* -o -type d -name s*
-type f ( -name m* -o -name o* )
( -type d -o -type l ) -name *i*
! ( -type f -o -type d )
! ! -name dir
-name a -o -name b -a -name c
-true -false -o -type l
-name one -print -name zero -o -name zero
-type f , -type d
-print -print
-name odd -print0
""".strip().splitlines()


def in_order(lines):
    """Sorted as a walk goes: by components."""
    return sorted(lines, key=lambda line: line.split(b"/"))


def plain():
    """An image whose names have no newlines, so that lines can be sorted."""
    image = filled()
    with Mounted(image) as top:
        os.unlink(os.path.join(top, "odd", "new\nline"))
    return image


def test_find_expressions_hold_for_what_find_says():
    image = plain()
    with Mounted(image, "loop,ro,noatime") as top:
        counts = 0
        for text in EXPRESSIONS:
            words = text.split()
            if "," in words:
                extant("find", image, ".", *words, ok=(2,), lines=1)
                continue
            ours = output("find", image, ".", *words).split(b"\n")
            theirs = host("find", ".", *words, cwd=top).split(b"\n")
            expect(in_order(ours) == in_order(theirs),
                   f"find {text}:\n#   ours:  {set(ours) - set(theirs)}\n"
                   f"#   right: {set(theirs) - set(ours)}")
            counts += len(theirs)
        expect(counts > 500, f"only {counts} lines in all")


def test_find_order_is_that_of_names():
    image = plain()
    lines = output("find", image).split(b"\n")[:-1]
    expect(lines == in_order(lines) and len(lines) > 30, "another order")
    expect(lines == output("find", image, "/").split(b"\n")[:-1], "not the root")
    deep = output("find", image, "-depth").split(b"\n")[:-1]
    expect(deep[-1] == b"/" and sorted(deep) == sorted(lines), "-depth")
    expect(deep.index(b"/dir/sub/empty") < deep.index(b"/dir/sub"), "-depth")


def test_find_print0_parts_names_with_newlines():
    image = filled()
    names = output("find", image, "odd", "-type", "f", "-print0").split(b"\0")
    expect(names == [b"odd/" + name for name in sorted(tools.ODD)] + [b""],
           f"{names}")


def test_find_ls_and_json_hold_what_find_says():
    image = plain()
    form = r"%i %M %n %U %G %s %p\n"
    with Mounted(image, "loop,ro,noatime") as top:
        right = host("find", ".", "!", "-type", "b", "!", "-type", "c",
                     "-printf", form, cwd=top).split(b"\n")[:-1]
    lines = output("find", image, ".", "!", "-type", "b", "!", "-type", "c",
                   "-ls").split(b"\n")[:-1]
    ours = []
    for line in lines:
        w = line.split(None, 9)
        ours.append(b" ".join([w[0], w[2], w[3], w[4], w[5], w[6],
                               w[9].split(b" -> ")[0]]))
    # A blank that ends a name is not the end of a line.
    expect(sorted(ours) == sorted(right),
           f"{set(ours) ^ set(right)}")
    entries = json.loads(output("find", "--json", image, ".", "-type", "f"))
    with Mounted(image, "loop,ro,noatime") as top:
        right = host("find", ".", "-type", "f", "-printf", r"%i %s %p\0",
                     cwd=top).split(b"\0")[:-1]
    ours = [f"{e['ino']} {e['size']} ".encode() +
            e["path"].encode("utf-8", "surrogateescape") for e in entries]
    expect(sorted(ours) == sorted(right), f"{set(ours) ^ set(right)}")


def test_find_attributes_are_found():
    image = filled()
    debugfs(image, "ea_set /dir/one user.key value")
    same(output("find", image, "-xattr", "user.key"),
         b"/.hidden/one\n/dir/one\n", "-xattr")


def test_find_quits_at_once():
    image = filled()
    same(output("find", image, "-type", "f", "-print", "-quit", "-print"),
         b"/.hidden/one\n", "-quit")


def test_find_goes_beyond_the_longest_path():
    need_root()
    image = mke2fs("fs.img", 32 << 20, "-t", "ext4", "-b", "1024")
    with Mounted(image) as top:
        fill_deep(top, 400, "d" * 200)
        right = host("find", ".", cwd=top).split(b"\n")
    ours = output("find", image, ".").split(b"\n")
    expect(in_order(ours) == in_order(right), "another tree")
    expect(max(len(line) for line in ours) > 80000, "not so deep")


def test_find_many_names_are_sorted():
    need_root()
    image = mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    with Mounted(image) as top:
        first = os.path.join(top, "first")
        open(first, "wb").close()
        for i in range(30000):
            os.link(first, os.path.join(top, f"{i * 7919 % 30000:x}"))
    lines = output("find", image, "-mindepth", "1").split(b"\n")[:-1]
    expect(len(lines) == 30002 and lines == sorted(lines), "not all, sorted")


def test_find_loops_are_named_and_left():
    need_root()
    image = mke2fs("fs.img", 8 << 20, "-t", "ext4")
    with Mounted(image) as top:
        os.makedirs(top + "/a/b")
        os.makedirs(top + "/z")
    debugfs(image, "ln /a /a/b/again", "ln / /a/root", "ln /z /y")
    done = extant("find", image, ok=(1,))
    lines = done.stdout.split(b"\n")[:-1]
    expect(len(lines) < 12 and b"/z" in lines, f"{lines}")
    expect("/z: damaged" in done.said and
           "a second name of a directory" in done.said, f"said {done.said}")


def test_find_what_fails_is_named_and_the_rest_done():
    image = filled()
    done = extant("find", image, "nothing", "dir/sub", ok=(1,), lines=1)
    expect("fs.img: nothing: No such file" in done.said, f"said {done.said}")
    same(done.stdout, b"dir/sub\ndir/sub/empty\n", "the rest")


def test_find_wrong_expressions_are_usage():
    mke2fs("fs.img", 8 << 20, "-t", "ext4")
    for text in ("-nonsense", "-name", "(", "( -true", ")", "-true )", "!",
                 "-o", "-true -o", "-o -true", "-true -a", "( )", "-size x",
                 "-size 1x", "-size 1kk", "-type q", "-type f,", "-perm 9",
                 "-perm 77777", "-mtime a", "-maxdepth -1", "-newermt soon"):
        done = extant("find", "fs.img", *text.split(), ok=(2,), lines=1)
        expect("--help" in done.said, f"{text}: {done.said}")
    extant("find", "fs.img", "-newer", "nothing", ok=(2,), lines=1)
    extant("find", "--json", "fs.img", "-print", ok=(2,), lines=1)
    # As many as a command line takes, and no stack is needed.
    count = 20000
    same(output("find", "fs.img", "-maxdepth", "0", *["("] * count, "-true",
                *[")"] * count, *["-o", "-false"] * count), b"/\n", "nesting")


def test_find_broken_pipe_ends_it():
    broken_pipe("find", plain(), *["/"] * 3000)


def test_find_refusals():
    refusals("find")


def test_find_partitions():
    partitions("find")


def test_find_full_disk_is_told():
    full_disk("find", mke2fs("fs.img", 8 << 20, "-t", "ext4"))


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
