# SPDX-License-Identifier: BSD-2-Clause
"""A tree as debugfs sees it, in the lines of walk_tree.

The judge where the kernel cannot be: blocks over 4 KiB, and features that it
was built without.  Everything is asked by inode number, many commands to one
run of debugfs; contents are dumped, and hashed by walk_tree.
"""

import collections
import os
import re
import struct
import tempfile

from judge import WALK, expect, run

VISIBLE_FLAGS = 0x725bdfff  # what lsattr shows
INLINE = 0x10000000
ACLS = ("system.posix_acl_access", "system.posix_acl_default")

Inode = collections.namedtuple(
    "Inode", "ino mode uid gid links size blocks device times flags project "
    "link runs inline")


def ask(image, commands):
    """The answer to each of @commands."""
    if not commands:
        return []
    with tempfile.NamedTemporaryFile("w", dir=".") as script:
        script.write("".join(command + "\n" for command in commands))
        script.flush()
        text = run("debugfs", "-f", script.name, image).stdout
    answers = re.split(r"^debugfs: .*\n", text, flags=re.M)
    expect(len(answers) == len(commands) + 1, "debugfs answers not as asked")
    return answers[1:]


# ---- an inode -------------------------------------------------------------------

def time_of(text, name):
    """Seconds and nanoseconds; two bits of the latter extend the former."""
    found = re.search(rf"^ ?{name}: 0x([0-9a-f]+)(?::([0-9a-f]+))?", text, re.M)
    if not found:
        return " 0.000000000"
    low = int(found.group(1), 16)
    extra = int(found.group(2) or "0", 16)
    seconds = (low - (low >> 31 << 32)) + ((extra & 3) << 32)
    return f" {seconds}.{extra >> 2:09d}"


def device_of(text):
    found = re.search(r"Device major/minor number: (\S+) ", text)
    if not found:
        return "0:0"
    base = 10 if "New-style" in text else 16
    major, minor = (int(part, base) for part in found.group(1).split(":"))
    return f"{major}:{minor}"


def runs_of(text):
    """The file blocks with data: (first, last).  Unwritten ones bear a "[u]"."""
    found = re.search(r"^(?:EXTENTS|BLOCKS):\n(.*)", text, re.M | re.S)
    runs = []
    for first, last in re.findall(
            r"\((\d+)(?:-(\d+))?\):", found.group(1) if found else ""):
        first, last = int(first), int(last or first)
        if runs and runs[-1][1] == first - 1:
            runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    return runs


def inode_of(text, ino, mode):
    def number(pattern, base=10):
        found = re.search(pattern, text)
        return int(found.group(1), base) if found else 0

    size = number(r"Size: (\d+)\n")
    flags = number(r"Flags: 0x([0-9a-f]+)", 16)
    blocks = number(r"Blockcount: (\d+)")
    if flags & INLINE and mode >> 12 == 8:
        blocks += (size + 511) // 512  # as the calls have it
    link = re.search(r'Fast link dest: "(.*)"\n', text)
    shown = mode >> 12 in (4, 8)
    return Inode(
        ino, mode, number(r"User: +(\d+)"), number(r"Group: +(\d+)"),
        number(r"Links: (\d+)"), size, blocks, device_of(text),
        "".join(time_of(text, name)
                for name in ("mtime", "ctime", "atime", "crtime")),
        flags & VISIBLE_FLAGS if shown else 0,
        number(r"Project: +(\d+)") if shown else 0,
        link.group(1) if link else None, runs_of(text), flags & INLINE)


# ---- names ----------------------------------------------------------------------

def entries_of(answer):
    """(name, ino, mode) of a directory, sorted as bytes are."""
    entries = []
    for line in answer.splitlines():
        found = re.match(r"/(\d+)/(\d+)/\d+/\d+/(.*)/(\d*)/$", line)
        if found and found.group(1) != "0":
            entries.append((found.group(3), int(found.group(1)),
                            int(found.group(2), 8)))
    return sorted(entries, key=lambda e: e[0].encode(errors="surrogateescape"))


def directories(image):
    """The entries of every directory by its number, level by level."""
    found, level = {}, [2]
    while level:
        answers = ask(image, [f"ls -p <{ino}>" for ino in level])
        found.update(zip(level, map(entries_of, answers)))
        level = [ino for above in level for name, ino, mode in found[above]
                 if mode >> 12 == 4 and name not in (".", "..")]
    return found


# ---- contents -------------------------------------------------------------------

