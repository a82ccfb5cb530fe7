#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`extant info` against dumpe2fs and blkid."""

import calendar
import os
import time

import tool_judge
from tool_judge import as_json, differs, expect, judge, run

# Ours, dumpe2fs's.
NUMBERS = {
    "inodes": "Inode count",
    "blocks": "Block count",
    "reserved_blocks": "Reserved block count",
    "overhead_clusters": "Overhead clusters",
    "free_blocks": "Free blocks",
    "free_inodes": "Free inodes",
    "first_block": "First block",
    "block_bytes": "Block size",
    "descriptor_bytes": "Group descriptor size",
    "reserved_descriptor_blocks": "Reserved GDT blocks",
    "blocks_per_group": "Blocks per group",
    "inodes_per_group": "Inodes per group",
    "raid_stride": "RAID stride",
    "raid_stripe_width": "RAID stripe width",
    "groups_per_flex": "Flex block group size",
    "mounts": "Mount count",
    "mounts_max": "Maximum mount count",
    "first_inode": "First inode",
    "inode_bytes": "Inode size",
    "extra_inode_bytes_min": "Required extra isize",
    "extra_inode_bytes_want": "Desired extra isize",
    "first_orphan": "First orphan inode",
    "orphan_file": "Orphan file inode",
    "user_quota_inode": "User quota inode",
    "group_quota_inode": "Group quota inode",
    "project_quota_inode": "Project quota inode",
    "mmp_block": "MMP block number",
    "errors_noted": "FS Error count",
}
TEXTS = {
    "last_mounted_on": "Last mounted on",
    "uuid": "Filesystem UUID",
    "creator": "Filesystem OS type",
    "hash": "Default directory hash",
    "hash_seed": "Directory Hash Seed",
    "mount_options": "Mount options",
    "checksum": "Checksum",
    "checksum_seed": "Checksum seed",
}
TIMES = {
    "created": "Filesystem created",
    "mounted": "Last mount time",
    "written": "Last write time",
    "checked": "Last checked",
}
ACTIONS = {"Continue": "continue", "Remount read-only": "remount-ro",
           "Panic": "panic"}
NONE = ("<none>", "<not available>", "(none)")


def seconds(text):
    if text == "n/a":
        return 0
    return calendar.timegm(time.strptime(text, "%a %b %d %H:%M:%S %Y"))


def judge_super(ours, theirs):
    for key, field in NUMBERS.items():
        if field in theirs:
            differs(key, ours[key], int(theirs[field].split()[0]))
    for key, field in TEXTS.items():
        if field not in theirs or theirs[field] in NONE:
            expect(not ours.get(key, "").strip("0-"), f"{key}: {ours.get(key)}")
        elif ours["revision"] > 0 or key in ours:
            differs(key, ours[key], theirs[field])
    for key, field in TIMES.items():
        if field in theirs:
            differs(key, ours[key], seconds(theirs[field]))
    label = theirs["Filesystem volume name"]
    differs("label", ours["label"], "" if label in NONE else label)
    differs("features", sorted(ours["features"]), sorted(
        word for word in theirs["Filesystem features"].split()
        if word not in NONE))
    differs("default_mount_options",
            sorted(ours["default_mount_options"]), sorted(
                word for word in theirs["Default mount options"].split()
                if word not in NONE))
    differs("on_error", ours["on_error"], ACTIONS[theirs["Errors behavior"]])
    differs("reserved_uid", ours["reserved_uid"],
            int(theirs["Reserved blocks uid"].split()[0]))
    differs("check_interval_seconds", ours["check_interval_seconds"],
            int(theirs["Check interval"].split()[0]))
    differs("revision", ours["revision"],
            int(theirs["Filesystem revision #"].split()[0]))
    state = theirs["Filesystem state"]
    differs("clean", "clean" in ours["state"], not state.startswith("not"))
    differs("errors", "errors" in ours["state"], "with errors" in state)
    if "Cluster size" in theirs:
        differs("cluster_bytes", ours["cluster_bytes"],
                int(theirs["Cluster size"]))
    differs("checksums", ours["checksums"] == "crc32c",
            theirs.get("Checksum type") == "crc32c")


