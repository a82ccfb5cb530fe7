# SPDX-License-Identifier: BSD-2-Clause
"""The list of images: what each holds, how it is made, who proves and judges.

A proof is a question to debugfs, or HEAD for `dumpe2fs -h`, or GROUPS for
`dumpe2fs`, and a pattern that the answer must match (not match, after "!");
SAME says that what the pattern finds is the same in all answers before it.
The judge is the kernel's mount, or debugfs where this kernel cannot mount; an
image that must be refused says with which words.
"""

import collections

from recipes import (at, both, copied, everything, extent_tree, files,
                     kept_beyond, kernel, linked, names, nested, reserved,
                     scattered, subdirectories, timed, unlinked,
                     while_mounted, with_journal_outside, xattrs)

HEAD, GROUPS, SAME = "dumpe2fs -h", "dumpe2fs", "same"
KERNEL, DEBUGFS, REPLAYED, NAMELESS = "kernel", "debugfs", "replayed", "nameless"

Image = collections.namedtuple(
    "Image", "name holds make proof judge says options refuses mount",
    defaults=(KERNEL, None, (), None, "loop,ro,noatime"))

IMAGES = []


def image(*arguments, **named):
    IMAGES.append(Image(*arguments, **named))


def head(pattern):
    return (HEAD, pattern)


def feature(*names_):
    return [head(rf"Filesystem features:.* {name}( |$)") for name in names_]


def lacks(*names_):
    return [head(rf"!Filesystem features:.* {name}( |$)") for name in names_]


def block(size):
    return head(rf"Block size: +{size}$")


MIX = everything()
COPY_MIX = everything(largest=300, far=1 << 24)
PLAIN = "-t ext4 -b 1024 -O ^has_journal "

# ---- revisions, generations, block sizes ----------------------------------------

image("ext2-revision-0", "revision 0, which has no features",
      kernel("-t ext2 -r 0 -b 4096", both(
          names(300), scattered(200, 8192), nested(5))),
      [head(r"revision #: +0 "), ("stat /deep", r"\(IND\)")])
for size in (1024, 2048, 4096):
    image(f"ext2-{size}", f"ext2, blocks of {size}",
          kernel(f"-t ext2 -b {size}", MIX, 48 << 20),
          [head(r"revision #: +1 "), block(size),
           *lacks("has_journal", "extent")])
for size in (1024, 4096):
    image(f"ext3-{size}", f"ext3, blocks of {size}",
          kernel(f"-t ext3 -b {size}", MIX, 48 << 20),
          [*feature("has_journal", "dir_index"), block(size),
           *lacks("extent")])
image("ext4-debian", "mke2fs's defaults on Debian",
      kernel("-t ext4", everything(3000), 48 << 20),
      feature("extent", "64bit", "flex_bg", "metadata_csum"))
image("ext4-upstream", "mke2fs's defaults upstream",
      kernel("-t ext4 -O metadata_csum_seed,orphan_file", MIX),
      feature("extent", "metadata_csum_seed", "orphan_file"))
for size in (1024, 2048):
    image(f"ext4-{size}", f"ext4, blocks of {size}",
          kernel(f"-t ext4 -b {size}", MIX), [block(size), *feature("extent")])
for size in (8192, 16384, 32768, 65536):
    image(f"ext4-{size}", f"ext4, blocks of {size}",
          copied(f"-t ext4 -b {size} -N 2000", COPY_MIX),
          [block(size), *feature("extent")], DEBUGFS)
image("ext2-65536", "block maps in blocks of 64 KiB",
      copied("-t ext2 -b 65536 -N 2000", COPY_MIX),
      [block(65536), ("stat /pieces", r"\(IND\)")], DEBUGFS)
image("ext3-16384", "ext3, blocks of 16 KiB",
      copied("-t ext3 -b 16384 -N 2000", COPY_MIX),
      [block(16384), *feature("has_journal")], DEBUGFS)

# ---- inodes -----------------------------------------------------------------------

