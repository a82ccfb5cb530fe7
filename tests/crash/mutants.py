#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mutants.py BUILD [NAME...]: break the journal on purpose; the proof notices.

Each mutant changes a line or two.  The changed files alone are compiled, into
a folder that is thrown away, and linked before the library, whose own objects
of the same name then stay out.  The crash proof must turn red with every
mutant, by its own verdict about a recovered state (a failed assertion does not
count), and stay green with none.

Output is TAP.  A mutant whose text is no longer in the source fails: it needs
to be told what became of it.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

STATES = "2500"
SECONDS = 60

# Assertions would notice some mutants before the proof can.
QUIET_RECORD = (
    "lib/jnl/record.c",
    """	ASSERT(jb->frozen != NULL || jb->folded ||
		atomic_load(&jb->stamp) == stamp);
""",
    "",
)

# Name, configuration, and the edits: file, what is there, what is put there.
MUTANTS = [
    ("none", "k1-none", []),
    ("none-external", "k1-external", []),
    (
        "no-barrier-before-commit-block",
        "k1-none",
        [(
            "lib/jnl/record.c",
            """		err = blk_flush(j->log_dev);
	if (err == 0)
		err = scribe_commit""",
            """		err = 0;
	if (err == 0)
		err = scribe_commit""",
        )],
    ),
    (
        "no-barrier-after-commit-block",
        "k1-v3",
        [(
            "lib/jnl/record.c",
            """		err = blk_flush(j->log_dev);
	haul->log_blocks""",
            """		err = 0;
	haul->log_blocks""",
        )],
    ),
    (
        "no-data-barrier-with-external-log",
        "k1-external",
        [(
            "lib/jnl/record.c",
            "		err = blk_flush(j->home_dev);\n	if (err == 0)",
            "		err = 0;\n	if (err == 0)",
        )],
    ),
    (
        "log-writes-not-waited-for",
        "k1-none-late",
        [(
            "lib/jnl/record.c",
            """	err = jnl_stream_wait(&j->stream);
	/* The barrier before""",
            """	err = blk_flush(j->log_dev);
	if (err == 0)
		err = jnl_stream_wait(&j->stream);
	/* The barrier before""",
        ), (
            "lib/jnl/record.c",
            """		err = blk_flush(j->log_dev);
	if (err == 0)
		err = scribe_commit""",
            """		err = 0;
	if (err == 0)
		err = scribe_commit""",
        )],
    ),
    (
        "no-barrier-after-home-writes",
        "k1-tiny-log",
        [(
            "lib/jnl/home.c",
            "	err = blk_flush(j->home_dev);\n	if (err == 0)\n"
            "		err = jnl_superblock_store(j, start, sequence);",
            "	err = jnl_superblock_store(j, start, sequence);",
        )],
    ),
    (
        "no-barrier-after-home-writes-external",
        "k1-external",
        [(
            "lib/jnl/home.c",
            "	err = blk_flush(j->home_dev);\n	if (err == 0)\n"
            "		err = jnl_superblock_store(j, start, sequence);",
            "	err = jnl_superblock_store(j, start, sequence);",
        )],
    ),
    (
        "space-reused-before-tail-is-flushed",
        "k1-full-log",
        [(
            "lib/jnl/superblock.c",
            "	return err == 0 ? blk_flush(j->log_dev) : err;",
            "	return err;",
        )],
    ),
    (
        "revokes-not-written",
        "k1-v3-timer",
        [("lib/jnl/record.c", "	scribe_revokes(&s);\n", "")],
    ),
    (
        "revokes-not-applied",
        "k1-v3-timer",
        [(
            "lib/jnl/replay.c",
            "				copy->log = 0;",
            "				(void)0;",
        )],
    ),
    (
        "recreated-block-revoked",
        "k1-none",
        [(
            "lib/jnl/commit.c",
            "		if ((b < haul->count &&\n"
            "			    haul->logged[b].block == freed->block) ||\n"
            "			(kept > 0 &&",
            "		if ((kept > 0 &&",
        ), QUIET_RECORD],
    ),
    (
        "freed-block-handed-out-at-once",
        "k1-none",
        [(
            "tests/crash/model.c",
            "		return kind == MODEL_FREE && !block_is_dying(m, b);",
            "		return kind == MODEL_FREE;",
        ), QUIET_RECORD],
    ),
    (
        "frees-told-before-the-commit",
        "k1-none",
        [(
            "lib/jnl/commit.c",
            "	if (err == 0)\n		err = commit_record(j, haul);",
            "	j->client->committed(j->client_arg, (jnl_tid)haul->stamp);\n"
            "	if (err == 0)\n		err = commit_record(j, haul);",
        ), QUIET_RECORD],
    ),
    (
        "freed-block-off-the-lists-at-once",
        "k1-tiny-log",
        [(
            "lib/jnl/block.c",
            "	freed_push(op, freed);\n",
            "	if (b != NULL) {\n		mtx_lock(&op->jnl->lock);\n"
            "		jnl_home_drop_locked(op->jnl, b);\n"
            "		mtx_unlock(&op->jnl->lock);\n	}\n"
            "	freed_push(op, freed);\n",
        )],
    ),
    (
        "freed-block-stays-on-the-lists",
        "k1-none-late",
        [("lib/jnl/release.c",
          "			jnl_home_drop_locked(j, freed->buf);\n",
          "			(void)0;\n")],
    ),
    (
        "freed-block-handed-out-beside-its-home-write",
        "k1-none-late",
        [(
            "lib/jnl/release.c",
            "		if ((*end)->buf != NULL && "
            "jnl_buf_of((*end)->buf)->going_home)\n"
            "			return false;\n",
            "		(void)0;\n",
        ), (
            "lib/jnl/release.c",
            "		(void)!cache_forget(j->cache, block);\n",
            "		(void)block;\n",
        )],
    ),
    (
        "no-frozen-copies",
        "k1-none",
        [("lib/jnl/block.c", "	if (wanted)\n", "	if (false && wanted)\n"),
         QUIET_RECORD],
    ),
    (
        "ordered-data-not-waited-for",
        "k1-none-late",
        [("lib/jnl/commit.c",
          "	jnl_txn_wait_ordered(j, haul->stamp);\n", "")],
    ),
    (
        "newer-owners-ignored",
        "k1-tiny-log",
        [(
            "lib/jnl/home.c",
            "	return atomic_load(&jnl_buf_of(b)->stamp) <= "
            "atomic_load(&j->committed);",
            "	(void)j;\n	(void)b;\n	return true;",
        )],
    ),
    (
        "newer-versions-not-owed",
        "k1-full-log",
        [(
            "lib/jnl/home.c",
            " &&\n			jb->done->stamp <= batch->limit) {",
            ") {",
        )],
    ),
    (
        "wait-only-asks",
        "k1-none",
        [(
            "lib/jnl/wait.c",
            "	if (wait_is_vain(j, stamp))\n		return 0;\n"
            "	atomic_fetch_add(&j->stat_waits, 1);",
            "	jnl_kick(j, tid);\n"
            "	if (wait_is_vain(j, stamp) || tid == (jnl_tid)stamp)\n"
            "		return 0;\n"
            "	atomic_fetch_add(&j->stat_waits, 1);",
        )],
    ),
    (
        "wait-takes-a-gathered-transaction-for-empty",
        "k1-none",
        [(
            "lib/jnl/wait.c",
            "	return atomic_load(&j->gate) == stamp && "
            "jnl_txn_empty(j, stamp) &&\n"
            "	       atomic_load(&j->gate) == stamp;",
            "	struct timespec pause = {0, 500000};\n"
            "	bool open = atomic_load(&j->gate) == stamp;\n"
            "	nanosleep(&pause, NULL);\n"
            "	return open && jnl_txn_empty(j, stamp);",
        ), ("lib/jnl/wait.c", "#include <errno.h>\n",
            "#include <errno.h>\n#include <time.h>\n")],
    ),
    (
        "escapes-not-told",
        "k1-none",
        [("lib/jnl/record.c", "		tag.flags = escape(block);\n",
          "		(void)escape(block);\n		tag.flags = 0;\n")],
    ),
    (
        "recovery-flag-after-the-log",
        "k1-none",
        [(
            "lib/jnl/commit.c",
            "	err = commit_first(j);\n"
            "	return err == 0 ? jnl_record_log(j, haul) : err;",
            "	if (!j->recovery_flagged)\n"
            "		err = jnl_superblock_store(\n"
            "			j, j->head, j->next_sequence);\n"
            "	if (err == 0)\n"
            "		err = jnl_record_log(j, haul);\n"
            "	return err == 0 ? commit_first(j) : err;",
        )],
    ),
    (
        "log-written-while-it-says-empty",
        "k1-none",
        [(
            "lib/jnl/commit.c",
            "	if (err == 0)\n"
            "		err = jnl_superblock_store"
            "(j, j->head, j->next_sequence);\n",
            "",
        )],
    ),
    (
        "recovery-flag-cleared-before-the-log-is-empty",
        "k1-none",
        [(
            "lib/jnl/jnl.c",
            "	err = blk_flush(j->home_dev);\n	if (err == 0)\n"
            "		err = jnl_superblock_store(j, 0, j->next_sequence);",
            "	err = j->client->need_recovery == NULL\n"
            "		      ? 0\n"
            "		      : j->client->need_recovery("
            "j->client_arg, false);\n"
            "	if (err == 0)\n"
            "		err = jnl_superblock_store(j, 0, j->next_sequence);",
        )],
    ),
    (
        "recovery-marks-log-empty-before-home-is-flushed",
        "k1-none",
        [(
            "tests/rig/toy.c",
            "	if (err == 0)\n		err = blk_flush(dev);\n"
            "	if (err == 0)\n		err = jnl_replay_finish",
            "	if (err == 0)\n		err = jnl_replay_finish",
        )],
    ),
]


