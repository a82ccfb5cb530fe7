# SPDX-License-Identifier: BSD-2-Clause
"""What the judges of reading commands share: an image that the kernel filled,
the command, and a terminal to run it on.

Output is compared as bytes, with that of system calls or of the programs of
the host on the kernel's mount of the same image.
"""

import os
import pty
import signal
import socket
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "images"))

# pylint: disable=wrong-import-position,unused-import
from judge import (Failure, Mounted, Skip, debugfs, expect, main, mke2fs,
                   need_root, run)

EXTANT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None

ODD = [b"new\nline", b"\xff\xfe", b"caf\xe9", b"-l", b" ", b"back\\slash",
       b"\x1b[31mred", "gr\u00fc\u00df".encode(), "\u202egpj.exe".encode(),
       b"*", b"'quoted'", b"x" * 255]


def extant(*arguments, ok=(0,), stdout=subprocess.PIPE, lines=0):
    """Run the command; its output as bytes, its complaints as text, of as many
    lines as @lines says."""
    done = subprocess.run([EXTANT, *arguments], stdin=subprocess.DEVNULL,
                          stdout=stdout, stderr=subprocess.PIPE)
    said = done.stderr.decode(errors="replace")
    expect(done.returncode in ok,
           f"{arguments}: status {done.returncode}: {said.strip()}")
    if 0 in ok:
        expect(not said, f"{arguments}: {said.strip()}")
    elif lines:
        expect(said.count("\n") == lines, f"{arguments}: said {said!r}")
        expect(said.startswith("extant: "), f"{arguments}: said {said!r}")
    done.said = said
    return done


def output(*arguments):
    return extant(*arguments).stdout


def host(*command, cwd, ok=(0,)):
    """What a program of the host prints, as bytes."""
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL,
                          capture_output=True)
    expect(done.returncode in ok, f"{command}: {done.stderr!r}")
    return done.stdout


def same(ours, theirs, what):
    if ours == theirs:
        return
    one, other = ours.split(b"\n"), theirs.split(b"\n")
    for mine, right in zip(one, other):
        expect(mine == right, f"{what}:\n#   ours:  {mine}\n#   right: {right}")
    raise Failure(f"{what}: {len(one)} lines, not {len(other)}")


def terminal(*arguments):
    """What the command shows on a terminal, and its status."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(EXTANT, [EXTANT, *arguments])
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is gone
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    _, status = os.waitpid(pid, 0)
    return shown, os.waitstatus_to_exitcode(status)


def fill(top):
    """A tree of all types, of names that are hard to print, and deep."""
    top = os.fsencode(top)
    os.makedirs(top + b"/dir/sub/empty")
    os.makedirs(top + b"/.hidden/.deeper")
    for name, size in ((b"zero", 0), (b"one", 1), (b"block", 4096),
                       (b"more", 4097), (b"large", 300000)):
        with open(top + b"/dir/" + name, "wb") as file:
            file.write(os.urandom(size))
    with open(top + b"/sparse", "wb") as file:
        os.pwrite(file.fileno(), b"begin", 0)
        os.pwrite(file.fileno(), b"middle", 5 << 20)
        file.truncate(9 << 20)
    os.symlink(b"dir/sub", top + b"/link")
    os.symlink(b"nowhere", top + b"/dangling")
    os.symlink(b"x" * 200, top + b"/slow")
    os.link(top + b"/dir/one", top + b"/.hidden/one")
    os.mkfifo(top + b"/fifo")
    os.mknod(top + b"/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(top + b"/disk", stat.S_IFBLK | 0o660, os.makedev(259, 70000))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(top + b"/socket"))
    os.mkdir(top + b"/odd")
    for name in ODD:
        with open(top + b"/odd/" + name, "wb") as file:
            file.write(name)
    for number, mode in enumerate((0o4755, 0o2644, 0o1777, 0o0, 0o6711)):
        name = top + b"/dir/mode%o" % mode
        with open(name, "wb"):
            pass
        os.chown(name, 1000 + number, 70000 + number)
        os.chmod(name, mode)
        os.utime(name, ns=(number * 10**18 + 7, -number * 10**17 - 3))


def fill_deep(top, levels, name):
    """Directories in each other, beyond what a path may be long."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def filled(*options, size=64 << 20):
    need_root()
    image = mke2fs("fs.img", size, *(options or ("-t", "ext4")))
    with Mounted(image) as top:
        fill(top)
    return image


def refusals(command, *path):
    """What every reading command does about wrong usage and bad images."""
    mke2fs("fs.img", 8 << 20, "-t", "ext4")
    with open("zero.img", "wb") as file:
        file.truncate(1 << 20)
    for arguments in ((), ("--nothing", "fs.img"), ("--cache", "much", "fs.img"),
                      ("--superblock",), ("--superblock-size", "0", "fs.img")):
        done = extant(command, *arguments, ok=(2,), lines=1)
        expect("--help" in done.said, f"no way to help: {done.said}")
    for image, words in (("missing.img", "No such file"),
                         ("zero.img", "bad magic"), (".", "is a directory"),
                         ("fs.img#3", "has no partitions")):
        done = extant(command, image, *path, ok=(2,), lines=1)
        expect(image.split("#")[0] in done.said and words in done.said,
               f"{image}: {done.said}")
        expect(not done.stdout, "printed something")
    expect(output(command, "--help").startswith(b"Usage: extant " +
                                                command.encode()), "no help")


def partitions(command, *path):
    """A whole disk is named with its partition."""
    mke2fs("fs.img", 8 << 20, "-t", "ext4")
    with open("disk.img", "wb") as file:
        file.truncate(16 << 20)
        entry = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(
            4, "little") + (16384).to_bytes(4, "little")
        os.pwrite(file.fileno(), entry + bytes(48) + b"\x55\xaa", 446)
    run("dd", "if=fs.img", "of=disk.img", "bs=1M", "seek=1", "conv=notrunc")
    done = extant(command, "disk.img", *path, ok=(2,), lines=1)
    expect("#N" in done.said, f"no hint: {done.said}")
    same(output(command, "disk.img#1", *path), output(command, "fs.img", *path),
         "the partition")


def full_disk(command, image, *path):
    with open("/dev/full", "wb") as full:
        done = extant(command, image, *path, ok=(2,), stdout=full, lines=1)
    expect("standard output" in done.said, f"said {done.said}")


def broken_pipe(*arguments):
    """A reader that goes away ends the command, as it ends any other."""
    with subprocess.Popen([EXTANT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
        process.wait()
    expect(process.returncode == -signal.SIGPIPE and not said,
           f"status {process.returncode}, {said}")
