# SPDX-License-Identifier: BSD-2-Clause
"""What all judges share: running programs, making images, and TAP.

Each folder's judge.py adds what its own verdict needs.
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


# ---- images ------------------------------------------------------------------


def make_file(name, size):
    with open(name, "wb") as file:
        file.truncate(size)
    return name


def mke2fs(image, size, *options):
    make_file(image, size)
    run("mke2fs", "-q", "-F", *options, image)
    return image


def copy(image, name):
    run("cp", "--sparse=always", image, name)
    return name


def debugfs(image, *commands):
    """Run commands that change @image; debugfs exits 0 whatever they do, but
    what it says comes back."""
    with tempfile.NamedTemporaryFile("w", dir=".") as script:
        script.write("".join(line + "\n" for line in commands))
        script.flush()
        return run("debugfs", "-w", "-f", script.name, image)


# ---- running -----------------------------------------------------------------


def run_cases(cases, prefix):
    """Run [(name, function)], each in a folder of its own, in memory if
    possible; print TAP.  The status to exit with."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    failed = False
    print(f"1..{len(cases)}")
    for number, (name, function) in enumerate(cases, 1):
        folder = tempfile.mkdtemp(prefix=prefix, dir=base)
        os.chdir(folder)
        start = time.monotonic()
        try:
            function()
            print(f"# {time.monotonic() - start:.1f} s\nok {number} - {name}")
        except Skip as why:
            print(f"# {why}\nok {number} - {name} # SKIP {why}")
        except Failure as why:
            failed = True
            print(f"# {why}\nnot ok {number} - {name}")
        except Exception:  # pylint: disable=broad-except
            failed = True
            text = traceback.format_exc().replace("\n", "\n# ")
            print(f"# {text}\nnot ok {number} - {name}")
        sys.stdout.flush()
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0