class Broken(Exception):
    pass


class Build:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        with open(os.path.join(self.folder, "compile_commands.json"),
                  encoding="utf-8") as f:
            self.commands = json.load(f)
        link = subprocess.run(
            ["ninja", "-C", self.folder, "-t", "commands",
             "tests/crash/jnl_crash"],
            check=True, capture_output=True, text=True).stdout
        self.link = shlex.split(link.strip().splitlines()[-1])
        self.root = self.source_of(self.commands[0]).rsplit("/lib/", 1)[0]

    def source_of(self, command):
        return os.path.normpath(
            os.path.join(command["directory"], command["file"]))

    def command(self, file):
        """How @file is compiled for the crash proof."""
        path = os.path.join(self.root, file)
        found = [c for c in self.commands if self.source_of(c) == path]
        mine = [c for c in found if "jnl_crash.p" in c["output"]]
        if not found:
            raise Broken(f"{file} is not compiled here")
        return (mine or found)[0]

    def compile(self, file, text, temp):
        """Compile @text in @file's stead; the objects, old and new."""
        command = self.command(file)
        base = os.path.join(temp, file.replace("/", "_"))
        with open(base, "w", encoding="utf-8") as f:
            f.write(text)
        words = shlex.split(command["command"])
        words[words.index("-o") + 1] = base + ".o"
        words[words.index("-c") + 1] = base
        for flag in ("-MF", "-MQ"):
            words[words.index(flag) + 1] = base + ".d"
        # Its own folder is where it included from.
        words += ["-I", os.path.dirname(os.path.join(self.root, file)),
                  "-Wno-error", "-w"]
        run = subprocess.run(words, cwd=self.folder, capture_output=True,
                             text=True)
        if run.returncode != 0:
            raise Broken(f"{file} does not compile:\n{run.stderr}")
        return command["output"], base + ".o"

    def make(self, edits, temp):
        """The crash proof with @edits."""
        texts = {}
        for file, old, new in edits:
            if file not in texts:
                with open(os.path.join(self.root, file),
                          encoding="utf-8") as f:
                    texts[file] = f.read()
            if texts[file].count(old) != 1:
                raise Broken(f"{file} has {texts[file].count(old)} times:\n{old}")
            texts[file] = texts[file].replace(old, new)
        words = list(self.link)
        program = os.path.join(temp, "jnl_crash")
        words[words.index("-o") + 1] = program
        for file, text in texts.items():
            old, new = self.compile(file, text, temp)
            if old in words:
                words[words.index(old)] = new
            else:
                words.insert(words.index(program) + 1, new)
        run = subprocess.run(words, cwd=self.folder, capture_output=True,
                             text=True)
        if run.returncode != 0:
            raise Broken(f"does not link:\n{run.stderr}")
        return program


