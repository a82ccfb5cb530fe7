# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of commands share: running them, and trees of the host.

tree() is independent of everything that is judged: it shows a directory of the
host by system calls, so that what a command made can be compared with the
kernel's mount of the image that it was made from.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "images"))

# pylint: disable=wrong-import-position,unused-import
import fill  # noqa: E402
from judge import (WALK as EXTANT, Failure, Mounted, Skip,  # noqa: E402
                   copy, debugfs, expect, main, mke2fs, need_root, run)

NOBODY = 65534


def extant(*arguments, ok=(0,)):
    """Run the command; Failure unless its status is in @ok."""
    return run(EXTANT, *arguments, ok=ok)


def extant_as_nobody(*arguments, ok=(0,)):
    """Likewise without any privilege, from a copy that everybody can reach."""
    os.chmod(".", 0o755)
    if not os.path.exists("extant-copy"):
        shutil.copy(EXTANT, "extant-copy")
        os.chmod("extant-copy", 0o755)
    return run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
               "--clear-groups", "./extant-copy", *arguments, ok=ok)


def filled_image(name="image.img", size=64 << 20, *options, hook=None):
    """An image that the kernel filled with something of everything."""
    need_root()
    mke2fs(name, size, *(options or ("-t", "ext4", "-b", "4096")))
    with Mounted(name) as top:
        fill.fill(top)
        if hook:
            hook(top)
    return name


def segments(path):
    """Where a file has data: [(from, to)]."""
    found, fd = [], os.open(path, os.O_RDONLY)
    try:
        at = 0
        while True:
            try:
                start = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                return found
            at = os.lseek(fd, start, os.SEEK_HOLE)
            found.append((start, at))
    finally:
        os.close(fd)


def contents(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for start, end in segments(path):
            file.seek(start)
            digest.update(f"{start} ".encode())
            while start < end:
                piece = file.read(min(1 << 20, end - start))
                if not piece:
                    break
                digest.update(piece)
                start += len(piece)
    return digest.hexdigest()


def attributes(path):
    return {name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)}


def look(path, st):
    """All that a copy of @path must have in common with it."""
    seen = {"mode": oct(st.st_mode), "owner": (st.st_uid, st.st_gid),
            "mtime": st.st_mtime_ns, "xattrs": attributes(path)}
    if stat.S_ISREG(st.st_mode):
        seen.update(size=st.st_size, atime=st.st_atime_ns, holes=segments(path),
                    data=contents(path))
    elif stat.S_ISLNK(st.st_mode):
        seen.update(target=os.readlink(path))
    elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
        seen.update(device=st.st_rdev)
    return seen


def tree(top, leave=()):
    """{path: look()} of all below @top, with links as sets of paths."""
    stats, seen, names = {".": os.lstat(top)}, {}, {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            stats[os.path.relpath(path, top)] = os.lstat(path)
    # After that, for reading changes times.
    for path, st in stats.items():
        seen[path] = look(os.path.join(top, path), st)
        if st.st_nlink > 1 and not stat.S_ISDIR(st.st_mode):
            names.setdefault(st.st_ino, []).append(path)
    for paths in names.values():
        for path in paths:
            seen[path]["links"] = sorted(paths)
    for path in seen.values():
        for key in leave:
            path.pop(key, None)
    return seen


def expect_same(made, right):
    """The trees are equal."""
    missing = sorted(right.keys() - made.keys())
    expect(not missing, f"missing: {missing[:5]}")
    added = sorted(made.keys() - right.keys())
    expect(not added, f"too many: {added[:5]}")
    for path, is_ in made.items():
        for key in right[path].keys() | is_.keys():
            expect(is_.get(key) == right[path].get(key),
                   f"{path}: {key} is {str(is_.get(key))[:300]}, not "
                   f"{str(right[path].get(key))[:300]}")


def replace_bytes(image, old, new):
    """Change names in an image, which must have no checksums."""
    expect(len(old) == len(new), "the lengths differ")
    with open(image, "r+b") as file:
        data = file.read()
        expect(data.count(old) == 1, f"{data.count(old)} times {old}")
        file.seek(data.index(old))
        file.write(new)


def leftovers(top):
    return [os.path.join(folder, name) for folder, _, files in os.walk(top)
            for name in files if name.startswith(".extant-")]


def spawn(*arguments):
    # pylint: disable=consider-using-with
    return subprocess.Popen([EXTANT, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
