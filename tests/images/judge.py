# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of images share: TAP, images, and comparing trees.

The verdict is the same everywhere: tests/images/walk_tree prints all that can
be seen of a tree, once through the library and once through system calls from
the kernel's mount of the same image, and the two texts must be equal.
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position,unused-import
from judging import (  # noqa: E402,F401
    Failure, Skip, copy, debugfs, expect, mke2fs, run, run_cases)

WALK = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None


def need_root():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        raise Skip("needs root and loop devices")


class Mounted:
    """The kernel's mount of an image, for a while."""

    def __init__(self, image, options="loop"):
        self.image, self.options = image, options

    def __enter__(self):
        self.where = tempfile.mkdtemp(dir=".")
        done = run("mount", "-t", "ext4", "-o", self.options, self.image,
                   self.where, ok=None)
        if done.returncode:
            os.rmdir(self.where)
            raise Skip(f"the kernel does not mount it: "
                       f"{done.stderr.strip().splitlines()[0]}")
        return self.where

    def __exit__(self, *_):
        run("umount", self.where)
        os.rmdir(self.where)


def ours(image, *options, ok=(0,)):
    """The tree as the library sees it, and what it said."""
    done = run(WALK, "image", image, "log=1", "statfs=1", *options, ok=ok)
    return done.stdout.splitlines(), done.stderr


def theirs(image, options="loop,ro,noatime"):
    with Mounted(image, options) as where:
        return run(WALK, "host", where, "statfs=1").stdout.splitlines()


def judge_same(seen, right):
    for one, other in zip(seen, right):
        expect(one == other, f"ours:   {one}\n#   kernel: {other}")
    expect(len(seen) == len(right), f"{len(seen)} lines, not {len(right)}")


def judge_tree(image, *options, lines=3, mount="loop,ro,noatime"):
    """Our tree equals the kernel's, and is not trivial; nothing is written."""
    before = os.stat(image).st_mtime_ns
    seen, said = ours(image, *options)
    expect(os.stat(image).st_mtime_ns == before, "the image was written to")
    judge_same(seen, theirs(image, mount))
    expect(len(seen) >= lines, f"only {len(seen)} lines")
    return said


def main(tests):
    """Run the functions @tests; the status to exit with."""
    return run_cases([(test.__name__, test) for test in tests],
                     "extant-images.")
