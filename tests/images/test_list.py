#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every image of the list: proven, read, judged.

    test_list.py WALK [NAME...]     all of them, or those named
    test_list.py WALK slow          those that take seconds to make
    test_list.py WALK table         the list as docs/testing.md has it
"""

import functools
import os
import re
import sys

import debugfs_view
from catalogue import (DEBUGFS, GROUPS, HEAD, IMAGES, KERNEL, NAMELESS,
                       REPLAYED, SAME)
from judge import (Failure, Mounted, Skip, copy, expect, judge_same, main,
                   ours, run, theirs)

SLOW = {"htree-depth-3", "dir-nlink-overflow"}
DOC = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                   "../../docs/testing.md")


def prove(image, proof):
    answers = []
    for question, pattern in proof:
        if question == SAME:
            found = {re.search(pattern, answer)[1] for answer in answers}
            expect(len(answers) > 1 and len(found) == 1, f"not the same: {found}")
            continue
        if question in (HEAD, GROUPS):
            answer = run(*question.split(), image).stdout
        else:
            answer = run("debugfs", "-R", question, image).stdout
        answers.append(answer)
        wanted = not pattern.startswith("!")
        found = re.search(pattern.lstrip("!"), answer, re.M)
        expect(bool(found) == wanted,
               f"{question}: {'no ' if wanted else ''}{pattern!r} in\n"
               + answer[:3000])


def without_names(lines):
    """The lines of files, by inode, without what takes a key."""
    kept = []
    for line in lines[1:]:
        words = line.split(" ")[1:]
        if words[0] != "entry":
            if words[1].startswith("12"):
                words[5] = "?"  # a symlink's size is that of its target
            kept.append(words[:11] + [w for w in words if "=" in w])
    return sorted(kept)


def replayed(path, options):
    """The kernel's tree of a copy that it has recovered."""
    again = copy(path, "again.img")
    log = [option for option in options if option.startswith("journal=")]
    if log:
        copy("log.img", "again.log")
        loop = run("losetup", "-f", "--show", "again.log").stdout.strip()
    try:
        mount = f"loop,noatime,journal_path={loop}" if log else "loop,noatime"
        with Mounted(again, mount):
            pass
        return theirs(again, mount.replace("loop,", "loop,ro,", 1))
    finally:
        if log:
            run("losetup", "-d", loop)


def judge(image, path):
    before = os.stat(path).st_mtime_ns
    seen, said = ours(path, *image.options)
    expect(os.stat(path).st_mtime_ns == before, "the image was written to")
    expect(re.search(image.says, said) if image.says else not said,
           f"said {said!r}, not {image.says}")
    if image.judge == KERNEL:
        judge_same(seen, theirs(path, image.mount))
    elif image.judge == DEBUGFS:
        judge_same(seen[1:], debugfs_view.tree(path))
    elif image.judge == NAMELESS:
        judge_same(without_names(seen), without_names(theirs(path)))
    elif image.judge == REPLAYED:
        judge_same(seen[1:], replayed(path, image.options)[1:])
    expect(len(seen) >= 5, f"only {len(seen)} lines")


def judge_refusal(image, path):
    _, said = ours(path, *image.options, ok=(2,))
    expect(re.search(image.refuses, said), f"refused with {said!r}")
    try:
        with Mounted(path, "loop,ro"):
            raise Failure("the kernel mounts it")
    except Skip:
        pass


def test_image(image):
    path = image.make()
    prove(path, image.proof)
    try:
        if image.refuses:
            judge_refusal(image, path)
        else:
            judge(image, path)
    except Skip as reason:
        raise Failure(f"no judge: {reason}") from reason


def table():
    yield "| image | holds | judge |"
    yield "| --- | --- | --- |"
    for image in IMAGES:
        who = {KERNEL: "kernel's mount", DEBUGFS: "debugfs",
               NAMELESS: "kernel's mount, but for names",
               REPLAYED: "kernel's mount after its replay"}[image.judge]
        yield (f"| `{image.name}` | {image.holds} | "
               f"{'refused' if image.refuses else who} |")


def test_images_list_is_documented():
    with open(DOC, encoding="utf-8") as file:
        text = file.read()
    expect("\n".join(table()) in text,
           "docs/testing.md has another table of images: "
           "`test_list.py WALK table` prints it")
    names = [image.name for image in IMAGES]
    expect(len(set(names)) == len(names), "a name is used twice")


def tests(arguments):
    chosen = [image for image in IMAGES if image.name in arguments] or [
        image for image in IMAGES
        if (image.name in SLOW) == ("slow" in arguments)]
    for image in chosen:
        test = functools.partial(test_image, image)
        test.__name__ = "test_images_list_" + image.name.replace("-", "_")
        yield test
    if not arguments:
        yield test_images_list_is_documented


if __name__ == "__main__":
    if sys.argv[2:] == ["table"]:
        print("\n".join(table()))
        sys.exit(0)
    sys.exit(main(list(tests(sys.argv[2:]))))
