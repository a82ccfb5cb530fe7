# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of the commands share: what judges of the journal do, and
disks with partitions.  Other programs say what is right: dumpe2fs, blkid,
sfdisk, df, e2fsck."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../journal"))

import judge  # noqa: E402
from judge import Failure, Skip, expect, run  # noqa: E402,F401

MATRIX = os.path.join(HERE,
                      "../../../shared/data/images/feature-matrix.tar.zst")

os.environ["MKE2FS_SYNC"] = "0"


def as_json(*arguments, ok=(0,)):
    return json.loads(judge.extant(*arguments, ok=ok).stdout)


def refused(*arguments, words=(), status=2):
    """The command fails with one line on stderr that has all of @words."""
    done = judge.extant(*arguments, ok=(status,))
    lines = done.stderr.splitlines()
    expect(len(lines) == 1, f"{arguments}: {len(lines)} lines: {lines[:3]}")
    for word in words:
        expect(word in lines[0], f"{arguments}: no '{word}' in: {lines[0]}")


def need_root():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        raise Skip("needs root and loop devices")


def matrix():
    """Unpack the images made elsewhere; their names."""
    if not os.path.exists(MATRIX):
        raise Skip("needs ../shared/data/images/feature-matrix.tar.zst")
    run("tar", "-xf", MATRIX)
    images = sorted(name for name in os.listdir(".") if name.endswith(".img"))
    expect(len(images) == 63, f"{len(images)} images")
    return images


def sfdisk(disk, size, script):
    judge.make_file(disk, size)
    done = subprocess.run(["sfdisk", "-q", "--no-reread",
                           "--no-tell-kernel", disk], text=True,
                          input=script, capture_output=True)
    expect(done.returncode == 0, f"sfdisk: {done.stderr}")


def table_of(disk):
    """What sfdisk says of a disk."""
    return json.loads(run("sfdisk", "-J", disk).stdout)["partitiontable"]


def put_at(disk, image, offset):
    run("dd", f"if={image}", f"of={disk}", "bs=4096", "conv=notrunc,sparse",
        "oflag=seek_bytes", f"seek={offset}", "status=none")


def differs(name, ours, theirs):
    if ours != theirs:
        raise Failure(f"{name}: we say {ours!r}, the judge {theirs!r}")