for size, blocks in ((128, 4096), (256, 1024), (512, 2048), (1024, 1024),
                     (4096, 4096)):
    image(f"inode-{size}", f"inodes of {size} in blocks of {blocks}",
          kernel(f"-t ext4 -I {size} -b {blocks} -N 512", MIX),
          [head(rf"Inode size:\s+{size}$"), block(blocks)])
image("inode-32768", "inodes of 32 KiB in blocks of 64 KiB",
      copied("-t ext4 -I 32768 -b 65536 -N 256", COPY_MIX),
      [head(r"Inode size:\s+32768$")], DEBUGFS)
image("inode-owners", "owners beyond 16 bits",
      kernel("-t ext4", everything(8)),
      [("stat /d/f", r"User: 100000 +Group: 70000")])
image("inode-huge-file", "a file counted in blocks, not sectors",
      kernel("-t ext4", files(f=[(0, b"f" * 5000)]),
             after=["sif /f flags 0xc0000", "sif /f blocks 2"]),
      [*feature("huge_file"), ("stat /f", r"Flags: 0xc0000\n")])
image("inode-blocks-48", "a count of sectors beyond 32 bits",
      kernel("-t ext4", files(f=[(0, b"f" * 5000)]),
             after=["sif /f blocks 0x123456789"]),
      [("stat /f", r"Blockcount: 4886718345")])
image("inode-large-file", "a file beyond 2 GiB",
      kernel("-t ext2", at(5 << 30)),
      [*feature("large_file"), ("stat /far", r"Size: 53687091\d\d\n")])
image("times-nanoseconds", "times with nanoseconds",
      kernel("-t ext4", timed(1700000000)),
      [("stat /timed", r"mtime: 0x6553f100:1d6f3454")])
image("times-past-2038", "times past 2038, 2106, 2242 and 2310",
      kernel("-t ext4", both(
          timed(4102444800), files(a=[]), everything(8))),
      [("stat /timed", r"mtime: 0xf4865700:[0-9a-f]*[159d] ")])
image("times-past-2310", "times with both extra bits of seconds",
      kernel("-t ext4", timed(12000000000)),
      [("stat /timed", r"mtime: 0x[0-9a-f]{8}:[0-9a-f]*[37bf] ")])
image("times-before-1970", "times before 1970",
      kernel("-t ext4", timed(-631152000)),
      [("stat /timed", r"mtime: 0xda61[0-9a-f]{4}:1d6f3454")])
image("times-seconds-only", "times in inodes of 128 bytes",
      kernel("-t ext4 -I 128", timed(2000000000)),
      [("stat /timed", r"mtime: 0x77359400 --")])

# ---- block maps -------------------------------------------------------------------

image("map-single", "a map with an indirect block",
      kernel("-t ext2 -b 1024", scattered(40, 1024)),
      [("stat /deep", r"\(IND\)"), ("stat /deep", r"!\(DIND\)")])
image("map-double", "a map with double indirect blocks",
      kernel("-t ext2 -b 1024", scattered(400, 10240)),
      [("stat /deep", r"\(DIND\)"), ("stat /deep", r"!\(TIND\)")])
image("map-triple-1024", "a map with triple indirect blocks of 1 KiB",
      kernel("-t ext2 -b 1024", scattered(1500, 81920)),
      [("stat /deep", r"\(TIND\)")])
image("map-triple-4096", "a map with triple indirect blocks of 4 KiB",
      kernel("-t ext2 -b 4096", both(
          scattered(30, 40 << 20, first=5 << 30), at(0, 5 << 30, 100 << 30))),
      [("stat /deep", r"\(TIND\)"), ("stat /far", r"\(TIND\)")])
image("map-holes", "holes of every size in a map",
      kernel("-t ext2 -b 1024", at(20 << 10, 200 << 10, 300 << 10, 70 << 20,
                                   80 << 20, 10 << 30)),
      [("stat /far", r"\(TIND\)"), ("stat /far", r"!\(0\):")])
