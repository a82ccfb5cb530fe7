#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant get`: what it makes is what the kernel's mount shows, and nothing is
made elsewhere."""

import os
import random
import signal
import stat
import sys
import time

from command import (NOBODY, Mounted, Skip, debugfs, expect, expect_same,
                     extant, extant_as_nobody, filled_image, leftovers, main,
                     mke2fs, need_root, replace_bytes, run, spawn, tree)

READ_ONLY = "loop,ro,noatime"
PLAIN = ("-t", "ext4", "-O", "^metadata_csum,^dir_index,^has_journal")


def theirs(image, **options):
    with Mounted(image, READ_ONLY) as top:
        return tree(top, **options)


# ---- copies are the same -------------------------------------------------------


def judge_copy(image, *options):
    extant("get", "--special", *options, image, "/", "out")
    made = tree("out")
    expect(len(made) > 600, f"only {len(made)} files")
    expect_same(made, theirs(image))
    expect(not leftovers("out"), "temporary names are left")


def test_get_filled_tree_is_the_kernels():
    judge_copy(filled_image())


def test_get_with_one_thread_is_the_same():
    judge_copy(filled_image(), "--threads", "1")


def test_get_with_many_threads_is_the_same():
    def more(top):
        rng = random.Random(3)
        with open(f"{top}/large", "wb") as file:
            for i in range(30):
                file.seek(i * (2 << 20) + (i % 3) * 5000)
                file.write(rng.randbytes((1 << 20) + 4096 * (i % 5)))
            file.truncate(70 << 20)
        for i in range(40):
            os.makedirs(f"{top}/deep/{i}/a/b")
            for k in range(40):
                with open(f"{top}/deep/{i}/a/b/{k}", "wb") as file:
                    file.write(rng.randbytes(rng.randrange(9000)))
            os.link(f"{top}/deep/{i}/a/b/7", f"{top}/deep/link{i}")
            os.link(f"{top}/deep/0/a/b/8", f"{top}/deep/{i}/same")

    judge_copy(filled_image("large.img", 256 << 20, "-t", "ext4",
                            "-b", "4096", hook=more),
               "--threads", "8")


def test_get_inline_data_and_ea_inodes_are_the_same():
    judge_copy(filled_image("inline.img", 64 << 20, "-t", "ext4", "-b",
                            "4096", "-I", "512", "-O", "inline_data,ea_inode"))


def test_get_indirect_blocks_are_the_same():
    judge_copy(filled_image("old.img", 64 << 20, "-t", "ext2", "-b", "4096"))


def test_get_huge_hole_takes_no_time_or_space():
    image = filled_image(
        hook=lambda top: os.truncate(f"{top}/hole", 1 << 42))
    begun = time.monotonic()
    extant("get", image, "hole", "out")
    expect(time.monotonic() - begun < 20, "it takes too long")
    st = os.stat("out")
    expect(st.st_size == 1 << 42 and st.st_blocks == 0,
           f"{st.st_size} bytes, {st.st_blocks} blocks")


# ---- what is left out ------------------------------------------------------------


def test_get_without_special_plants_nothing():
    def more(top):
        os.setxattr(f"{top}/tiny", "security.capability",
                    bytes.fromhex("0100000200040000000000000000000000000000"))
        os.chmod(f"{top}/d", 0o2775)

    image = filled_image(hook=more)
    done = extant("get", image, "/", "out")
    expect("null: left out" in done.stderr and "disk: left out" in done.stderr,
           f"devices are not named: {done.stderr}")
    expect("3 set-id bits and capabilities" in done.stderr,
           f"set-id bits are not told: {done.stderr}")
    right = theirs(image)
    for path in ("null", "disk"):
        del right[path]
    for path in right.values():
        path["mode"] = oct(int(path["mode"], 8) & ~0o6000)
        path["xattrs"].pop("security.capability", None)
    expect_same(tree("out"), right)


def test_get_no_owner_no_xattrs():
    image = filled_image()
    extant("get", "--special", "--no-owner", "--no-xattrs", image, "/", "out")
    for path, seen in tree("out").items():
        expect(seen["owner"] == (0, 0), f"{path} has owner {seen['owner']}")
        expect(not seen["xattrs"], f"{path} has attributes")


# ---- who may not much --------------------------------------------------------------


def test_get_as_nobody():
    image = filled_image()
    os.mkdir("theirs")
    os.chown("theirs", NOBODY, NOBODY)
    os.chmod(image, 0o444)
    extant_as_nobody("get", image, "/", "theirs/out")
    right = theirs(image)
    for path in ("null", "disk"):
        del right[path]
    for path in right.values():
        path["owner"] = (NOBODY, NOBODY)
        path["mode"] = oct(int(path["mode"], 8) & ~0o6000)
        path["xattrs"] = {
            name: value for name, value in path["xattrs"].items()
            if name.startswith(("user.", "system."))}
    expect_same(tree("theirs/out"), right)


def test_get_as_nobody_owner_is_refused_by_name():
    image = filled_image()
    os.mkdir("theirs")
    os.chown("theirs", NOBODY, NOBODY)
    os.chmod(image, 0o444)
    done = extant_as_nobody("get", "--owner", image, "tiny", "theirs", ok=(1,))
    expect("tiny: owner: Operation not permitted" in done.stderr, done.stderr)
    expect(os.path.exists("theirs/tiny"), "its contents are not there")


# ---- where it goes -------------------------------------------------------------------


def test_get_destinations():
    image = filled_image()
    os.mkdir("into")
    extant("get", image, "tiny", "into")
    expect(os.listdir("into") == ["tiny"], "a file into a directory")
    extant("get", image, "/d/e/", "dir3", "into")
    expect(sorted(os.listdir("into")) == ["dir3", "e", "tiny"],
           "directories into a directory")
    extant("get", image, "d/", "new")
    expect(sorted(os.listdir("new")) == ["e", "f"], "a directory anew")
    extant("get", image, "tiny", "new-file")
    with open("new-file", "rb") as file:
        expect(file.read() == b"tiny", "a file anew")
    os.mkdir("contents")
    os.chmod("contents", 0o711)
    extant("get", image, "dir3/.", "contents")
    expect(sorted(os.listdir("contents")) == ["name0", "name2"], "contents")
    expect(stat.S_IMODE(os.stat("contents").st_mode) == 0o711,
           "a directory that was there has changed")


def test_get_wrong_destinations():
    image = filled_image()
    done = extant("get", image, "tiny", "d", "missing", ok=(2,))
    expect("missing" in done.stderr, done.stderr)
    done = extant("get", image, "tiny", "missing/deeper", ok=(2,))
    expect("missing" in done.stderr, done.stderr)
    expect(not os.path.exists("missing"), "something was made")
    extant("get", image, "tiny", ok=(2,))
    extant("get", "no.img", "tiny", "x", ok=(2,))
    expect(not os.path.exists("x"), "something was made")


def test_get_missing_path_is_named():
    image = filled_image()
    os.mkdir("out")
    done = extant("get", image, "tiny", "none", "small", "out", ok=(1,))
    expect("none: No such file" in done.stderr, done.stderr)
    expect(sorted(os.listdir("out")) == ["small", "tiny"], os.listdir("out"))


def test_get_into_default_acl():
    """What is made is as it is in the image, whatever DEST would hand down."""
    image = filled_image()
    os.mkdir("out")
    acl = bytes.fromhex("02000000" "01000700ffffffff" "02000700" "d2040000"
                        "04000700ffffffff" "10000700ffffffff"
                        "20000700ffffffff")
    os.setxattr("out", "system.posix_acl_default", acl)
    extant("get", "--special", image, "d", "tiny", "out")
    with Mounted(image, READ_ONLY) as top:
        right = {f"d/{path}".removesuffix("/."): seen
                 for path, seen in tree(f"{top}/d").items()}
    made = tree("out")
    del made["."]
    with Mounted(image, READ_ONLY) as top:
        right["tiny"] = tree(top)["tiny"]
    for seen in list(right.values()) + list(made.values()):
        seen.pop("links", None)
    expect_same(made, right)


# ---- what is there already -------------------------------------------------------------


def test_get_existing_is_kept_without_force():
    image = filled_image()
    os.makedirs("out/d")
    os.chmod("out/d", 0o700)
    with open("out/d/f", "w", encoding="ascii") as file:
        file.write("mine")
    done = extant("get", image, "d", "out", ok=(1,))
    expect("d/f: is there already" in done.stderr, done.stderr)
    with open("out/d/f", encoding="ascii") as file:
        expect(file.read() == "mine", "it was overwritten")
    expect(os.path.isdir("out/d/e"), "the rest is missing")
    expect(stat.S_IMODE(os.stat("out/d").st_mode) == 0o700,
           "a directory that was there has changed")


def test_get_force_replaces():
    image = filled_image()
    os.makedirs("out/d/e")
    with open("outside", "w", encoding="ascii") as file:
        file.write("mine")
    os.symlink("../../outside", "out/d/f")
    os.symlink("nowhere", "out/fast")
    os.link("outside", "out/tiny")
    os.mkdir("out/small")
    done = extant("get", "--force", "--special", image, "/.", "out", ok=(1,))
    expect("small: " in done.stderr and "irectory" in done.stderr, done.stderr)
    with open("outside", encoding="ascii") as file:
        expect(file.read() == "mine", "it was written through a link")
    made, right = tree("out"), theirs(image)
    for path in (".", "small"):
        del made[path], right[path]
    expect_same(made, right)


def test_get_again_with_force_is_the_same():
    image = filled_image()
    extant("get", "--special", image, "/", "out")
    extant("get", "--special", "--force", image, "/.", "out")
    made, right = tree("out"), theirs(image)
    del made["."], right["."]  # whose times were its own to change
    expect_same(made, right)
    expect(not leftovers("out"), "temporary names are left")


# ---- hostile images and destinations ----------------------------------------------------


def outside_is_untouched():
    expect(os.listdir("outside") == ["mine"], f"{os.listdir('outside')}")
    with open("outside/mine", encoding="ascii") as file:
        expect(file.read() == "mine", "a file outside was overwritten")


def make_outside():
    os.mkdir("outside")
    with open("outside/mine", "w", encoding="ascii") as file:
        file.write("mine")


def hostile(*commands):
    """An image made without the kernel, and changed after that."""
    with open("data", "w", encoding="ascii") as file:
        file.write("evil")
    image = mke2fs("hostile.img", 8 << 20, *PLAIN)
    debugfs(image, *commands)
    return image


def test_get_symlink_in_the_place_of_a_directory():
    make_outside()
    image = hostile("mkdir d", "write data d/mine", "write data d/new")
    os.mkdir("out")
    os.symlink("../outside", "out/d")
    for options in ((), ("--force",)):
        done = extant("get", *options, image, "/.", "out", ok=(1,))
        expect("d: Not a directory" in done.stderr, done.stderr)
        outside_is_untouched()
    expect(os.path.islink("out/d"), "the link is gone")


def test_get_names_with_slashes():
    make_outside()
    image = hostile("mkdir d", "write data d/AAAAAAAAAAAAAAA",
                    "write data d/good", "mkdir BBBBBBBBBB",
                    "write data BBBBBBBBBB/new")
    replace_bytes(image, b"AAAAAAAAAAAAAAA", b"../outside/mine")
    replace_bytes(image, b"BBBBBBBBBB", b"../outside")
    os.mkdir("out")
    done = extant("get", "--force", image, "/.", "out", ok=(0, 1))
    expect(done.returncode == 1, "it is not told")
    outside_is_untouched()
    expect(not os.path.exists("mine"), "a file outside was made")


def test_get_absolute_names():
    make_outside()
    where = os.path.abspath("outside") + "/new"
    name = "A" * len(where)
    image = hostile(f"write data {name}")
    replace_bytes(image, name.encode(), where.encode())
    extant("get", image, "/", "out", ok=(1,))
    outside_is_untouched()


def test_get_dots_as_names():
    make_outside()
    image = hostile("mkdir d", "mkdir d/AA", "write data d/AA/mine",
                    "write data d/B", "symlink d/CC ../outside")
    for old, new in ((b"AA\0\0", b"..\0\0"), (b"CC\0\0", b"..\0\0"),
                     (b"\x01\x01B\0\0\0", b"\x01\x01.\0\0\0")):
        replace_bytes(image, old, new)
    extant("get", image, "/", "out", ok=(0, 1))
    outside_is_untouched()
    expect(sorted(os.listdir("out")) == ["d", "lost+found"],
           f"{os.listdir('out')}")


def test_get_file_through_a_symlink_of_the_image():
    """Two entries of one name: a symlink, and a directory with a file."""
    make_outside()
    for link, folder in (("aa", "bb"), ("bb", "aa")):
        run("rm", "-rf", "out", "hostile.img")
        image = hostile(*(f"symlink {link} ../outside" if name == link else
                          f"mkdir {folder}" for name in ("aa", "bb")),
                        f"write data {folder}/mine")
        replace_bytes(image, b"bb\0\0", b"aa\0\0")
        for options in ((), ("--force",)):
            extant("get", *options, image, "/", "out", ok=(0, 1))
            outside_is_untouched()
            run("rm", "-rf", "out")


def test_get_symlinks_that_point_outside_are_not_followed():
    make_outside()
    image = hostile("symlink out ../outside", "symlink abs /etc/passwd",
                    "mkdir d", "symlink d/up ../../outside/mine")
    extant("get", "--force", image, "/", "out")
    expect(os.readlink("out/abs") == "/etc/passwd" and
           os.readlink("out/d/up") == "../../outside/mine", "wrong targets")
    extant("get", "--force", image, "/.", "out")
    outside_is_untouched()


def test_get_directory_with_two_names_ends():
    image = hostile("mkdir a", "mkdir a/b", "write data a/b/f", "link a/b a/c",
                    "link a a/b/loop")
    extant("get", image, "/", "out", ok=(0, 1))
    expect(os.path.exists("out/a/b/f") != os.path.exists("out/a/c/f"),
           "not one of the two")
    expect(not os.path.exists("out/a/b/loop/b"), "it went around")


def test_get_damaged_file_is_named():
    image = mke2fs("damaged.img", 8 << 20, "-t", "ext2", "-b", "1024")
    for name in ("bad", "good"):
        with open(name, "wb") as file:
            file.write(name.encode() * 20000)
    debugfs(image, "write bad bad", "write good good",
            "sif bad block[3] 99999999")
    done = extant("get", image, "/", "out", ok=(1,))
    expect("bad: damaged" in done.stderr, done.stderr)
    expect(sorted(os.listdir("out")) == ["good", "lost+found"],
           f"{os.listdir('out')}")
    run("cmp", "good", "out/good")


# ---- full disks and interruptions ----------------------------------------------------------


def many(count=6000, large=True):
    need_root()
    image = mke2fs("many.img", 128 << 20, "-t", "ext4", "-N", str(count + 999))
    rng = random.Random(5)
    with Mounted(image) as top:
        for i in range(count):
            if i % 100 == 0:
                os.mkdir(f"{top}/{i // 100}")
            with open(f"{top}/{i // 100}/f{i}", "wb") as file:
                file.write(rng.randbytes(rng.randrange(1, 12000)))
        if large:
            with open(f"{top}/large", "wb") as file:
                file.write(rng.randbytes(20 << 20))
    return image


def expect_whole(top, right):
    """Whatever is there under its name has all that it should have."""
    count = 0
    for path, seen in tree(top).items():
        if os.path.basename(path).startswith(".extant-"):
            continue
        if "data" in seen:
            count += 1
            expect(seen["data"] == right[path]["data"], f"{path} is not whole")
    return count


def test_get_full_disk_is_told():
    image = many(large=False)
    os.mkdir("small")
    run("mount", "-t", "tmpfs", "-o", "size=6m", "none", "small")
    try:
        done = extant("get", image, "/", "small/out", ok=(1,))
        expect("No space left" in done.stderr and "stopped" in done.stderr,
               done.stderr)
        expect(len(done.stderr.splitlines()) < 40, "it is told too often")
        expect(not leftovers("small"), "temporary names are left")
        expect(expect_whole("small/out", theirs(image)) > 100,
               "hardly anything is there")
    finally:
        run("umount", "small")


def interrupt(image, number):
    """The status of a run that gets a signal when it has begun to copy."""
    process = spawn("get", "--threads", "2", image, "/", "out")
    while process.poll() is None:
        try:
            if len(os.listdir("out")) > 3:
                process.send_signal(number)
                break
        except FileNotFoundError:
            pass
    said = process.communicate(timeout=60)[1].decode()
    return process.returncode, said


def judge_interrupted(number):
    image = many()
    right = theirs(image)
    for _ in range(10):
        status, said = interrupt(image, number)
        count = expect_whole("out", right)
        if status == -number and count < 6001:
            return said
        expect(status in (0, -number), f"it ends with {status}: {said}")
        run("rm", "-rf", "out")
    raise Skip("it is too fast to be interrupted")


def test_get_interrupted_leaves_nothing_half():
    said = judge_interrupted(signal.SIGINT)
    expect("interrupted" in said, said)
    expect(not leftovers("out"), "temporary names are left")


def test_get_killed_leaves_no_half_file_under_its_name():
    judge_interrupted(signal.SIGKILL)
    expect(len(leftovers("out")) <= 2, "too many temporary names")


if __name__ == "__main__":
    sys.exit(main([value for name, value in list(globals().items())
                   if name.startswith("test_")]))
