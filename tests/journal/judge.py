# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of the journal share: TAP, images, and the verdict.

The verdict on a replay is the same everywhere.  Of one image with a journal
that nobody has replayed, one copy is replayed by `extant journal replay` and
one by e2fsck.  Each byte outside of the journal and the primary superblock
must then be equal.  So that this cannot pass without anything to do, the
image must first say that it needs recovery, our dump must find complete
transactions, and the replay must change blocks outside of those two.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position,unused-import
from judging import (  # noqa: E402,F401
    Failure, Skip, copy, expect, make_file, mke2fs, run, run_cases)
import judging  # noqa: E402

SUPER = range(1024, 2048)
CHUNK = 1 << 20


def extant(*arguments, ok=(0,)):
    return run(EXTANT, *arguments, ok=ok)


# ---- images ------------------------------------------------------------------


def super_fields(image):
    """What dumpe2fs says of the superblocks: {field: value}."""
    fields = {}
    for line in run("dumpe2fs", "-h", image).stdout.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields[key.strip()] = value.strip()
    return fields


def block_bytes(image):
    return int(super_fields(image)["Block size"])


def needs_recovery(image):
    return "needs_recovery" in super_fields(image)["Filesystem features"]


def journal_blocks(image):
    """Device blocks of the internal journal and of its map."""
    blocks = {int(word) for word in ask_debugfs(image, "blocks <8>").split()}
    expect(blocks, "debugfs finds no journal blocks")
    return blocks


def ask_debugfs(image, request):
    """What debugfs says, with -c: the bitmaps of a file system that needs
    recovery may be anything."""
    return run("debugfs", "-c", "-R", request, image).stdout


def debugfs(image, *commands):
    """As judging.debugfs(), but nothing may be said."""
    done = judging.debugfs(image, *commands)
    said = [line for line in (done.stdout + done.stderr).splitlines()
            if not line.startswith(("debugfs", "Setting csum",
                                    "Checksum set"))]
    expect(not said, f"debugfs: {said[:1]}")


def different_blocks(one, other, size):
    """Numbers of the blocks that differ outside of the superblock."""
    found = []
    with open(one, "rb") as a, open(other, "rb") as b:
        offset = 0
        while True:
            x, y = a.read(CHUNK), b.read(CHUNK)
            expect(len(x) == len(y), f"{one} and {other} differ in size")
            if not x:
                return found
            if offset == 0:
                x = x[:SUPER.start] + bytes(len(SUPER)) + x[SUPER.stop:]
                y = y[:SUPER.start] + bytes(len(SUPER)) + y[SUPER.stop:]
            if x != y:
                found += [(offset + at) // size
                          for at in range(0, len(x), size)
                          if x[at:at + size] != y[at:at + size]]
            offset += len(x)


def dump(image, *options):
    """Our dump of the journal, as an object."""
    return json.loads(extant("journal", "dump", "--json", *options,
                             image).stdout)


def mapped(seen):
    """The device blocks of the log, in order, by our dump."""
    return [extent["device"] + k for extent in seen["journal"]["map"]
            for k in range(extent["count"])]


# ---- the verdict -------------------------------------------------------------


def replay_both(image, journal=None):
    """Replay copies of @image (and of its journal device) both ways."""
    ours, theirs = copy(image, "ours.img"), copy(image, "theirs.img")
    with_ours, with_theirs = [], []
    if journal:
        with_ours = ["--journal", copy(journal, "ours.jnl")]
        with_theirs = ["-j", copy(journal, "theirs.jnl")]
    told = json.loads(extant("journal", "replay", "--json", *with_ours,
                             ours).stdout)
    run("e2fsck", "-y", "-E", "journal_only", *with_theirs, theirs)
    return ours, theirs, told


def judge_replay(image, journal=None, transactions=1, blocks=1, spare=()):
    """Judge as the text on top says; at least so many @transactions to
    replay and @blocks to change; blocks @spare are not compared.  Returns our
    dump of the journal."""
    expect(needs_recovery(image), "the image does not need recovery")
    seen = dump(image, *(["--journal", journal] if journal else []))
    expect(seen["end"]["transactions"] >= transactions,
           f"only {seen['end']['transactions']} transactions in the journal")

    size = block_bytes(image)
    apart = set(spare) | (set() if journal else journal_blocks(image))
    ours, theirs, told = replay_both(image, journal)
    changed = set(different_blocks(image, ours, size)) - apart
    expect(len(changed) >= blocks, f"only {len(changed)} blocks replayed")
    wrong = set(different_blocks(ours, theirs, size)) - apart
    expect(not wrong, f"{len(wrong)} blocks differ from e2fsck's, the first "
           f"is {min(wrong, default=0)}")

    expect(told["transactions"] == seen["end"]["transactions"] and
           told["blocks"] >= len(changed), f"told {told}")

    judge_finished(ours, "ours.jnl" if journal else None)
    seen["replay"] = told
    return seen


def judge_finished(image, journal=None):
    """A replayed image is clean to us and to e2fsck."""
    expect(not needs_recovery(image), "needs_recovery is still set")
    before = copy(image, "again.img")
    option = ["--journal", journal] if journal else []
    again = extant("journal", "replay", *option, image)
    expect("nothing to do" in again.stdout, "a second replay did something")
    expect(not different_blocks(before, image, 1024),
           "a second replay wrote something")
    start = super_fields(journal or image)["Journal start"]
    expect(start == "0", f"the journal starts at {start}")


def judge_structure(image, journal=None):
    """The replayed file system is whole: e2fsck finds nothing but counts that
    the superblock keeps lazily."""
    option = ["-j", journal] if journal else []
    run("e2fsck", "-fy", *option, image, ok=(0, 1))
    run("e2fsck", "-fn", *option, image)


# ---- running -----------------------------------------------------------------


def main(cases):
    """Run [(name, function)], all or those that are named, and exit."""
    global EXTANT
    EXTANT = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    if wanted:
        cases = [case for case in cases if case[0] in wanted]
    sys.exit(run_cases(cases, "extant-judge."))