def judge_journal(ours, theirs):
    differs("has a journal", "journal" in ours,
            "has_journal" in theirs["Filesystem features"])
    if "Total journal blocks" not in theirs:
        return
    differs("journal inode", ours["journal"]["inode"],
            int(theirs["Journal inode"]))
    differs("journal blocks", ours["journal"]["blocks"],
            int(theirs["Total journal blocks"]))
    differs("start", ours["journal"]["start"], int(theirs["Journal start"]))
    differs("sequence", ours["journal"]["sequence"],
            int(theirs["Journal sequence"], 16))
    differs("dirty", ours["journal"]["dirty"], theirs["Journal start"] != "0")
    if "fast_commit" in theirs["Journal features"]:
        differs("fast commits", ours["journal"]["fast_commit_blocks"],
                int(theirs["Fast commit length"]))
    names = {"journal_64bit": "64bit", "journal_incompat_revoke": "revoke",
             "journal_checksum_v2": "checksum_v2",
             "journal_checksum_v3": "checksum_v3",
             "journal_checksum": "checksum", "fast_commit": "fast_commit",
             "journal_async_commit": "async_commit"}
    differs("journal features", sorted(ours["journal"]["compat"] +
                                       ours["journal"]["incompat"]),
            sorted(names[word] for word in theirs["Journal features"].split()
                   if word in names))


def judge_image(image):
    ours, theirs = as_json("info", "--json", image), judge.super_fields(image)
    judge_super(ours, theirs)
    judge_journal(ours, theirs)
    kind = run("blkid", "-p", "-o", "value", "-s", "TYPE", image).stdout
    differs("kind", ours["kind"], kind.strip())
    text = judge.extant("info", image).stdout
    expect(ours["uuid"] in text, "the text has no uuid")
    return ours


def made(*options, size=64 << 20):
    def case():
        judge.mke2fs("fs.img", size, *options)
        judge_image("fs.img")
    return case


def looked_after():
    """What tune2fs and the kernel leave."""
    judge.mke2fs("fs.img", 64 << 20, "-t", "ext4", "-L", "a label of 16 by")
    run("tune2fs", "-c", "30", "-i", "180d", "-C", "7", "-r", "100", "-u",
        "5", "-e", "remount-ro", "-M", "/mnt/some where", "-o",
        "journal_data,acl", "-E", "mount_opts=nodelalloc,hash_alg=tea",
        "-T", "20380120000000", "fs.img")
    judge.debugfs("fs.img", "ssv error_count 3",
                  "ssv first_error_time 20210304050607",
                  "ssv first_error_func ext4_some_function",
                  "ssv first_error_line 77", "ssv first_error_ino 12",
                  "ssv first_error_block 1234", "ssv state 2")
    ours = judge_image("fs.img")
    differs("label", ours["label"], "a label of 16 by")
    first = ours["first_error"]
    differs("first error", (first["function"], first["line"], first["inode"],
                            first["block"], first["time"]),
            ("ext4_some_function", 77, 12, 1234, seconds(
                "Thu Mar 04 05:06:07 2021")))


def dirty():
    judge.mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", "1024")
    with open("block", "wb") as file:
        file.write(b"x" * 1024)
    judge.debugfs("fs.img", "jo", "jw -b 40000 block", "jc")
    ours = judge_image("fs.img")
    expect(ours["needs_recovery"] and ours["journal"]["dirty"], "not dirty")


def outside():
    """A journal on a device of its own, from both sides."""
    judge.mke2fs("log.img", 8 << 20, "-O", "journal_dev", "-b", "1024", "-L",
                 "the log")
    judge.make_file("fs.img", 16 << 20)
    loop = None
    tool_judge.need_root()
    try:
        loop = run("losetup", "-f", "--show", "log.img").stdout.strip()
        run("mke2fs", "-q", "-F", "-b", "1024", "-J", f"device={loop}",
            "fs.img")
    finally:
        if loop:
            run("losetup", "-d", loop)
    log, fs = judge.super_fields("log.img"), judge.super_fields("fs.img")
    ours = as_json("info", "--json", "log.img")
    differs("kind", ours["kind"], "journal")
    differs("label", ours["label"], "the log")
    differs("uuid", ours["uuid"], log["Filesystem UUID"])
    differs("blocks", ours["blocks"], int(log["Block count"]))
    differs("users", ours["journal"]["users"], len(log["Journal users"].split()))
    ours = as_json("info", "--json", "fs.img")
    differs("device", ours["journal"]["device_uuid"], fs["Journal UUID"])
    expect("problem" in ours["journal"], "found a journal that is not there")
    ours = as_json("info", "--json", "--journal", "log.img", "fs.img")
    differs("length", ours["journal"]["blocks"],
            int(log["Total journal blocks"]))


