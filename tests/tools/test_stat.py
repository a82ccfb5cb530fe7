#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant stat` beside the system's calls, lsattr(1) and getfacl(1)."""

import datetime
import json
import os
import stat
import sys

from tools import (Mounted, expect, extant, filled, full_disk, host, main,
                   mke2fs, output, partitions, refusals, same, terminal)

TYPES = {stat.S_IFREG: "regular file", stat.S_IFDIR: "directory",
         stat.S_IFLNK: "symbolic link", stat.S_IFCHR: "character device",
         stat.S_IFBLK: "block device", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket"}


def moment(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    text = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return text.isoformat() + f".{rest:09d}Z"


def attributes(image_path):
    """What the kernel lists, as our JSON has it."""
    return {name: os.getxattr(image_path, name, follow_symlinks=False).hex()
            for name in os.listxattr(image_path, follow_symlinks=False)}


def judge(entry, path):
    st = os.lstat(path)
    right = {
        "ino": st.st_ino, "type": TYPES[stat.S_IFMT(st.st_mode)],
        "mode": f"{stat.S_IMODE(st.st_mode):04o}", "links": st.st_nlink,
        "uid": st.st_uid, "gid": st.st_gid, "size": st.st_size,
        "blocks": st.st_blocks, "block_bytes": st.st_blksize,
        "mtime": moment(st.st_mtime_ns), "atime": moment(st.st_atime_ns),
        "ctime": moment(st.st_ctime_ns), "xattrs": attributes(path)}
    for key, value in right.items():
        expect(entry[key] == value, f"{path}: {key} {entry[key]} is not {value}")
    born = host("stat", "-c", "%W", path, cwd=".").decode().strip()
    expect(entry["crtime"].startswith(moment(int(born) * 10**9)[:19]),
           f"{path}: born {entry['crtime']}")
    if stat.S_ISLNK(st.st_mode):
        expect(entry["target"] == os.readlink(path), "another target")
    if stat.S_ISBLK(st.st_mode) or stat.S_ISCHR(st.st_mode):
        expect((entry["major"], entry["minor"]) ==
               (os.major(st.st_rdev), os.minor(st.st_rdev)), "another device")


def test_stat_json_is_what_the_kernel_says():
    image = filled()
    with Mounted(image) as top:
        os.setxattr(top + "/dir/one", "user.text", b"value")
        os.setxattr(top + "/dir/one", "user.bytes", bytes(range(256)))
        os.setxattr(top + "/dir", "trusted.empty", b"")
        os.setxattr(top + "/slow", "trusted.of-link", b"x",
                    follow_symlinks=False)
    with Mounted(image, "loop,ro,noatime") as top:
        paths = [""] + [line[2:] for line in
                        os.fsdecode(host("find", ".", "-print0", cwd=top))
                        .split("\0") if line[2:]]
        entries = json.loads(output("stat", "--json", image,
                                    *["/" + path for path in paths]))
        expect(len(entries) == len(paths) > 30, f"{len(entries)} entries")
        for entry, path in zip(entries, paths):
            judge(entry, os.path.join(top, path))


def test_stat_flags_are_those_of_lsattr():
    image = filled()
    right = {}
    with Mounted(image) as top:
        for flags, name in (("+i", "zero"), ("+adAj", "one"), ("+sSu", "block"),
                            ("+tD", "sub"), ("+T", "sub"), ("+P", "sub")):
            host("chattr", flags, f"{top}/dir/{name}", cwd=".", ok=(0, 1))
        for name in ("zero", "one", "block", "sub"):
            right[name] = host("lsattr", "-d", f"{top}/dir/{name}",
                               cwd=".").split()[0]
    expect(len(set(right.values())) == 4, f"all alike: {right}")
    for name, letters in right.items():
        lines = output("stat", image, f"dir/{name}")
        expect(b"Flags: " + letters + b"\n" in lines, f"{letters}: {lines}")
        entry = json.loads(output("stat", "--json", image, f"dir/{name}"))[0]
        expect(entry["flags"] == letters.decode().replace("-", ""), f"{entry}")


def test_stat_acls_are_those_of_getfacl():
    image = filled()
    with Mounted(image) as top:
        host("setfacl", "-m", "u:1000:rw,g:4000000000:x,m:rwx",
             f"{top}/dir/one", cwd=".")
        host("setfacl", "-d", "-m", "u:7:r", f"{top}/dir", cwd=".")
        right = host("getfacl", "-cnE", f"{top}/dir/one", cwd=".")
    ours = output("stat", image, "dir/one")
    expect(b"ACL: " + b",".join(right.split()) + b"\n" in ours,
           f"{right} is not in {ours}")
    entry = json.loads(output("stat", "--json", image, "dir"))[0]
    expect("user:7:r--" in entry["default_acl"] and "acl" not in entry,
           f"{entry}")


def test_stat_pieces_are_those_of_lseek():
    image = filled()
    with Mounted(image, "loop,ro,noatime") as top:
        fd = os.open(top + "/sparse", os.O_RDONLY)
        size, at, pieces, data = os.fstat(fd).st_size, 0, 0, 0
        while at < size:
            try:
                start = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(fd, start, os.SEEK_HOLE)
            pieces, data = pieces + 1, data + at - start
        os.close(fd)
    told = json.loads(output("stat", "--json", image, "sparse"))[0]["data"]
    expect(told == {"bytes": data, "pieces": pieces, "hole_bytes": size - data,
                    "holes": 2}, f"{told}")
    expect(pieces == 2, f"{pieces} pieces")


def test_stat_symlinks_are_followed_if_asked():
    image = filled()
    entry = json.loads(output("stat", "--json", "-L", image, "link"))[0]
    expect(entry["type"] == "directory", "not followed")
    extant("stat", "-L", image, "dangling", ok=(1,), lines=1)


def test_stat_times_have_their_zone():
    image = filled()
    os.environ["TZ"] = "Asia/Kolkata"
    try:
        local = output("stat", image, "dir/mode4755")
        utc = output("stat", "--utc", image, "dir/mode4755")
    finally:
        os.environ["TZ"] = "UTC"
    expect(b"Modified: 1970-01-01 05:29:59.999999997 +0530" in local,
           f"{local}")
    expect(b"Modified: 1969-12-31 23:59:59.999999997 +0000" in utc, f"{utc}")
    # As the C library finds it without TZ.
    del os.environ["TZ"]
    try:
        output("stat", image, "dir/mode4755")
    finally:
        os.environ["TZ"] = "UTC"


def test_stat_terminal_obeys_no_name_and_no_value():
    image = filled()
    with Mounted(image) as top:
        os.setxattr(top + "/odd/\x1b[31mred", "user.\x1b[1m", b"\x1b]0;x\a")
    shown, status = terminal("stat", image, "odd/\x1b[31mred")
    expect(status == 0 and b"\x1b" not in shown, f"{shown}")
    expect(b"odd/\\033[31mred" in shown and b"0x1b5d303b7807" in shown,
           f"{shown}")


def test_stat_what_fails_is_named_and_the_rest_done():
    image = filled()
    done = extant("stat", image, "nothing", "fifo", "dir/one/below", ok=(1,),
                  lines=2)
    expect("nothing: No such file" in done.said and
           "dir/one/below: Not a directory" in done.said, f"said {done.said}")
    expect(done.stdout.startswith(b"     Path: fifo\n"), f"{done.stdout}")


def test_stat_refusals():
    refusals("stat", "/")
    extant("stat", "fs.img", ok=(2,), lines=1)


def test_stat_partitions():
    partitions("stat", "/")


def test_stat_full_disk_is_told():
    full_disk("stat", mke2fs("fs.img", 8 << 20, "-t", "ext4"), "/")


def test_stat_same_text_twice():
    image = filled()
    same(output("stat", image, "dir", "dir"),
         output("stat", image, "dir") + b"\n" + output("stat", image, "dir"),
         "twice")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