image("map-beside-extents", "a block map beside extents",
      kernel("-t ext4 -b 1024", MIX, after=[
          "feature -extent", "write fs.img copy", "feature extent"]),
      [*feature("extent"), ("stat /copy", r"\(TIND\)|\(DIND\)")])
for depth in range(6):
    image(f"extents-depth-{depth}", f"an extent tree {depth} deep",
          extent_tree(depth),
          [("dump_extents /deep", rf" {depth}/ {depth} "),
           ("dump_extents /deep", rf"! {depth}/ {depth + 1} ")])
image("extents-depth-2-by-kernel", "thousands of extents, two levels",
      kernel(PLAIN, scattered(6000, 20480)),
      [("dump_extents /deep", r" 2/ 2 .*")])
image("extents-depth-3-65536", "a deep extent tree in blocks of 64 KiB",
      extent_tree(3, options="-t ext4 -b 65536 -N 64", step=3 << 16,
                  large=True),
      [("dump_extents /deep", r" 3/ 3 "), block(65536)], DEBUGFS)
image("extents-unwritten", "allocated and never written",
      kernel(PLAIN, reserved((0, 200000), (1 << 20, 5000))),
      [("dump_extents /reserved", r"Uninit")])
image("extents-half-written", "written in the middle of unwritten ones",
      kernel(PLAIN, reserved((0, 400000), wrote=((50000, 7000), (0, 10),
                                                 (399000, 1000)))),
      [("dump_extents /reserved", r"Uninit(.*\n)+.*\d +\n(.*\n)*.*Uninit")])
image("extents-beyond-end", "blocks kept behind the end",
      kernel(PLAIN, kept_beyond), [("stat /kept", r"Size: 5000\n"),
                                   ("stat /kept", r"-97\[u\]\)")])
image("extents-holes", "holes between extents",
      kernel(PLAIN, at(0, 50000, 1 << 20, 1 << 40)),
      [("dump_extents /far", r"1073741824 - 1073741824")])
image("extents-last-block", "the last block that a map can name",
      kernel("-t ext4 -b 4096 -O ^has_journal", at((1 << 44) - 8192)),
      [("dump_extents /far", r"4294967294 - 4294967294")])
image("extents-longest", "an extent of 32768 blocks, and unwritten of 32767",
      kernel("-t ext4 -b 4096 -O ^has_journal", files(long=[], never=[]),
             800 << 20, after=[
                 "eo /long", "insert_node 0 32768 65536", "ec",
                 f"sif /long size {1 << 27}",
                 "eo /never", "insert_node --uninit 0 32767 131072", "ec",
                 f"sif /never size {1 << 27}"]),
      [("dump_extents /never", r" 32767 Uninit"),
       ("dump_extents /long", r" 32768 ")])

# ---- directories --------------------------------------------------------------------

image("dir-one-block", "a directory of one block, with gaps",
      kernel(PLAIN, MIX), [("stat /dir8", r"Size: 1024\n")])
image("dir-linear", "many blocks without an index",
      kernel(PLAIN + "-O ^dir_index", names(600)),
      [*lacks("dir_index"), ("stat /many", r"Flags: 0x80000\n"),
       ("stat /many", r"Size: [1-9]\d{4}\n")])
image("dir-no-filetype", "entries without a type",
      kernel("-t ext4 -O ^filetype", MIX), lacks("filetype"))
image("dir-filetype", "entries with a type",
      kernel("-t ext2 -O filetype", MIX), feature("filetype"))
image("dir-names-of-255", "the longest names, and bytes of every kind",
      kernel(PLAIN, both(names(30, "{:0>255}"), files(**{
          "\u00e4\u4e16": [], "a b": [], "%=\n\t": [], "\x7f": []}))),
      [("stat /many", r"Flags: 0x81000\n")])
image("dir-nested", "directories a hundred deep",
      kernel(PLAIN, nested(100)),
      [("stat " + "".join(f"/level{i}" for i in range(100)) + "/bottom",
        r"Size: 7\n")])