def copies():
    """A damaged superblock: a copy, and it is said so."""
    judge.mke2fs("fs.img", 64 << 20, "-t", "ext4", "-b", "1024", "-L", "copy")
    with open("fs.img", "r+b") as file:
        file.seek(1024)
        file.write(b"\xff" * 1024)
    done = judge.extant("info", "--json", "fs.img")
    expect("using the copy in block 8193" in done.stderr, done.stderr)
    theirs = run("dumpe2fs", "-h", "-o", "superblock=24577", "-o",
                 "blocksize=1024", "fs.img").stdout
    ours = as_json("info", "--json", "--superblock", "24577", "fs.img")
    expect(ours["uuid"] in theirs and ours["superblock"] == 24577, "not it")


def strange_feature():
    judge.mke2fs("fs.img", 16 << 20, "-t", "ext2", "-b", "1024", "-O", "none")
    with open("fs.img", "r+b") as file:
        file.seek(1024 + 0x60)
        file.write(bytes([0, 0, 0, 0x80]))
    ours = as_json("info", "--json", "fs.img")
    differs("features", ours["features"], ["incompat_bit_31"])
    expect("incompatible" in ours["problem"], "no problem")


def disk():
    judge.mke2fs("fs.img", 8 << 20, "-t", "ext4", "-L", "inside")
    tool_judge.sfdisk("disk.img", 32 << 20,
                      "label: gpt\nstart=2048, size=16384, name=root\n")
    tool_judge.put_at("disk.img", "fs.img", 2048 * 512)
    ours = as_json("info", "--json", "disk.img")
    differs("kind", ours["kind"], "disk")
    differs("holds", [(p["holds"], p["label"]) for p in ours["partitions"]],
            [("ext4", "inside")])
    text = judge.extant("info", "disk.img").stdout
    expect("partitions" in text and "inside" in text, text)
    differs("inside", as_json("info", "--json", "disk.img#1")["label"],
            "inside")


def refusals():
    tool_judge.refused("info", "none.img", words=["none.img"])
    judge.make_file("zero.img", 1 << 20)
    tool_judge.refused("info", "zero.img", words=["zero.img", "magic"])
    with open("xfs.img", "wb") as file:
        file.write(b"XFSB" + bytes(1 << 20))
    tool_judge.refused("info", "xfs.img", words=["XFS"])
    tool_judge.refused("info", words=["no IMAGE"])
    tool_judge.refused("info", "--bad", "zero.img", words=["--bad"])


def feature_matrix():
    for image in tool_judge.matrix():
        ours, theirs = as_json("info", "--json", image), \
            judge.super_fields(image)
        try:
            judge_super(ours, theirs)
            judge_journal(ours, theirs)
        except judge.Failure as why:
            raise judge.Failure(f"{image}: {why}") from why


EXT4 = ("-t", "ext4")

if __name__ == "__main__":
    judge.main([
        ("ext2", made("-t", "ext2")),
        ("ext2-revision-0", made("-t", "ext2", "-r", "0", size=8 << 20)),
        ("ext3", made("-t", "ext3")),
        ("ext4", made(*EXT4)),
        ("ext4-64k", made(*EXT4, "-b", "65536", size=1 << 30)),
        ("no-journal", made(*EXT4, "-O", "^has_journal")),
        ("bigalloc", made(*EXT4, "-O", "bigalloc")),
        ("meta-bg", made(*EXT4, "-O", "meta_bg,^resize_inode")),
        ("crc16", made(*EXT4, "-O", "^metadata_csum,uninit_bg")),
        ("raid", made(*EXT4, "-E", "stride=16,stripe-width=64")),
        ("quota", made(*EXT4, "-O", "quota,project")),
        ("orphan-file", made(*EXT4, "-O", "orphan_file")),
        ("seed", made(*EXT4, "-O", "metadata_csum_seed")),
        ("mmp", made(*EXT4, "-O", "mmp")),
        ("fast-commit", made(*EXT4, "-O", "fast_commit")),
        ("casefold", made(*EXT4, "-O", "casefold,encrypt,verity")),
        ("small-inodes", made(*EXT4, "-I", "128")),
        ("looked-after", looked_after),
        ("dirty", dirty),
        ("outside", outside),
        ("copies", copies),
        ("strange-feature", strange_feature),
        ("disk", disk),
        ("refusals", refusals),
        ("feature-matrix", feature_matrix),
    ])
