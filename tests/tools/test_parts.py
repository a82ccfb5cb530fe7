#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant parts` against sfdisk and blkid."""

import os

import tool_judge
from tool_judge import as_json, differs, expect, judge, run

GPT = """label: gpt
unit: sectors
start=2048, size=16384, name="the root", type=linux
start=18432, size=4096, name="bü t", type=uefi
start=24576, size=20480, type=swap
start=45056, size=8192, type=lvm
"""
MBR = """label: dos
unit: sectors
start=2048, size=16384, type=83, bootable
start=18432, size=40960, type=5
start=59392, size=2048, type=82
start=20480, size=8192, type=83
start=30720, size=4096, type=8e
"""


def judge_table(disk):
    """Ours is sfdisk's; returns ours."""
    ours, theirs = as_json("parts", "--json", disk), \
        tool_judge.table_of(disk)
    scheme = {"dos": "mbr", "gpt": "gpt"}[theirs["label"]]
    differs("scheme", ours["scheme"], scheme)
    differs("count", len(ours["partitions"]), len(theirs["partitions"]))
    unit = theirs["sectorsize"]
    by_number = {int(part["node"][len(disk):].lstrip("p")): part
                 for part in theirs["partitions"]}
    for part in ours["partitions"]:
        other = by_number[part["number"]]
        differs("offset", part["offset"], other["start"] * unit)
        differs("bytes", part["bytes"], other["size"] * unit)
        differs("type", part["type"], other["type"].lower())
        if scheme == "gpt":
            differs("name", part["name"], other.get("name", ""))
            differs("guid", part["guid"], other["uuid"].lower())
        judge_contents(disk, part)
    text = judge.extant("parts", disk).stdout
    expect(len(text.splitlines()) == len(ours["partitions"]) + 2,
           f"the text has other lines: {text}")
    return ours


def judge_contents(disk, part):
    """blkid says the same of what is inside."""
    if part["type_name"] == "extended":
        differs("holds", part["holds"], "")
        return
    done = run("blkid", "-p", "-o", "export", "-O", str(part["offset"]), "-S",
               str(part["bytes"]), disk, ok=(0, 2))
    said = dict(line.split("=", 1) for line in done.stdout.splitlines()
                if "=" in line)
    words = {"LVM2_member": "lvm", "crypto_LUKS": "luks"}
    kind = said.get("TYPE", "")
    differs("holds", part["holds"], words.get(kind, kind))
    if part["holds"].startswith("ext"):
        differs("label", part["label"], said.get("LABEL", ""))
        differs("uuid", part["uuid"], said["UUID"])


def fill(disk):
    """Something different on each partition."""
    for number, part in enumerate(tool_judge.table_of(disk)["partitions"]):
        start, size = part["start"] * 512, part["size"] * 512
        if number % 3 == 0:
            judge.mke2fs("fs.img", size, "-t", f"ext{number % 2 + 3}", "-b",
                         "1024", "-L", f"number-{number}")
        elif number % 3 == 1 and size < 4 << 20:
            judge.make_file("fs.img", size)
            run("mkswap", "fs.img")
        else:
            continue
        tool_judge.put_at(disk, "fs.img", start)


def table(script):
    def case():
        tool_judge.sfdisk("disk.img", 64 << 20, script)
        judge_table("disk.img")
        fill("disk.img")
        ours = judge_table("disk.img")
        kinds = {part["holds"] for part in ours["partitions"]}
        expect(len(kinds) > 1 and any(kind.startswith("ext")
                                      for kind in kinds), f"only {kinds}")
    return case


def primary_lost():
    tool_judge.sfdisk("disk.img", 64 << 20, GPT)
    before = as_json("parts", "--json", "disk.img")
    with open("disk.img", "r+b") as file:
        file.seek(512)
        file.write(b"\xff" * 512)
    done = judge.extant("parts", "--json", "disk.img")
    expect("backup" in done.stderr, f"not a word: {done.stderr}")
    differs("table", as_json("parts", "--json", "disk.img"), before)


def both_lost():
    tool_judge.sfdisk("disk.img", 64 << 20, GPT)
    with open("disk.img", "r+b") as file:
        for offset in (512, (64 << 20) - 512):
            file.seek(offset)
            file.write(b"\xff" * 512)
    done = judge.extant("parts", "disk.img", ok=(2,))
    expect("damaged partition table" in done.stderr, done.stderr)
    expect(done.stdout == "", "printed something")


def no_table():
    judge.mke2fs("fs.img", 8 << 20, "-t", "ext4", "-L", "all of it")
    differs("object", as_json("parts", "--json", "fs.img"),
            {"image": "fs.img", "scheme": "none", "partitions": []})
    text = judge.extant("parts", "fs.img").stdout
    expect("no partition table" in text and "ext4" in text and
           "all of it" in text, text)


def refusals():
    tool_judge.refused("parts", "none.img", words=["none.img"])
    tool_judge.refused("parts", words=["no IMAGE"])
    with open("q.img", "wb") as file:
        file.write(b"QFI\xfb" + bytes(1 << 20))
    tool_judge.refused("parts", "q.img", words=["qcow2"])


if __name__ == "__main__":
    judge.main([
        ("gpt", table(GPT)),
        ("mbr", table(MBR)),
        ("primary-lost", primary_lost),
        ("both-lost", both_lost),
        ("no-table", no_table),
        ("refusals", refusals),
    ])