for version, number in (("legacy", 0), ("half_md4", 1), ("tea", 2)):
    for sign, flag in (("signed", 1), ("unsigned", 2)):
        image(f"htree-{version}-{sign}", f"{version} hashes, {sign} chars",
              kernel(PLAIN, names(400, "a-rather-long-name-\u00e9-{}"),
                     before=(f"ssv def_hash_version {version}",
                             f"ssv flags {flag}")),
              [("htree_dump /many", rf"Hash Version: {number}\n"),
               head(rf"Filesystem flags: +{sign}_directory_hash")])
image("htree-depth-2", "an index of two levels",
      kernel("-t ext4 -b 1024", names(1500, "{:0>200}")),
      [("htree_dump /many", r"Indirect levels: 1\n")])
image("htree-depth-3", "an index of three levels, by large_dir",
      kernel(PLAIN + "-O large_dir", names(40000, "{:0>250}"), 64 << 20),
      [*feature("large_dir"), ("htree_dump /many", r"Indirect levels: 2\n")])
image("htree-65536", "an index in blocks of 64 KiB",
      copied("-t ext4 -b 65536 -N 4000", names(1500, "{:0>200}", links=False),
             check=True),
      [("htree_dump /many", r"Indirect levels: 0\n"), block(65536)], DEBUGFS)
image("dir-nlink-overflow", "more directories than links can count",
      kernel(PLAIN + "-I 256 -N 66000 -O inline_data",
             subdirectories(65010), 64 << 20),
      [*feature("dir_nlink"), ("stat /many", r"Links: 1 ")])

# ---- inline data ----------------------------------------------------------------------

INLINE = "-t ext4 -b 1024 -I 256 -O inline_data "
image("inline-file", "a file inside its inode",
      kernel(INLINE, files(f=[(0, b"x" * 50)])),
      [("stat /f", r"Size of inline data: 60\n"),
       ("stat /f", r"Flags: 0x10000000\n")])
image("inline-file-in-xattr", "a file with its end in the attribute",
      kernel(INLINE, files(f=[(0, bytes(range(120)))])),
      [("stat /f", r"Size of inline data: 120\n")])
image("inline-directory", "a directory inside its inode",
      kernel(INLINE, names(2, "n{}")),
      [("stat /many", r"Size of inline data: 60\n")])
image("inline-directory-in-xattr", "a directory with its end in the attribute",
      kernel(INLINE, names(6, "name{}")),
      [("stat /many", r"Size of inline data: 1\d\d\n"),
       ("stat /many", r"Flags: 0x10000000\n")])
image("inline-symlink", "a slow symlink inside its inode",
      copied(INLINE, linked("z" * 100)),
      [("stat /link", r"system.data \(40\)\n")])
image("inline-large-inodes", "much inside inodes of 1 KiB",
      kernel("-t ext4 -b 1024 -I 1024 -N 512 -O inline_data",
             both(MIX, files(f=[(0, bytes(range(200)) * 4)]))),
      [("stat /f", r"Size of inline data: 800\n")])
image("inline-65536", "inline data with blocks of 64 KiB",
      copied("-t ext4 -b 65536 -I 512 -N 512 -O inline_data", COPY_MIX),
      [("stat /small", r"Size of inline data: 1\d\d\n"), block(65536)],
      DEBUGFS)

# ---- attributes -------------------------------------------------------------------------

image("xattr-in-inode", "attributes in the inode",
      kernel("-t ext4", xattrs(a=b"hello", none=b"")),
      [("stat /f", r"File ACL: 0\n"), ("stat /f", r'user.a \(5\) = "hello"')])
image("xattr-in-block", "attributes in a block",
      kernel("-t ext4", xattrs(a=b"hello", large=600)),
      [("stat /f", r"File ACL: [1-9]"), ("ea_list /f", r"user.large \(600\)")])
