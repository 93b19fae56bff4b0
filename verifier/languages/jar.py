"""One runnable jar of what a compiler for the JVM makes.

A run's command is fixed, but which class has `main` is known only after compiling. So the compile
step is a small Python program that calls the compiler, reads the class files for a `public static
void main(String[])`, and writes that class into the jar's manifest. It writes the jar itself: the
`jar` tool is another JVM start.
"""

from __future__ import annotations

from verifier.languages.base import STARTS

_SCRIPT = r'''
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

pattern, class_path, archive, *compiler = sys.argv[1:]
if os.path.exists(archive):  # one that does not fit is not taken, and nothing is said of it
    flags = ["-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    flags = ["-J" + flag for flag in flags] if compiler[0] == "javac" else flags
    compiler[1:1] = flags
os.mkdir("classes")
code = subprocess.call([*compiler, "-d", "classes", *sorted(glob.glob(pattern))])
if code:
    sys.exit(code)
mains, paths = [], []
for folder, _, names in os.walk("classes"):
    for file in sorted(names):
        path = os.path.join(folder, file)
        paths.append(path)
        if not file.endswith(".class"):
            continue
        with open(path, "rb") as f:
            name, public, found = main_of(f.read())
        if found:
            mains.append((not public, name != "Main", name))
if not mains:
    sys.exit("error: no class has a method public static void main(String[])")
manifest = "Manifest-Version: 1.0\r\n"
for line in ["Main-Class: " + min(mains)[2]] + ["Class-Path: " + class_path] * bool(class_path):
    while line:  # the format folds lines at 72 bytes
        manifest, line = manifest + line[:70] + "\r\n", line[70:] and " " + line[70:]
with zipfile.ZipFile("main.jar", "w") as jar:
    jar.writestr("META-INF/MANIFEST.MF", manifest + "\r\n")
    for path in sorted(paths):
        jar.write(path, os.path.relpath(path, "classes"))
'''


def compile_argv(
    pattern: str, class_path: str, *compiler: str, archive: str = ""
) -> tuple[str, ...]:
    """The compile step.

    Args:
        pattern: Of the sources' names.
        class_path: Of the jar: URLs with blanks between them, or "".
        compiler: Its command, without the target folder and the sources.
        archive: File in `STARTS` with the compiler's classes as the JVM has them in memory, used
            where it is there: a third less CPU for a short program (docs/starts.md).
    """
    path = f"{STARTS}/{archive}" if archive else ""
    return ("/usr/bin/python3", "-I", "-c", _SCRIPT, pattern, class_path, path, *compiler)


# One core collects garbage alone. Programs have both of the JVM's compilers, as where judges set
# the time limits: what computes for seconds takes a sixth to a third less CPU with the
# second one (docs/starts.md).
_JVM = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
# Flags of a compiler that runs on the JVM: it never earns the optimizing one back.
QUICK_JVM = (*_JVM, "-XX:TieredStopAtLevel=1")

RUN_ARGV = (
    "java",
    # Else it is a quarter of the machine's.
    "-Xmx{heap_mb}m",
    # Contest programs recurse deeply; the main thread's stack is made by the launcher.
    "-Xss64m",
    *_JVM,
    "-jar",
    "/program/main.jar",
)
OUTPUTS = ("main.jar",)
# Not "unable to create native thread", which is the limit of processes.
HEAP_MARKS = (
    *(
        b"java.lang.OutOfMemoryError: " + what
        for what in (
            b"Java heap space",
            b"GC overhead limit exceeded",
            b"Requested array size exceeds VM limit",
            b"Metaspace",
            b"Compressed class space",
            b"Cannot reserve",  # a direct buffer
        )
    ),
    b"java.lang.OutOfMemoryError thrown from the UncaughtExceptionHandler",
)
STACK_OVERFLOW = "StackOverflowError, exit code 1"
# A JVM of 17 starts about 15 threads beside the main one, and pools of 200 are common. Where one is
# refused, the main thread dies alone and those that are there wait for it until the time limit.
THREADS = 240
