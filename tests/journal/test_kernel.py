#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Journals that the kernel wrote, replayed by us and by e2fsck.

A file system is mounted, kept busy, and shut down as if power had failed
(the shutdown ioctl, without flushing the log).  The image is copied before
the kernel unmounts it, so that what the journal still owes is not home yet.
Needs root and loop devices.
"""

import contextlib
import fcntl
import functools
import os
import random
import re
import struct

import judge
from judge import Failure, Skip, dump, expect, judge_replay, mke2fs, run

SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2


@contextlib.contextmanager
def loop(image):
    device = run("losetup", "--find", "--show", image).stdout.strip()
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


@contextlib.contextmanager
def mounted(device, options):
    os.makedirs("mnt", exist_ok=True)
    run("mount", "-t", "ext4", *options, device, "mnt")
    try:
        yield "mnt"
    finally:
        run("umount", "mnt")


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def shut_down(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(fd)


class Busy:
    """Many kinds of changes, with a commit now and then."""

    def __init__(self, root, seed):
        self.root = root
        self.random = random.Random(seed)
        self.files = []
        self.folders = [root]
        self.count = 0

    def name(self):
        self.count += 1
        length = self.random.randint(1, 60)
        return os.path.join(self.random.choice(self.folders),
                            f"{self.count}".ljust(length, "x"))

    def create(self):
        path = self.name()
        with open(path, "wb") as file:
            file.write(self.random.randbytes(self.random.randint(0, 9000)))
        self.files.append(path)

    def sparse(self):
        path = self.name()
        with open(path, "wb") as file:
            for _ in range(5):
                file.seek(self.random.randint(0, 1 << 22))
                file.write(b"hole")
        self.files.append(path)

    def folder(self):
        path = self.name()
        os.mkdir(path)
        self.folders.append(path)

    def link(self):
        path = self.name()
        os.link(self.random.choice(self.files), path)
        self.files.append(path)

    def symlink(self):
        os.symlink("t" * self.random.randint(1, 200), self.name())

    def rename(self):
        old = self.files.pop(self.random.randrange(len(self.files)))
        path = self.name()
        os.rename(old, path)
        self.files.append(path)

    def unlink(self):
        os.unlink(self.files.pop(self.random.randrange(len(self.files))))

    def truncate(self):
        os.truncate(self.random.choice(self.files),
                    self.random.randint(0, 20000))

    def xattr(self):
        os.setxattr(self.random.choice(self.files), "user.x",
                    self.random.randbytes(self.random.randint(1, 500)))

    def chmod(self):
        os.chmod(self.random.choice(self.files), 0o600)

    def step(self):
        if len(self.files) < 10:
            return self.create()
        return self.random.choice([
            self.create, self.create, self.sparse, self.folder, self.link,
            self.symlink, self.rename, self.unlink, self.truncate, self.xattr,
            self.chmod])()

    def work(self, steps, commit_every):
        for number in range(steps):
            self.step()
            if number % commit_every == 0:
                fsync(self.root)

    def revoke(self, rounds):
        """Blocks of folders, logged, then freed, then data of files."""
        for _ in range(rounds):
            self.count += 1
            number = self.count
            folder = os.path.join(self.root, f"gone{number}")
            os.mkdir(folder)
            for entry in range(80):
                os.symlink("nowhere", f"{folder}/{entry}".ljust(200, "y"))
            fsync(folder)
            for entry in os.listdir(folder):
                os.unlink(os.path.join(folder, entry))
            os.rmdir(folder)
            fsync(self.root)
            path = os.path.join(self.root, f"over{number}")
            with open(path, "wb") as file:
                file.write(self.random.randbytes(40000))
                file.flush()
                os.fsync(file.fileno())


@functools.cache
def why_not():
    """Why this machine cannot mount ext4 from a file, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/dev/loop-control"):
        return "needs loop devices"
    mke2fs("probe.img", 4 << 20, "-t", "ext4")
    try:
        with loop("probe.img") as device, mounted(device, ()):
            return None
    except Failure as why:
        return f"needs to mount ext4 from a loop device ({why})"