image("xattr-shared-block", "two files with one block of attributes",
      kernel("-t ext4 -I 128 -O ^has_journal", both(
          xattrs("one", a=500), xattrs("two", a=500))),
      [("stat /one", r"File ACL: [1-9]"), ("stat /two", r"File ACL: [1-9]"),
       (SAME, r"File ACL: (\d+)")])
image("xattr-inode", "a value in an inode of its own",
      kernel("-t ext4 -O ea_inode", xattrs(a=20000, b=b"b", c=2500)),
      [*feature("ea_inode"), ("ea_list /f", r"user.a \(20000\)"),
       ("ls -p <2>", r"/f/"), ("stat <13>", r"Flags: 0x280000\n")])
image("xattr-65536", "attributes in blocks of 64 KiB",
      copied("-t ext4 -b 65536 -N 64", xattrs(a=b"hello", large=1200)),
      [("stat /f", r"File ACL: [1-9]"), block(65536)], DEBUGFS)
image("xattr-namespaces", "attributes of users, root and security",
      kernel("-t ext4", MIX),
      [("ea_list /big", r"trusted.t \(2\)"), ("ea_list /d", r"security.s "),
       ("ea_list /d/f", r"user.a ")])
image("acl-access", "an access control list",
      kernel("-t ext4", MIX),
      [("ea_list /d/f", r"system.posix_acl_access \(\d+\)")])
image("acl-default", "a default access control list",
      kernel("-t ext4 -I 128", MIX),
      [("ea_list /d", r"system.posix_acl_default \(\d+\)")])

# ---- symlinks and special files -----------------------------------------------------------

image("symlink-fast", "symlinks inside the inode, up to 59 bytes",
      kernel("-t ext4", MIX),
      [("stat /longest-fast", r'Fast link dest: "x{59}"')])
image("symlink-slow", "symlinks of 60 bytes and more, in blocks",
      kernel("-t ext4", MIX),
      [("stat /shortest-slow", r"EXTENTS:\n\(0\):"),
       ("stat /slow", r"Size: 900\n")])
image("symlink-slow-map", "slow symlinks by a block map",
      kernel("-t ext2", MIX), [("stat /slow", r"BLOCKS:\n\(0\):")])
image("devices-16", "devices with small numbers",
      kernel("-t ext4", MIX),
      [("stat /null", r"\nDevice major/minor number: 01:03")])
image("devices-32", "devices with large numbers",
      kernel("-t ext4", MIX),
      [("stat /disk", r"\(New-style\) Device major/minor number: 259:70000")])
image("fifo-and-socket", "fifos and sockets",
      kernel("-t ext4", MIX),
      [("stat /fifo", r"Type: FIFO"), ("stat /sock", r"Type: socket")])

# ---- groups, descriptors, checksums ---------------------------------------------------------

SMALL = "-t ext4 -b 1024 -g 1024 -O ^has_journal,^resize_inode,"
image("descriptors-32", "descriptors of 32 bytes",
      kernel("-t ext4 -O ^64bit", MIX), lacks("64bit"))
image("descriptors-64", "descriptors of 64 bytes",
      kernel("-t ext4 -O 64bit", MIX),
      [*feature("64bit"), head(r"Group descriptor size: +64$")])
image("blocks-beyond-32-bits", "a file in a block beyond 2^32",
      kernel("-t ext4 -O bigalloc,^has_journal,^resize_inode -C 1048576 "
             "-N 30000", both(MIX, files(beyond=[])), 30 << 40, after=[
                 "eo /beyond", "insert_node 0 1 5000000000", "ec",
                 "sif /beyond size 4096", "zap_block -p 0x62 5000000000"]),
      [head(r"Block count: +8\d{9}$"),
       ("stat /beyond", r"^\(0\):5000000000$")])
image("flex-bg", "metadata of many groups together",
      kernel(SMALL + "flex_bg -G 8", MIX),
      [*feature("flex_bg"), head(r"Flex block group size: +8$")])
image("no-flex-bg", "each group's metadata inside it",
      kernel(SMALL + "^flex_bg", MIX), lacks("flex_bg"))
