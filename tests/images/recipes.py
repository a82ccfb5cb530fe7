# SPDX-License-Identifier: BSD-2-Clause
"""How the images of the list are made.

A recipe is a function without arguments that makes an image in the current
folder and returns its name.  `kernel` fills a mount, `copied` lets mke2fs copy
a folder where the kernel cannot mount; debugfs changes the result.
"""

import os
import random

from fill import fill, write
from judge import Mounted, copy, debugfs, mke2fs, need_root, run

MB = 1 << 20


def kernel(options, put=None, size=24 * MB, before=(), after=(), mount="loop",
           check=False):
    """mke2fs, debugfs @before, the kernel's @put, debugfs @after."""
    def make():
        need_root()
        image = mke2fs("fs.img", size, *options.split())
        if before:
            debugfs(image, *before)
        if put:
            with Mounted(image, mount) as top:
                put(top)
        if after:
            debugfs(image, *after)
        if check:
            run("e2fsck", "-fyD", image, ok=(0, 1))
        return image
    return make


def copied(options, put, size=64 * MB, after=(), check=False):
    """mke2fs copies what @put makes."""
    def make():
        need_root()
        os.mkdir("tree")
        put("tree")
        image = mke2fs("fs.img", size, *options.split(), "-d", "tree")
        if after:
            debugfs(image, *after)
        if check:
            run("e2fsck", "-fyD", image, ok=(0, 1))
        return image
    return make


# ---- contents -------------------------------------------------------------------

def everything(many=60, **limits):
    return lambda top: fill(top, many, **limits)


def files(**named):
    """Files by name, of (offset, bytes) pieces."""
    def put(top):
        for name, pieces in named.items():
            write(f"{top}/{name}", *pieces)
    return put


def scattered(count, step, name="deep", first=0):
    """@count blocks of one byte, @step bytes apart."""
    def put(top):
        with open(f"{top}/{name}", "wb") as file:
            for i in range(count):
                os.pwrite(file.fileno(), bytes([i % 251]), first + i * step)
    return put


def at(*offsets, name="far"):
    return files(**{name: [(offset, b"at %d" % offset) for offset in offsets]})


def reserved(*spans, wrote=(), size=None, name="reserved"):
    """Allocated but not written, but for @wrote."""
    def put(top):
        with open(f"{top}/{name}", "wb") as file:
            for start, count in spans:
                os.posix_fallocate(file.fileno(), start, count)
            for start, count in wrote:
                os.pwrite(file.fileno(), b"w" * count, start)
            if size is not None:
                file.truncate(size)
    return put


def kept_beyond(top):
    """Blocks behind the end of the file."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"{top}/kept", "wb") as file:
        file.write(b"k" * 5000)
        file.flush()
        keep_size = 1
        if libc.fallocate(file.fileno(), keep_size, ctypes.c_long(0),
                          ctypes.c_long(100000)):
            raise OSError(ctypes.get_errno(), "fallocate")


def names(count, form="name-{}", where="many", links=True):
    """A directory of @count names; one file, unless links are too many."""
    def put(top):
        os.makedirs(f"{top}/{where}")
        first = None
        for i in range(count):
            path = f"{top}/{where}/{form.format(i)}"
            if first is None or i % 50000 == 0 or not links:
                first = path
                write(first)
            else:
                os.link(first, path)
    return put


def subdirectories(count):
    def put(top):
        os.mkdir(f"{top}/many")
        for i in range(count):
            os.mkdir(f"{top}/many/{i}")
    return put


def nested(depth):
    def put(top):
        path = top + "".join(f"/level{i}" for i in range(depth))
        os.makedirs(path)
        write(f"{path}/bottom", (0, b"bottom\n"))
    return put


def xattrs(path="f", **values):
    """Attributes user.NAME of bytes, or of so many bytes."""
    def put(top):
        if not os.path.exists(f"{top}/{path}"):
            write(f"{top}/{path}", (0, b"contents\n"))
        rng = random.Random(2)
        for name, value in values.items():
            if isinstance(value, int):
                value = rng.randbytes(value)
            os.setxattr(f"{top}/{path}", f"user.{name}", value)
    return put


def timed(seconds, nanoseconds=123456789):
    def put(top):
        write(f"{top}/timed")
        os.utime(f"{top}/timed", ns=(seconds * 10**9 + nanoseconds,) * 2)
    return put


def linked(target):
    return lambda top: os.symlink(target, f"{top}/link")


def both(*puts):
    def put(top):
        for one in puts:
            one(top)
    return put


# ---- more than one step ----------------------------------------------------------

def extent_tree(depth, blocks=40, options="-t ext4 -b 1024", step=3 * 1024,
                large=False):
    """A tree whose root debugfs has pushed down until it is @depth deep."""
    def make():
        put = scattered(blocks if depth else 3, step)
        base = copied(options, put) if large else kernel(options, put)
        image = base()
        text = run("debugfs", "-R", "dump_extents /deep", image).stdout
        have = int(text.splitlines()[1].split("/")[1].split()[0])
        debugfs(image, "eo /deep", *["root", "split_node"] * (depth - have))
        return image
    return make


def while_mounted(options, put, size=24 * MB, mount="loop", sync=True,
                  hold=None):
    """Copied while the kernel has it mounted, as if power had failed."""
    def make():
        need_root()
        image = mke2fs("live.img", size, *options.split())
        with Mounted(image, mount) as top:
            held = hold(top) if hold else None
            put(top)
            if sync:
                run("sync", "-f", top)
            dirty = copy(image, "fs.img")
            if held:
                held.close()
        return dirty
    return make


def unlinked(top):
    """An open file without a name."""
    held = open(f"{top}/gone", "wb")
    held.write(b"gone" * 5000)
    held.flush()
    os.fsync(held.fileno())
    os.unlink(f"{top}/gone")
    return held


def with_journal_outside(put, dirty):
    """A file system and log.img; a clean pair, or copied while mounted."""
    def make():
        need_root()
        with open("live.log", "wb") as file:
            file.truncate(8 * MB)
        run("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096",
            "live.log")
        loop = run("losetup", "-f", "--show", "live.log").stdout.strip()
        try:
            image = mke2fs("live.img", 24 * MB, "-t", "ext4", "-b", "4096",
                           "-J", f"device={loop}")
            with Mounted(image, f"loop,journal_path={loop}") as top:
                put(top)
                if dirty:
                    run("sync", "-f", top)
                    copy(image, "fs.img")
                    copy("live.log", "log.img")
            if not dirty:
                copy(image, "fs.img")
                copy("live.log", "log.img")
        finally:
            run("losetup", "-d", loop)
        return "fs.img"
    return make