def need_kernel():
    if why_not():
        raise Skip(why_not())


def busy_image(device, options, steps):
    with mounted(device, options) as root:
        busy = Busy(root, 7)
        busy.work(steps, 20)
        busy.revoke(6)
        busy.work(steps, 10)
        busy.revoke(3)
        fsync(root)
        shut_down(root)
        return judge.copy("fs.img", "dirty.img")


def kernel_image(mkfs, mount=(), size=64 << 20, steps=250):
    """A busy image of the kernel's: dirty.img."""
    need_kernel()
    mke2fs("fs.img", size, *mkfs)
    with loop("fs.img") as device:
        return busy_image(device, mount, steps)


def kinds(seen):
    return {block["type"] for block in seen["blocks"] if block.get("live")}


def expect_features(seen, features=(), without=()):
    got = set(seen["superblock"]["compat"] + seen["superblock"]["incompat"])
    expect(got >= set(features) and not got & set(without),
           f"the journal has features {sorted(got)}")


def internal(mkfs, mount=(), features=(), without=(), revokes=True, **more):
    def case():
        image = kernel_image(mkfs, mount, **more)
        seen = judge_replay(image, transactions=5, blocks=10)
        expect_features(seen, features, without)
        if revokes:
            expect("revoke" in kinds(seen) and seen["replay"]["revoked"] > 0,
                   "no copy was held back by a revoke")
        judge.judge_structure("ours.img")
    return case


def meta_bg():
    """e2fsck brings the copies of descriptors in the second and the last
    group of each meta group up to date, which no replay does."""
    image = kernel_image(["-t", "ext4", "-b", "1024", "-g", "1024",
                          "-O", "meta_bg,^resize_inode"])
    at = re.findall(r"^Group (\d+):.*\n.*Group descriptor at (\d+)",
                    run("dumpe2fs", image).stdout, re.M)
    copies = {int(block) for group, block in at if int(group) % 16}
    expect(len(copies) == 8, f"{len(copies)} copies of descriptor blocks")
    judge_replay(image, transactions=5, blocks=10, spare=copies)
    expect(not copies & set(judge.different_blocks(image, "ours.img", 1024)),
           "a copy of descriptors has changed")
    judge.judge_structure("ours.img")


def wrapped_image():
    """dirty.img with a log whose live part goes around its end.  When the
    kernel checkpoints is its own affair, so try until it does."""
    for steps in range(500, 900, 40):
        image = kernel_image(["-t", "ext4", "-b", "1024", "-J", "size=1"],
                             steps=steps)
        seen = dump(image, "--live")
        if seen["end"]["log"] < seen["superblock"]["start"]:
            return image
    raise Failure("no log wraps")


def wrapped():
    judge_replay(wrapped_image(), transactions=2, blocks=10)
    judge.judge_structure("ours.img")


def outside_image(block):
    """A busy dirty.img with its journal on dirty.jnl."""
    need_kernel()
    judge.make_file("fs.jnl", 8 << 20)
    run("mke2fs", "-q", "-F", "-b", block, "-O", "journal_dev", "fs.jnl")
    with loop("fs.jnl") as log:
        mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", block, "-J",
               "device=" + log)
        with loop("fs.img") as device:
            busy_image(device, ["-o", "journal_path=" + log], 250)
            judge.copy("fs.jnl", "dirty.jnl")


def outside(block):
    def case():
        outside_image(block)
        seen = judge_replay("dirty.img", "dirty.jnl", 5, 10)
        expect(seen["journal"]["source"] == "device", "not seen as outside")
        judge.judge_structure("ours.img", "ours.jnl")
    return case