image("meta-bg", "descriptors in meta groups",
      kernel(SMALL + "meta_bg", MIX),
      [*feature("meta_bg"), (GROUPS, r"Group 16: .*\n(.*\n)*?.*Group desc")])
image("meta-bg-65536", "meta groups in blocks of 64 KiB",
      copied("-t ext4 -b 65536 -O meta_bg,^resize_inode -N 2000", COPY_MIX),
      [*feature("meta_bg"), block(65536)], DEBUGFS)
image("resize-inode", "room for more descriptors",
      kernel("-t ext4 -b 1024", MIX),
      [*feature("resize_inode"), head(r"Reserved GDT blocks: +[1-9]")])
image("sparse-super", "copies of the superblock in few groups",
      kernel(SMALL + "sparse_super", MIX),
      [*feature("sparse_super"), (GROUPS, r"Backup superblock at 9217,"),
       (GROUPS, r"!Backup superblock at 2049,")])
image("every-super", "copies of the superblock in every group",
      kernel(SMALL + "^sparse_super", MIX),
      [*lacks("sparse_super"), (GROUPS, r"Backup superblock at 2049,")])
image("sparse-super2", "copies of the superblock in two groups",
      kernel(SMALL + "sparse_super2", MIX),
      [*feature("sparse_super2"), (GROUPS, r"Backup superblock at 1025,"),
       (GROUPS, r"!Backup superblock at 9217,")])
image("gdt-csum", "descriptors with checksums of 16 bits",
      kernel("-t ext4 -b 1024 -O ^metadata_csum,uninit_bg", MIX, 48 << 20),
      [*feature("uninit_bg"), (GROUPS, r"Group 1: .* csum 0x[0-9a-f]{4}"),
       (GROUPS, r"BLOCK_UNINIT|INODE_UNINIT")])
image("no-checksums", "no checksums at all",
      kernel("-t ext4 -O ^metadata_csum,^uninit_bg", MIX),
      lacks("metadata_csum", "uninit_bg"))
image("metadata-csum", "checksums seeded by the UUID",
      kernel("-t ext4", MIX),
      [*feature("metadata_csum"), *lacks("metadata_csum_seed")])
image("metadata-csum-seed", "checksums with a seed of their own",
      kernel("-t ext4 -O metadata_csum_seed", MIX, after=[
          "ssv uuid 01234567-89ab-cdef-0123-456789abcdef"]),
      [*feature("metadata_csum_seed"), head(r"Checksum seed: +0x"),
       head(r"UUID: +01234567-89ab")])
image("odd-groups", "groups of odd sizes",
      kernel("-t ext4 -b 1024 -g 2808 -N 1000", MIX),
      [head(r"Blocks per group: +2808$")])
image("bigalloc-4096", "clusters of 64 KiB",
      kernel("-t ext4 -b 4096 -O bigalloc,^resize_inode", MIX, 64 << 20),
      [*feature("bigalloc"), head(r"Cluster size: +65536$")])
image("bigalloc-1024", "clusters of 8 KiB of blocks of 1 KiB",
      kernel("-t ext4 -b 1024 -C 8192 -O bigalloc,^resize_inode", MIX,
             64 << 20),
      [*feature("bigalloc"), head(r"Cluster size: +8192$"), block(1024)])

# ---- orphans, journals ----------------------------------------------------------------------

image("orphan-list", "an inode that is open and has no name",
      while_mounted("-t ext4", MIX, hold=unlinked),
      [("stat <12>", r"Links: 0 "), *feature("needs_recovery")], REPLAYED,
      says=r"applied in memory")
image("orphan-list-clean", "an orphan, and nothing in the journal",
      kernel("-t ext4", COPY_MIX, before=[
          "write /proc/version gone", "unlink gone", "sif <12> links_count 0",
          "ssv last_orphan 12"], after=["ssv last_orphan 12"]),
      [head(r"First orphan inode: +12$")], DEBUGFS)
