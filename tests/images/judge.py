# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of images share: TAP, images, and comparing trees.

The verdict is the same everywhere: tests/images/walk_tree prints all that can
be seen of a tree, once through the library and once through system calls from
the kernel's mount of the same image, and the two texts must be equal.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

# mke2fs and friends live here for root only.
os.environ["PATH"] += ":/usr/sbin:/sbin"
os.environ["LC_ALL"] = "C"
os.environ["TZ"] = "UTC"
os.environ["MKE2FS_SYNC"] = "0"

LIMIT_S = 100

WALK = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None


class Failure(Exception):
    """What was judged is wrong."""


class Skip(Exception):
    """What was to be judged cannot be had on this machine."""


def expect(truth, text):
    if not truth:
        raise Failure(text)


def run(*command, ok=(0,)):
    """Run and return the process; Failure unless its status is in @ok."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace",
                          timeout=LIMIT_S)
    if ok is not None and done.returncode not in ok:
        raise Failure(f"{' '.join(command)} ended with {done.returncode}: "
                      f"{(done.stderr or done.stdout).strip()}")
    return done


def need_root():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        raise Skip("needs root and loop devices")


def mke2fs(image, size, *options):
    with open(image, "wb") as file:
        file.truncate(size)
    run("mke2fs", "-q", "-F", *options, image)
    return image


def copy(image, name):
    run("cp", "--sparse=always", image, name)
    return name


def debugfs(image, *commands):
    """Run commands that change @image; debugfs exits 0 whatever they do."""
    with tempfile.NamedTemporaryFile("w", dir=".") as script:
        script.write("".join(line + "\n" for line in commands))
        script.flush()
        return run("debugfs", "-w", "-f", script.name, image).stdout


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
    """Run @tests in a folder of their own, reporting in TAP."""
    failed = 0
    print(f"1..{len(tests)}")
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for number, test in enumerate(tests, 1):
        name = test.__name__
        folder = tempfile.mkdtemp(prefix="extant-images.", dir=base)
        os.chdir(folder)
        start = time.monotonic()
        try:
            test()
            print(f"# {time.monotonic() - start:.1f} s\nok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Failure as reason:
            failed += 1
            print(f"not ok {number} - {name}\n# {reason}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}")
            print("# " + traceback.format_exc().replace("\n", "\n# "))
        sys.stdout.flush()
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0