class Values:
    """Files to be made by debugfs and hashed, many at a time."""

    def __init__(self, image, folder):
        self.image, self.folder = image, folder
        self.commands, self.wanted = [], {}

    def path(self, key):
        return os.path.join(self.folder, "-".join(map(str, key)))

    def want(self, key, command, runs=None):
        self.commands.append(command.replace("FILE", self.path(key)))
        self.wanted[key] = runs

    def fetch(self):
        """Hashes by key, of the bytes in @runs alone if there are any."""
        ask(self.image, self.commands)
        for key, runs in self.wanted.items():
            if runs is not None:
                with open(self.path(key), "rb") as file:
                    # What is not in the file that debugfs made is zero.
                    pieces = [os.pread(file.fileno(), end - at, at)
                              .ljust(end - at, b"\0") for at, end in runs]
                with open(self.path(key), "wb") as file:
                    file.write(b"".join(pieces))
            elif key[1] in ACLS:
                fill_ids(self.path(key))
        keys = list(self.wanted)
        if not keys:
            return {}
        hashes = run(WALK, "hash", *map(self.path, keys)).stdout.split()
        return dict(zip(keys, hashes))


def fill_ids(path):
    """Entries without an id have -1 there by the calls, 0 by debugfs."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for at in range(4, len(data), 8):
            if struct.unpack_from("<H", data, at)[0] not in (2, 8):
                data[at + 4:at + 8] = b"\xff" * 4
        file.seek(0)
        file.write(data)


def segments_of(inode, block_bytes):
    if inode.inline:
        return [(0, inode.size)] if inode.size else []
    return [(first * block_bytes, min((last + 1) * block_bytes, inode.size))
            for first, last in inode.runs if first * block_bytes < inode.size]


# ---- the whole ------------------------------------------------------------------

def escaped(text):
    return "".join(
        f"%{byte:02x}" if byte <= 32 or byte in b"%=" or byte >= 127
        else chr(byte) for byte in text.encode(errors="surrogateescape"))


class View:
    def __init__(self, image, folder):
        self.block_bytes = int(re.search(
            r"Block size: +(\d+)", run("dumpe2fs", "-h", image).stdout)[1])
        self.names = directories(image)
        modes = {ino: mode for entries in self.names.values()
                 for _, ino, mode in entries}
        inos = sorted(modes)
        texts = ask(image, [f"stat <{ino}>" for ino in inos])
        self.inodes = {ino: inode_of(text, ino, modes[ino])
                       for ino, text in zip(inos, texts)}
        lists = ask(image, [f"ea_list <{ino}>" for ino in inos])
        self.xattrs = {ino: sorted(
            name for name in re.findall(r"^  (\S+) \(\d+\)", text, re.M)
            if name != "system.data") for ino, text in zip(inos, lists)}
        self.values = Values(image, folder)
        for inode in self.inodes.values():
            self.want(inode)
        self.hashes = self.values.fetch()

    def want(self, inode):
        for name in self.xattrs[inode.ino]:
            self.values.want((inode.ino, name),
                             f"ea_get -f FILE <{inode.ino}> {name}")
        if inode.mode >> 12 == 8:
            self.values.want((inode.ino, "data"), f"dump <{inode.ino}> FILE",
                             segments_of(inode, self.block_bytes))
        elif inode.mode >> 12 == 10 and inode.link is None:
            self.values.want((inode.ino, "link"), f"dump <{inode.ino}> FILE")

    def target(self, inode):
        if inode.link is not None:
            return inode.link
        with open(self.values.path((inode.ino, "link")),
                  encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def line(self, path, inode):
        text = (f"/{escaped(path)} {inode.ino} {inode.mode:06o} {inode.uid} "
                f"{inode.gid} {inode.links} {inode.size} {inode.blocks} "
                f"{inode.device}{inode.times} {inode.flags:x} "
                f"{inode.project}")
        kind = inode.mode >> 12
        if kind == 10:
            text += " ->" + escaped(self.target(inode))
        for name in self.xattrs[inode.ino]:
            size = os.path.getsize(self.values.path((inode.ino, name)))
            text += (f" {escaped(name)}={size}:{size}:"
                     f"{self.hashes[inode.ino, name]}")
        if kind == 8:
            text += " " + "".join(
                f"{at}-{end},"
                for at, end in segments_of(inode, self.block_bytes))
            text += " " + self.hashes[inode.ino, "data"]
        return text

    def lines(self, path="", ino=2):
        yield self.line(path, self.inodes[ino])
        for name, child, mode in self.names.get(ino, ()):
            below = f"{path}/{name}" if path else name
            dots = name in (".", "..")
            yield (f"/{escaped(below)} entry "
                   + ("" if dots else f"{child} {mode >> 12}"))
            if not dots:
                yield from self.lines(below, child)


def tree(image):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        return list(View(image, folder).lines())