image("orphan-file", "a file of orphans, in use",
      while_mounted("-t ext4 -O orphan_file", MIX, hold=unlinked),
      [*feature("orphan_file", "needs_recovery"), head(r"Orphan file inode:")],
      REPLAYED, says=r"applied in memory")
image("journal-dirty", "a dirty journal inside",
      while_mounted("-t ext4", everything(300)),
      [*feature("needs_recovery"), ("logdump", r"type 2 \(commit block\)|type")],
      REPLAYED, says=r"applied in memory")
image("journal-dirty-ext3", "a dirty journal by a block map",
      while_mounted("-t ext3 -b 1024", everything(300)),
      [*feature("needs_recovery"), *lacks("extent")],
      REPLAYED, says=r"applied in memory")
image("journal-outside", "a clean journal on another device",
      with_journal_outside(COPY_MIX, dirty=False),
      [head(r"Journal device:"), *lacks("needs_recovery")], DEBUGFS)
image("journal-outside-dirty", "a dirty journal on another device",
      with_journal_outside(everything(300), dirty=True),
      [head(r"Journal device:"), *feature("needs_recovery")],
      REPLAYED, says=r"applied in memory", options=("journal=log.img",))
image("journal-outside-missing", "a dirty journal that is not given",
      with_journal_outside(MIX, dirty=True), feature("needs_recovery"),
      refuses=r"journal is on another device")

# ---- features that are looked at only -----------------------------------------------------------

image("mmp", "protection against mounting twice",
      copied("-t ext4 -O mmp", COPY_MIX), [*feature("mmp"), head(r"MMP block")])
image("quota", "files of quotas",
      copied("-t ext4 -O quota", COPY_MIX),
      [*feature("quota"), head(r"User quota inode: +3$")])
image("project", "files that belong to projects",
      copied("-t ext4 -O project", COPY_MIX, after=[
          "sif /big projid 77", "sif /d projid 4000000000"]),
      [*feature("project"), ("stat /big", r"Project: +77 ")])
image("stable-inodes", "numbers that a resize may not change",
      kernel("-t ext4 -O stable_inodes", MIX), feature("stable_inodes"))
image("read-only", "a file system that nobody may write to",
      kernel("-t ext4", MIX, after=["feature read-only"]),
      feature("read-only"))
image("casefold", "a directory whose names have no case",
      copied("-t ext4 -O casefold,^has_journal", names(3, "Name-{}"),
             after=["mkdir folded", "sif folded flags 0x40080000",
                    "write /proc/version folded/ReadMe"]),
      [*feature("casefold"), ("stat /folded", r"Flags: 0x40080000\n")],
      DEBUGFS)
image("encrypt", "encrypted names, contents and targets",
      kernel("-t ext4 -O encrypt,^has_journal", MIX,
             mount="loop,test_dummy_encryption=v2"),
      [*feature("encrypt"), ("stat <14>", r"Flags: 0x80800")], NAMELESS)
image("verity", "a file with a tree of hashes behind its end",
      copied("-t ext4 -O verity", files(f=[(0, b"seen" * 3000),
                                           (1 << 17, b"hash" * 1000)]),
             after=["sif f size 12000", "sif f flags 0x180000"]),
      [*feature("verity"), ("stat /f", r"Flags: 0x180000\n"),
       ("stat /f", r"\(128-")], DEBUGFS)

# ---- what must be refused, by name -------------------------------------------------------------

for name, bit in (("compression", 0x1), ("dirdata", 0x1000)):
    image(f"refused-{name}", f"feature {name}",
          kernel("-t ext4 -O ^has_journal", after=[
              f"ssv feature_incompat {0x242 | bit:#x}"]),
          [], refuses=rf"feature {name} cannot be read")
image("refused-unknown", "a feature without a name",
      kernel("-t ext4 -O ^has_journal", after=[
          f"ssv feature_incompat {0x40000242:#x}"]),
      [], refuses=r"unknown.*0x40000000")
