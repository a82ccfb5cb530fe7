# SPDX-License-Identifier: BSD-2-Clause
"""A tree with something of everything, made through the kernel's mount."""

import os
import random
import socket
import stat
import struct


def refused(call, *arguments, **options):
    """Whether this file system has no room for such a thing."""
    try:
        call(*arguments, **options)
        return False
    except OSError:
        return True


def write(path, *pieces):
    """A file of (offset, bytes)."""
    with open(path, "wb") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)


def acl(*entries):
    """An access control list as the calls take it."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *entry) for entry in entries)


def fill_files(top, rng, far):
    write(f"{top}/big", (0, rng.randbytes(300000)))
    write(f"{top}/sparse", (5 << 20, rng.randbytes(1024)),
          (20 << 10, rng.randbytes(3000)))
    write(f"{top}/far", (far, b"far"))
    write(f"{top}/pieces", *((8192 * i, rng.randbytes(4096))
                             for i in range(300)))
    write(f"{top}/tiny", (0, b"tiny"))
    write(f"{top}/small", (0, rng.randbytes(130)))
    write(f"{top}/empty")
    write(f"{top}/hole")
    os.truncate(f"{top}/hole", 5 << 20)
    write(f"{top}/grown", (0, b"grown"))
    os.truncate(f"{top}/grown", 3000)
    with open(f"{top}/reserved", "wb") as file:
        refused(os.posix_fallocate, file.fileno(), 0, 200000)


def fill_kinds(top):
    os.symlink("short", f"{top}/fast")
    os.symlink("x" * 59, f"{top}/longest-fast")
    os.symlink("x" * 60, f"{top}/shortest-slow")
    os.symlink("y" * 900, f"{top}/slow")
    os.mknod(f"{top}/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(f"{top}/disk", stat.S_IFBLK | 0o660, os.makedev(259, 70000))
    os.mkfifo(f"{top}/fifo")
    here = os.getcwd()
    os.chdir(top)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("sock")
    os.chdir(here)


def fill_attributes(top, rng, largest):
    os.makedirs(f"{top}/d/e")
    write(f"{top}/d/f", (0, b"hello\n"))
    os.chown(f"{top}/d/f", 100000, 70000)
    os.chmod(f"{top}/d/f", 0o6751)
    os.link(f"{top}/d/f", f"{top}/hard")
    for name, when in (("future", 4102444800), ("past", -631152000),
                       ("edge", 2147483648)):
        write(f"{top}/{name}")
        refused(os.utime, f"{top}/{name}", ns=(when * 10**9 + 123456789,) * 2)
    for path, name, value in (
            ("d/f", "user.a", b"hello"), ("d/e", "user.none", b""),
            ("big", "trusted.t", b"zz"), ("d", "security.s", b"ss"),
            ("tiny", "user.more", rng.randbytes(300)),
            ("big", "user.large", rng.randbytes(2500)),
            ("pieces", "user.own-inode", rng.randbytes(20000)),
            ("d/f", "system.posix_acl_access", acl(
                (1, 6, 2**32 - 1), (2, 5, 1234), (4, 4, 2**32 - 1),
                (8, 4, 55), (16, 7, 2**32 - 1), (32, 0, 2**32 - 1))),
            ("d", "system.posix_acl_default", acl(
                (1, 7, 2**32 - 1), (4, 5, 2**32 - 1), (32, 5, 2**32 - 1)))):
        if len(value) <= largest:
            refused(os.setxattr, f"{top}/{path}", name, value)


def fill_directories(top, many):
    """Small ones, with gaps; and one of @many names."""
    for count in (3, 8, 20):
        os.mkdir(f"{top}/dir{count}")
        for i in range(count):
            write(f"{top}/dir{count}/name{i}")
        os.unlink(f"{top}/dir{count}/name1")
    os.mkdir(f"{top}/many")
    first = f"{top}/many/first"
    write(first)
    for i in range(many):
        # Hard links cost no inode; bytes beyond ASCII tell hashes apart.
        if i % 2000 == 1999:
            first = f"{top}/many/first{i}"
            write(first)
        os.link(first, f"{top}/many/a-rather-long-name-\u00e9-{i}")
    os.mkdir(f"{top}/many/sub")


def fill(top, many=600, largest=20000, far=1 << 31):
    """Without values above @largest, and holes above @far."""
    rng = random.Random(1)
    fill_files(top, rng, far)
    fill_kinds(top)
    fill_attributes(top, rng, largest)
    fill_directories(top, many)
