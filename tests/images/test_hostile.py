#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Images with some bytes changed: everything is read, or refused, in time.

Whatever an image says, the walk ends by itself with a status of its own and
within a limit of time; under AddressSanitizer this finds what goes out of
bounds.  EXTANT_SEED replays a run, EXTANT_MUTANTS sets its length.
"""

import os
import random
import subprocess
import sys
import time

from judge import WALK, expect, debugfs, main, mke2fs, run

MUTANTS = int(os.environ.get("EXTANT_MUTANTS", "60"))
LIMIT_S = 30


def seeds(folder):
    """Three small images, made without root: data, maps, an index, values."""
    rng = random.Random(1)
    os.makedirs(f"{folder}/many")
    for i in range(150):
        with open(f"{folder}/many/a-rather-long-name-{i}", "wb") as file:
            file.write(b"x" * (i % 3))
    for name, size in (("big", 300000), ("small", 150)):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(rng.randbytes(size))
    os.symlink("t" * 100, f"{folder}/slow")
    os.symlink("target", f"{folder}/fast")
    for number, options in enumerate((
            ("-t", "ext2", "-b", "1024"),
            ("-t", "ext4", "-b", "1024", "-O",
             "^metadata_csum,^uninit_bg,^has_journal,inline_data,ea_inode"),
            ("-t", "ext4", "-b", "2048", "-O", "^metadata_csum,^64bit"))):
        image = mke2fs(f"seed{number}.img", 4 << 20, "-d", folder, *options)
        debugfs(image, *[f"ea_set /big user.n{i} {'v' * 60}"
                         for i in range(4)])
        run("e2fsck", "-fyD", image, ok=(0, 1))
        yield image


def mutate(data, places, rng):
    """Change a few of the bytes that are there."""
    for _ in range(rng.choice((1, 1, 2, 5, 20, 100))):
        at = rng.choice(places) + rng.randrange(64)
        how = rng.random()
        if how < 0.5:
            data[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif how < 0.8:
            data[at] ^= 1 << rng.randrange(8)
        else:
            other = rng.choice(places)
            data[at:at + 4] = data[other:other + 4]


def test_images_mutants_end_in_time():
    seed = int(os.environ.get("EXTANT_SEED", str(time.time_ns())))
    print(f"# EXTANT_SEED={seed}")
    rng = random.Random(seed)
    images = []
    for name in seeds("tree"):
        with open(name, "rb") as file:
            data = file.read()
        images.append((data, [at for at in range(0, len(data), 64)
                              if any(data[at:at + 64])]))
    for number in range(MUTANTS):
        whole, places = rng.choice(images)
        data = bytearray(whole)
        mutate(data, places, rng)
        with open("mutant.img", "wb") as file:
            file.write(data)
        try:
            done = subprocess.run(
                [WALK, "image", "mutant.img", "statfs=1",
                 f"no_replay={number % 2}"], capture_output=True,
                timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            expect(False, f"mutant {number} does not end")
        expect(done.returncode in (0, 1, 2),
               f"mutant {number} ends with {done.returncode}: "
               f"{done.stderr.decode(errors='replace')[:1000]}")


if __name__ == "__main__":
    sys.exit(main([test_images_mutants_end_in_time]))
