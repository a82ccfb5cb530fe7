#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant export`: GNU tar finds in it what the kernel's mount shows."""

import bz2
import gzip
import lzma
import os
import pty
import random
import resource
import subprocess
import sys
import tarfile

from command import (EXTANT, Mounted, debugfs, expect, expect_same, extant,
                     filled_image, main, mke2fs, run, tree)

READ_ONLY = "loop,ro,noatime"
TAR = ("tar", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--acls")


def export(image, *options, ok=(0,), name="image.tar"):
    """What went to standard output, in a file, and the complaints."""
    with open(name, "wb") as out:
        done = subprocess.run([EXTANT, "export", *options, image],
                              stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, text=True, check=False)
    expect(done.returncode in ok, f"it ends with {done.returncode}: "
           f"{done.stderr}")
    return name, done.stderr


def extract(archive):
    os.mkdir("out")
    run(*TAR, "-xpf", archive, "-C", "out")
    return tree("out", leave=("atime",))


def theirs(image):
    with Mounted(image, READ_ONLY) as top:
        right = tree(top, leave=("atime",))
    right.pop("sock", None)
    return right


def more(top):
    rng = random.Random(7)
    with open(f"{top}/large", "wb") as file:
        for i in range(9):
            file.seek(i * (3 << 20))
            file.write(rng.randbytes((1 << 20) * (i % 3) + 5000))
        file.truncate(40 << 20)
    with open(f"{top}/solid", "wb") as file:
        file.write(rng.randbytes((5 << 20) + 17))
    long = "long" * 60
    os.makedirs(f"{top}/{long}/{long}")
    with open(f"{top}/{long}/{long}/{long}", "wb") as file:
        file.write(b"long")
    os.symlink("/".join([long] * 3), f"{top}/{long}/link")
    with open(os.fsencode(top) + b"/not-utf8-\xff\xfe", "wb") as file:
        file.write(b"bytes")
    for name in ("\u00e9", "a b\nc", "-n", "~"):
        with open(f"{top}/{name}", "wb") as file:
            file.write(name.encode())
    os.setxattr(f"{top}/solid", "user.binary", bytes(range(256)))
    os.link(f"{top}/fast", f"{top}/fast-too")
    os.link(f"{top}/null", f"{top}/null-too")


def test_export_extracted_is_the_kernels():
    image = filled_image("image.img", 256 << 20, hook=more)
    archive, said = export(image)
    expect("sock: left out" in said, f"the socket is not named: {said}")
    made = extract(archive)
    expect(len(made) > 600, f"only {len(made)} files")
    expect_same(made, theirs(image))


def test_export_of_one_k_blocks():
    """Holes are not where a host's blocks could have them, and so not equal."""
    image = filled_image("small.img", 64 << 20, "-t", "ext4", "-b", "1024")
    made, right = extract(export(image)[0]), theirs(image)
    for seen in list(made.values()) + list(right.values()):
        if seen.pop("holes", None):
            seen.pop("data")
    expect_same(made, right)
    with Mounted(image, READ_ONLY) as top:
        for name in ("big", "sparse", "pieces", "grown", "reserved"):
            run("cmp", f"{top}/{name}", f"out/{name}")


def test_export_compares_with_the_mount():
    """Where there is a list, the mode has the group's bits instead of the
    mask's."""
    image = filled_image(hook=more)
    archive, _ = export(image)
    with Mounted(image, READ_ONLY) as top:
        done = run(*TAR, "--compare", "-f", archive, "-C", top, ok=(0, 1))
    wrong = [line for line in done.stdout.splitlines()
             if line not in ("./d/f: Mode differs", "d/f: Mode differs")]
    expect(not wrong, f"{wrong[:5]}")


def test_export_order_is_that_of_names():
    image = filled_image()
    with tarfile.open(export(image)[0]) as archive:
        names = [member.name for member in archive]
    expect(names[0] == "." and len(names) > 600, f"{names[:3]}")
    right = sorted(names[1:], key=lambda name: name.encode().split(b"/"))
    expect(names[1:] == right, "it is not sorted")


def test_export_same_image_same_bytes():
    image = filled_image("image.img", 128 << 20, hook=more)
    first, _ = export(image)
    second, _ = export(image, name="second.tar")
    run("cmp", first, second)
    with open("third.tar", "wb") as out:
        subprocess.run(["taskset", "-c", "0", EXTANT, "export", "--cache",
                        "4M", image], stdout=out, check=True,
                       stderr=subprocess.DEVNULL)
    run("cmp", first, "third.tar")
    extant("export", "-f", "fourth.tar", image)
    run("cmp", first, "fourth.tar")


def test_export_compressed_is_the_same():
    image = filled_image()
    with open(export(image)[0], "rb") as file:
        plain = file.read()
    for ending, opener in ((".tar.gz", gzip.open), (".tgz", gzip.open),
                           (".tar.xz", lzma.open), (".tar.bz2", bz2.open)):
        for again in range(2):
            extant("export", "-f", f"{again}{ending}", image)
        run("cmp", f"0{ending}", f"1{ending}")
        with opener(f"0{ending}", "rb") as file:
            expect(file.read() == plain, f"{ending} holds something else")
    extant("export", "-z", "gzip", "-f", "named.tar", image)
    run("cmp", "named.tar", "0.tar.gz")
    for how in ("zstd", "lz4"):
        with open(export(image, "-z", how, name=how)[0], "rb") as file:
            magic = file.read(4)
        expect(magic in (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"),
               f"{how}: {magic}")
    extant("export", "-z", "brotli", image, ok=(2,))


def test_export_directory():
    image = filled_image()
    with tarfile.open(export(image, "-C", "/d/")[0]) as archive:
        expect(archive.getnames() == [".", "e", "f"],
               f"{archive.getnames()}")
    for path in ("tiny", "none"):
        done = extant("export", "-C", path, image, ok=(2,))
        expect(path in done.stderr, done.stderr)


def test_export_to_a_terminal_is_refused():
    image = filled_image()
    leader, follower = pty.openpty()
    done = subprocess.run([EXTANT, "export", image], stdout=follower,
                          stderr=subprocess.PIPE, text=True, check=False)
    os.close(leader)
    os.close(follower)
    expect(done.returncode == 2 and "terminal" in done.stderr,
           f"{done.returncode} {done.stderr}")


def test_export_wrong_image_keeps_the_file():
    with open("old.tar", "w", encoding="ascii") as file:
        file.write("old")
    extant("export", "-f", "old.tar", "no.img", ok=(2,))
    with open("old.tar", encoding="ascii") as file:
        expect(file.read() == "old", "it was emptied")


def test_export_huge_hole_and_little_memory():
    def large(top):
        os.truncate(f"{top}/hole", 1 << 42)
        with open(f"{top}/solid", "wb") as file:
            for _ in range(150):
                file.write(os.urandom(1 << 20))

    image = filled_image("image.img", 400 << 20, hook=large)
    archive, _ = export(image)
    expect(os.stat(archive).st_size < 200 << 20, "the hole is in it")
    with tarfile.open(archive) as members:
        expect(members.getmember("hole").size == 1 << 42, "a wrong size")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    expect(peak < 400 << 10, f"it takes {peak} KiB")


def test_export_damaged_is_named():
    image = mke2fs("damaged.img", 16 << 20, "-t", "ext2", "-b", "1024")
    for name in ("bad", "good"):
        with open(name, "wb") as file:
            file.write(name.encode() * 5000)
    debugfs(image, "write bad bad", "write good good", "link bad zlost",
            "sif bad links_count 2", "sif bad block[3] 99999999")
    archive, said = export(image, ok=(1,))
    expect("bad: damaged" in said and "zlost: damaged" in said, said)
    with tarfile.open(archive) as members:
        names = members.getnames()
    expect(names == [".", "good", "lost+found"], f"{names}")
    run("tar", "-xf", archive, "good")


def test_export_full_disk_is_told():
    image = filled_image("image.img", 128 << 20, hook=more)
    os.mkdir("small")
    run("mount", "-t", "tmpfs", "-o", "size=3m", "none", "small")
    try:
        done = extant("export", "-f", "small/x.tar", image, ok=(2,))
        expect("No space left" in done.stderr, done.stderr)
    finally:
        run("umount", "small")


def test_export_reader_that_leaves():
    image = filled_image("image.img", 128 << 20, hook=more)
    # pylint: disable=consider-using-with
    process = subprocess.Popen([EXTANT, "export", image],
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    process.stdout.read(5000)
    process.stdout.close()
    status = process.wait(timeout=60)
    expect(status != 0, "it is content")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