def verdict(build, mutant):
    """None if all is as it should be, else what is wrong; and a note."""
    name, config, edits = mutant
    with tempfile.TemporaryDirectory() as temp:
        try:
            program = build.make(edits, temp)
            run = subprocess.run(
                [program, "--config", config, "--states", STATES,
                 "--lives", "6", "--keep", temp],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=SECONDS)
        except Broken as why:
            return str(why), ""
        except subprocess.TimeoutExpired:
            return f"did not end within {SECONDS} s", ""
    output = run.stdout + run.stderr
    note = next((line for line in output.splitlines() if "state seed" in line),
                "")
    if not edits:
        return (None if run.returncode == 0 else output), ""
    if run.returncode == 0:
        return f"survived {config}:\n{output}", ""
    if run.returncode != 1 or not note:
        return f"ended with {run.returncode}, not by a verdict:\n{output}", ""
    return None, note


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    build = Build(arguments[0])
    chosen = [m for m in MUTANTS if not arguments[1:] or m[0] in arguments[1:]]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda m: verdict(build, m), chosen)
        for number, (mutant, result) in enumerate(zip(chosen, results), 1):
            wrong, note = result
            for line in (wrong or note).splitlines():
                print("# " + line)
            print(f"{'not ok' if wrong else 'ok'} {number} - {mutant[0]}",
                  flush=True)
            failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
