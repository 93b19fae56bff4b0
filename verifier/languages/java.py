"""Java: the file is named after its public class, and the compile step makes one runnable jar.

A run's command is fixed, but which class has `main` is known only after compiling. So the compile
step is a small Python program that calls javac, reads the class files for a `public static void
main(String[])`, and writes that class into the jar's manifest. It writes the jar itself: the `jar`
tool is another JVM start.
"""

from __future__ import annotations

import re

from verifier.languages.base import Recipe
from verifier.types import Harness, Limits

_BUILD = r'''
import glob, os, struct, subprocess, sys, zipfile

def main_of(data):
    """(name, is public, has a main) of a class file (JVM specification, chapter 4)."""
    count = struct.unpack_from(">H", data, 8)[0]
    pos, index, text, classes = 10, 1, {}, {}
    sizes = dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4) | dict.fromkeys((7, 8, 16, 19, 20), 2)
    sizes |= {5: 8, 6: 8, 15: 3}
    while index < count:
        tag = data[pos]
        if tag == 1:
            size = struct.unpack_from(">H", data, pos + 1)[0]
            text[index] = data[pos + 3:pos + 3 + size].decode("utf-8", "replace")
            pos += 3 + size
        else:
            if tag == 7:
                classes[index] = struct.unpack_from(">H", data, pos + 1)[0]
            pos += 1 + sizes[tag]
        index += 2 if tag in (5, 6) else 1
    access, this, _, interfaces = struct.unpack_from(">HHHH", data, pos)
    pos += 8 + 2 * interfaces
    found = False
    for kind in ("fields", "methods"):
        members = struct.unpack_from(">H", data, pos)[0]
        pos += 2
        for _ in range(members):
            flags, name, descriptor, attributes = struct.unpack_from(">HHHH", data, pos)
            pos += 8
            for _ in range(attributes):
                pos += 6 + struct.unpack_from(">I", data, pos + 2)[0]
            if kind == "methods" and flags & 9 == 9 and text[name] == "main" \
                    and text[descriptor] == "([Ljava/lang/String;)V":
                found = True
    return text[classes[this]].replace("/", "."), bool(access & 1), found

sources = sorted(glob.glob("*.java"))
os.mkdir("classes")
flags = ["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData", "-Xmaxerrs", "10"]
code = subprocess.call(
    ["javac", *flags, "-encoding", "UTF-8", "-nowarn", "-d", "classes", *sources]
)
if code:
    sys.exit(code)
mains, paths = [], []
for folder, _, names in os.walk("classes"):
    for file in sorted(names):
        path = os.path.join(folder, file)
        paths.append(path)
        with open(path, "rb") as f:
            name, public, found = main_of(f.read())
        if found:
            mains.append((not public, name != "Main", name))
if not mains:
    sys.exit("error: no class has a method public static void main(String[])")
manifest = "Manifest-Version: 1.0\r\n"
line = "Main-Class: " + min(mains)[2]
while line:  # the format folds lines at 72 bytes
    manifest, line = manifest + line[:70] + "\r\n", line[70:] and " " + line[70:]
with zipfile.ZipFile("main.jar", "w") as jar:
    jar.writestr("META-INF/MANIFEST.MF", manifest + "\r\n")
    for path in sorted(paths):
        jar.write(path, os.path.relpath(path, "classes"))
'''

# Comments, strings and character literals: none of them can declare a class. Possessive in effect:
# each alternative is decided by its first characters, so matching is linear.
_NOT_CODE = re.compile(
    rb'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|"(?:[^"\\\n]|\\.)*"?|'
    rb"'(?:[^'\\\n]|\\.)*'?",
    re.DOTALL,
)
_PUBLIC_TYPE = re.compile(
    rb"\bpublic\s+(?:(?:abstract|final|sealed|non-sealed|strictfp)\s+)*"
    rb"(?:class|interface|enum|record|@interface)\s+([A-Za-z_$][A-Za-z0-9_$]{0,200})"
)
_HEAD_BYTES = 1 << 20


class _JavaRecipe(Recipe):
    """A recipe whose source name follows the public class."""

    __slots__ = ()

    def file_name(self, source: bytes) -> str:
        """`<public top-level class>.java`, or `Main.java` where none is public."""
        code = _NOT_CODE.sub(b" ", source[:_HEAD_BYTES])
        depth = seen = 0
        for match in _PUBLIC_TYPE.finditer(code):
            depth += code.count(b"{", seen, match.start()) - code.count(b"}", seen, match.start())
            seen = match.start()
            if depth == 0:
                return f"{match[1].decode()}.java"
        return self.source_name


JAVA = _JavaRecipe(
    name="java",
    title="Java",
    family="jvm",
    packages=("default-jdk-headless",),
    sandbox_fusion=("java",),
    aliases=(
        "java8",
        "java11",
        "java17",
        "java21",
        "java22",
        "java23",
        "java24",
        "java25",
        "openjdk",
        "jdk",
        "javac",
    ),
    source_name="Main.java",
    run_harness=Harness.EXEC,
    compile_argv=("/usr/bin/python3", "-I", "-c", _BUILD),
    outputs=("main.jar",),
    run_argv=(
        "java",
        # Else it is a quarter of the machine's.
        "-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",
        # Contest programs recurse deeply; the main thread's stack is made by the launcher.
        "-Xss64m",
        # The fast compiler alone: programs of a few seconds never earn back the optimizing one.
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-jar",
        "/program/main.jar",
    ),
    needs=("javac",),
    version_argv=("java", "-version"),
    self_test="import java.util.*;\npublic class Sum { public static void main(String[] args) {\n"
    "  Scanner s = new Scanner(System.in); System.out.println(s.nextInt() + s.nextInt()); } }\n",
    memory_marks=(b"java.lang.OutOfMemoryError",),
    stack_overflow="StackOverflowError, exit code 1",
    notes=(
        "The file is named after its public class; a public class with a `main` is run first.",
        "Heap of 3/4 of the memory limit, serial collector, first compiler only, 64 MB of stack.",
    ),
    compile_limits=Limits(
        cpu_time_s=30.0,
        wall_time_s=60.0,
        memory_bytes=2 * 1024 * 1024 * 1024,
        output_bytes=1024 * 1024,
        processes=128,
        file_bytes=256 * 1024 * 1024,
        open_files=1024,
    ),
    # A JVM of 17 starts about 15 threads beside the main one.
    extra_processes=48,
)
