#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant ls` beside ls(1) on the kernel's mount."""

import json
import os
import stat
import sys

from tools import (ODD, Mounted, expect, extant, fill_deep, filled, full_disk,
                   host, main, mke2fs, need_root, output, partitions, refusals,
                   same, terminal)


def test_ls_names_are_those_of_ls():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        for options in ((), ("-a",), ("-A",), ("-R",), ("-R", "-A"), ("-d",)):
            # Arguments are sorted as ls(1) sorts them.
            for paths in ((".",), ("odd",), ("dir", "fifo", "link", "odd"),
                          ("./dir", "dangling"), ("link/",)):
                same(output("ls", *options, image, *paths),
                     host("ls", "-1", "--quoting=literal", *options, *paths,
                          cwd=top),
                     f"ls {options} {paths}")


def test_ls_long_lines_hold_what_stat_says():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        for path in (".", "dir", ".hidden"):
            lines = output("ls", "-lAi", image, path).split(b"\n")
            names = sorted(os.listdir(os.path.join(top, path)))
            expect(len(lines) == len(names) + 1, f"{len(lines)} lines")
            for line, name in zip(lines, names):
                look_at_line(line.split(), os.path.join(top, path, name), name)


def look_at_line(words, path, name):
    st = os.lstat(path)
    device = stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode)
    size = [f"{os.major(st.st_rdev)},", f"{os.minor(st.st_rdev)}"] \
        if device else [f"{st.st_size}"]
    moment = host("date", "-d", f"@{st.st_mtime_ns // 10**9}",
                  "+%Y-%m-%d %H:%M", cwd=".").decode().split()
    right = [str(st.st_ino), stat.filemode(st.st_mode), str(st.st_nlink),
             str(st.st_uid), str(st.st_gid), *size, *moment, name]
    if stat.S_ISLNK(st.st_mode):
        right += ["->", os.readlink(path)]
    expect([w.decode() for w in words] == right, f"{words} is not {right}")


def test_ls_human_sizes_are_those_of_ls():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        ours = [line.split()[4] for line in
                output("ls", "-lh", image, "dir").splitlines()]
        theirs = [line.split()[4] for line in
                  host("ls", "-lhn", "dir", cwd=top).splitlines()[1:]]
        expect(ours == theirs, f"{ours} is not {theirs}")


def test_ls_nul_ends_names_that_are_raw():
    image = filled()
    names = output("ls", "-0", image, "odd").split(b"\0")
    expect(names == sorted(ODD) + [b""], f"{names}")
    shown, status = terminal("ls", "-0", image, "odd")
    expect(status == 0 and b"\x1b[31mred\0" in shown, "escaped all the same")


def test_ls_json_is_what_stat_says():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        entries = json.loads(output("ls", "--json", "-A", image, "odd", "dir"))
        paths = [b"odd/" + n for n in sorted(ODD)] + \
            [b"dir/" + n for n in sorted(os.listdir(os.fsencode(top) + b"/dir"))]
        expect([e["path"].encode("utf-8", "surrogateescape")
                for e in entries] == paths, "other paths")
        for entry, path in zip(entries, paths):
            st = os.lstat(os.path.join(os.fsencode(top), path))
            expect((entry["ino"], entry["size"], entry["blocks"], entry["uid"],
                    entry["gid"], entry["links"], int(entry["mode"], 8)) ==
                   (st.st_ino, st.st_size, st.st_blocks, st.st_uid, st.st_gid,
                    st.st_nlink, stat.S_IMODE(st.st_mode)), f"{entry}")


def test_ls_terminal_obeys_no_name():
    image = filled()
    shown, status = terminal("ls", image, "odd")
    expect(status == 0, f"status {status}")
    expect(b"\x1b" not in shown and "\u202e".encode() not in shown,
           f"obeyed: {shown}")
    for escaped in (b"\\033[31mred", b"new\\nline", b"\\377\\376", b"caf\\351",
                    b"\\342\\200\\256gpj.exe", b"back\\\\slash",
                    "gr\u00fc\u00df".encode()):
        expect(escaped + b"\r\n" in shown, f"not {escaped}: {shown}")
    expect(len(shown.split(b"\r\n")) == len(ODD) + 1, "not a line each")
    # Complaints are escaped wherever they go.
    done = extant("ls", image, b"\x1b[31m\nno", ok=(1,), lines=1)
    expect("\\033[31m\\nno" in done.said, f"said {done.said}")


def test_ls_directories_themselves():
    image = filled()
    same(output("ls", "-d", image, "dir", "link", "/"), b"dir\nlink\n/\n", "-d")
    same(output("ls", image), output("ls", image, "/"), "the root")


def test_ls_deep_trees_are_listed():
    need_root()
    image = mke2fs("fs.img", 16 << 20, "-t", "ext4", "-b", "1024")
    with Mounted(image) as top:
        fill_deep(top, 300, "d" * 100)
    seen = output("ls", "-R", image)
    longest = max(len(line) for line in seen.split(b"\n"))
    expect(longest > 30000 and b":\nend\n" in seen, f"{longest} bytes at most")


def test_ls_what_fails_is_named_and_the_rest_done():
    image = filled()
    done = extant("ls", image, "dir/sub", "nothing", "fifo", ok=(1,), lines=1)
    expect("fs.img: nothing: No such file" in done.said, f"said {done.said}")
    same(done.stdout, b"fifo\n\ndir/sub:\nempty\n", "the rest")
    done = extant("ls", image, "fifo/", ok=(1,), lines=1)
    expect("Not a directory" in done.said, f"said {done.said}")


def test_ls_damaged_directory_is_named_and_the_rest_done():
    image = filled("-t", "ext4", "-b", "4096")
    block = int(run_debugfs(image, "blocks /dir/sub").split()[0])
    with open(image, "r+b") as file:
        file.seek(block * 4096)
        file.write(b"\xff" * 4096)
    done = extant("ls", "-R", image, ok=(1,))
    expect("fs.img: /dir/sub: damaged" in done.said, f"said {done.said}")
    expect(b"\n/odd:\n" in done.stdout, "the rest is missing")


def run_debugfs(image, request):
    return host("debugfs", "-R", request, os.path.abspath(image), cwd=".")


def test_ls_refusals():
    refusals("ls")


def test_ls_partitions():
    partitions("ls")


def test_ls_full_disk_is_told():
    full_disk("ls", mke2fs("fs.img", 8 << 20, "-t", "ext4"))


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
