#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library as others get it.

`meson install` into an empty folder; then the examples are compiled against
what is there and nothing else, by what pkg-config says, with both compilers,
shared and static, and run on an image.
"""

import os
import re
import shutil
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../journal"))

import judge  # noqa: E402
from judge import expect, run  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PREFIX = "usr/local"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILERS = ("gcc", "clang-14")


class Installed:
    """An installation, made once for all cases."""

    place = None

    @classmethod
    def get(cls):
        if cls.place is None:
            cls.place = cls(os.environ["EXTANT_INSTALL_DIR"])
        return cls.place

    def __init__(self, root):
        self.root = root
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
            "--destdir", root)
        self.lib = os.path.dirname(self.find("libextant.so"))
        self.header = os.path.join(root, PREFIX, "include/extant/extant.h")
        self.pc = os.path.join(self.lib, "pkgconfig")

    def find(self, name):
        for folder, _, names in os.walk(self.root):
            if name in names:
                return os.path.join(folder, name)
        raise judge.Failure(f"{name} is not installed")

    def config(self, *options):
        env = dict(os.environ, PKG_CONFIG_PATH=self.pc,
                   PKG_CONFIG_SYSROOT_DIR=self.root)
        done = subprocess.run(["pkg-config", *options, "extant"], env=env,
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"pkg-config: {done.stderr}")
        return done.stdout.split()


def image():
    """An image and what is in it: {name: contents}."""
    os.makedirs("tree/dir")
    files = {f"file{i}": os.urandom(i * 7001) for i in range(20)}
    for name, data in files.items():
        with open(f"tree/dir/{name}", "wb") as file:
            file.write(data)
    os.mkdir("tree/dir/inner")
    judge.mke2fs("fs.img", 16 << 20, "-t", "ext4", "-d", "tree")
    return files


def start(program, *arguments):
    env = dict(os.environ, LD_LIBRARY_PATH=Installed.get().lib)
    return subprocess.run([program, *arguments], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True)


def check_list(program, files):
    """The example that lists, by what was put in."""
    done = start(program, "fs.img", "/dir")
    expect(done.returncode == 0, f"list: {done.stderr}")
    seen = {name: (int(mode, 8), int(size)) for mode, size, name in
            (line.split() for line in done.stdout.decode().splitlines())}
    expect(set(seen) == set(files) | {".", "..", "inner"}, f"{sorted(seen)}")
    for name, data in files.items():
        expect(seen[name] == (0o100644, len(data)), f"{name}: {seen[name]}")
        done = start(program, "fs.img", f"/dir/{name}")
        expect(done.stdout == data, f"{name}: other contents")
    done = start(program, "fs.img", "/none")
    expect(done.returncode == 1 and b"/none" in done.stderr, "no complaint")
    done = start(program, "none.img", "/")
    expect(done.returncode == 2 and b"none.img" in done.stderr,
           "no complaint about the image")


def check_device(program, files):
    """The example with threads, by zlib's sums."""
    done = start(program, "fs.img", "/dir")
    expect(done.returncode == 0, f"device: {done.stderr}")
    seen = {name: (int(total, 16), int(size)) for total, size, name in
            (line.split() for line in done.stdout.decode().splitlines())}
    expect(seen == {name: (zlib.adler32(data), len(data))
                    for name, data in files.items()}, f"{seen}")


CHECKS = {"list": check_list, "device": check_device}


def example(name, compiler, static):
    def case():
        place = Installed.get()
        files = image()
        if static:
            libs = [word for word in place.config("--static", "--libs")
                    if word != "-lextant"]
            libs.insert(0, os.path.join(place.lib, "libextant.a"))
        else:
            libs = place.config("--libs")
        run(compiler, "-std=c11", "-pedantic", *WARNINGS,
            *place.config("--cflags"),
            os.path.join(TOP, "examples", name + ".c"), "-o", name, *libs,
            "-pthread")
        needed = run("readelf", "-d", name).stdout
        expect(("libextant.so.0" in needed) != static, "linked otherwise")
        CHECKS[name]("./" + name, files)
    return case


def header():
    """It stands alone, in C and in C++, and for a pedant."""
    place = Installed.get()
    with open("use.c", "w", encoding="utf-8") as file:
        file.write("#include <extant/extant.h>\n"
                   "int main(void) { return extant_version() == 0; }\n")
    shutil.copy("use.c", "use.cc")
    flags = [*WARNINGS, "-fsyntax-only", *place.config("--cflags")]
    for compiler in COMPILERS:
        for standard in ("c11", "c17", "gnu17"):
            run(compiler, f"-std={standard}", "-pedantic", *flags, "use.c")
    for compiler in ("g++", "clang++-14"):
        for standard in ("c++11", "c++17", "c++20"):
            run(compiler, f"-std={standard}", *flags, "use.cc")


def declared():
    """The functions of the header."""
    with open(Installed.get().header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    text = re.sub(r"#define[^\n]*(\\\n[^\n]*)*", "", text)
    names = set(re.findall(r"EXTANT_API[^;{]*?\b(extant_\w+)\s*\(", text))
    expect(len(names) > 20, f"only {len(names)} functions")
    return names


def symbols():
    """What is exported is what is declared, by both libraries."""
    place = Installed.get()
    shared = run("nm", "-D", "--defined-only", "--format=posix",
                 os.path.join(place.lib, "libextant.so")).stdout
    seen = {line.split()[0].split("@")[0] for line in shared.splitlines()}
    expect(seen == declared(), f"{sorted(seen ^ declared())}")
    static = run("nm", "--defined-only", "--extern-only", "--format=posix",
                 os.path.join(place.lib, "libextant.a")).stdout
    seen = {line.split()[0] for line in static.splitlines()
            if len(line.split()) > 1}
    expect(seen == declared(), f"static: {sorted(seen ^ declared())}")


def marks():
    """The soname; and it stays, once loaded."""
    place = Installed.get()
    text = run("readelf", "-d", os.path.join(place.lib, "libextant.so")).stdout
    expect("[libextant.so.0]" in text, "another soname")
    expect("NODELETE" in text, "may be unloaded under its threads")
    expect(place.config("--modversion") ==
           [run(place.find("extant"), "--version").stdout.split()[1]],
           "versions differ")


def clash():
    """Names of the program's own, with both libraries."""
    place = Installed.get()
    image()
    source = os.path.join(HERE, "clash.c")
    private = [word for word in place.config("--static", "--libs")
               if word != "-lextant"]
    for libs in (place.config("--libs"),
                 [os.path.join(place.lib, "libextant.a"), *private]):
        run("gcc", *place.config("--cflags"), source, "-o", "clash", *libs)
        done = start("./clash", "fs.img")
        expect(done.returncode == 0 and done.stdout == b"0\n",
               f"{done.returncode}: {done.stdout}")


def pages():
    """The command, its pages and the library's are there."""
    place = Installed.get()
    for name in ("extant.1", "extant.3", "extant-info.1"):
        place.find(name)
    expect(os.access(place.find("extant"), os.X_OK), "no command")


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory(prefix="extant-install.") as where:
        os.environ["EXTANT_INSTALL_DIR"] = where
        judge.main([
            ("header", header),
            ("symbols", symbols),
            ("marks", marks),
            ("clash", clash),
            ("pages", pages),
        ] + [(f"{name}-{compiler}-{'static' if static else 'shared'}",
              example(name, compiler, static))
             for name in CHECKS for compiler in COMPILERS
             for static in (False, True)])