def fast_commits():
    """Pending fast commits are refused, by name, and nothing is written."""
    need_kernel()
    mke2fs("fs.img", 64 << 20, "-t", "ext4", "-O", "fast_commit")
    with loop("fs.img") as device, mounted(device, ()) as root:
        busy = Busy(root, 7)
        busy.work(50, 100)
        judge.run("sync", "-f", root)
        for number in range(20):
            path = os.path.join(root, f"fast{number}")
            with open(path, "wb") as file:
                file.write(b"f" * 5000)
                file.flush()
                os.fsync(file.fileno())
        shut_down(root)
        image = judge.copy("fs.img", "dirty.img")
    records = [record for block in dump(image)["blocks"]
               for record in block.get("records", ()) if record["live"]]
    if not records:
        raise Failure("the kernel wrote no fast commits")
    expect({"head", "tail", "create", "inode"} <=
           {record["tag"] for record in records},
           "fast-commit records are not what they should be")
    before = judge.copy(image, "before.img")
    done = judge.extant("journal", "replay", image, ok=(2,))
    expect("fast-commit" in done.stderr and done.stderr.count("\n") == 1,
           f"refused with: {done.stderr}")
    run("cmp", before, image)


def in_use():
    """Whoever asks for a file system that is mounted is told where."""
    need_kernel()
    mke2fs("fs.img", 16 << 20, "-t", "ext4")
    with loop("fs.img") as device, mounted(device, ()) as root:
        for image in ("fs.img", device):
            done = judge.extant("journal", "replay", image, ok=(2,))
            expect(os.path.abspath(root) in done.stderr and
                   done.stderr.count("\n") == 1, f"told: {done.stderr}")


EXT3 = ["-t", "ext3", "-b"]
EXT4 = ["-t", "ext4", "-b"]
PLAIN = ["-O", "^metadata_csum"]
WRITEBACK = ["-o", "data=writeback,journal_async_commit"]

if __name__ == "__main__":
    judge.main([
        ("ext4-4k", internal(EXT4 + ["4096"],
                             features=["checksum_v3", "64bit"])),
        ("ext4-2k", internal(EXT4 + ["2048"], features=["checksum_v3"])),
        ("ext4-1k", internal(EXT4 + ["1024"], features=["checksum_v3"])),
        ("ext4-32bit", internal(EXT4 + ["1024", "-O", "^64bit"],
                                features=["checksum_v3"], without=["64bit"])),
        ("ext4-32bit-plain", internal(
            EXT4 + ["4096", "-O", "^64bit,^metadata_csum"],
            without=["64bit", "checksum_v3", "checksum"])),
        ("ext4-plain", internal(EXT4 + ["4096", *PLAIN], features=["64bit"],
                                without=["checksum_v3", "checksum"])),
        ("ext4-small-inodes", internal(EXT4 + ["4096", "-I", "128"])),
        ("ext4-bigalloc", internal(
            EXT4 + ["1024", "-O", "bigalloc", "-C", "16384"])),
        ("ext4-meta-bg", meta_bg),
        ("ext4-uninit-bg", internal(
            EXT4 + ["1024", "-O", "^metadata_csum,uninit_bg"])),
        ("checksum-v1", internal(EXT4 + ["4096", *PLAIN],
                                 ["-o", "journal_checksum"],
                                 features=["checksum"])),
        ("checksum-v1-async", internal(
            EXT4 + ["4096", *PLAIN], WRITEBACK,
            features=["checksum", "async_commit"])),
        ("checksum-v3-async", internal(
            EXT4 + ["4096"], WRITEBACK,
            features=["checksum_v3", "async_commit"])),
        ("ext3-4k", internal(EXT3 + ["4096"])),
        ("ext3-1k", internal(EXT3 + ["1024"])),
        ("ext3-triple-indirect", internal(EXT3 + ["1024", "-J", "size=80"],
                                          size=320 << 20)),
        ("data-journal", internal(EXT4 + ["1024", "-J", "size=16"],
                                  ["-o", "data=journal"], revokes=False)),
        ("wrapped", wrapped),
        ("outside-4k", outside("4096")),
        ("outside-1k", outside("1024")),
        ("fast-commits", fast_commits),
        ("in-use", in_use),
    ])
