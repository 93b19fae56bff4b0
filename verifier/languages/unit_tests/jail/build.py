"""The compile step of unit tests: lays out the project, and makes of it what `run.py` runs.

Runs in the compile jail, under the sandbox's Python, with its mode as the one argument. Beside it
lie `program`, the program's source; `given.json`, the data's part; and the other files of this
folder. `work` becomes the project, the data's files over the program's.

Go's and Rust's tests call into what reports them, so a package with an unguessable name (`token`, a
digest of the test files) is put beside the project where the framework has no other way.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import traceback
import typing

WORK = "work"
# Exit code of a fault of this program, which no compiler ends with.
FAULT = 113
GO_REPORT = """package %(token)s

import (
\t"encoding/json"
\t"os"
)

var nonce, out = begin()

func begin() (string, *os.File) {
\tin, buffer := os.NewFile(8, "nonce"), make([]byte, 64)
\tn, _ := in.Read(buffer)
\tin.Close()
\treturn string(buffer[:n]), os.NewFile(9, "report")
}

// Say writes one record.
func Say(name, status, message string, seconds float64) {
\tline, _ := json.Marshal(map[string]any{
\t\t"name": name, "status": status, "message": message, "seconds": seconds,
\t})
\tout.Write([]byte(nonce + string(line) + "\\n"))
}
"""
GO_HEAD = """package %(package)s

import (
\t"fmt"
\t"testing"
\t"time"

\treport "%(module)s/%(token)s"
)

func run_%(token)s(t *testing.T, name string, test func(*testing.T)) {
\tbegan, problem := time.Now(), ""
\treport.Say(name, "started", "", 0)
\tt.Cleanup(func() {
\t\tstatus := "passed"
\t\tif problem != "" {
\t\t\tstatus = "error"
\t\t} else if t.Failed() {
\t\t\tstatus = "failed"
\t\t} else if t.Skipped() {
\t\t\tstatus = "skipped"
\t\t}
\t\treport.Say(name, status, problem, time.Since(began).Seconds())
\t})
\tdefer func() {
\t\tif found := recover(); found != nil {
\t\t\tproblem = fmt.Sprint("panic: ", found)
\t\t\tpanic(found)
\t\t}
\t}()
\ttest(t)
}
"""
GO_FIRST = 'package %(package)s\n\nimport _ "%(module)s/%(token)s"\n'
GO_TEST = """
func Test_%(token)s_%(name)s(t *testing.T) { run_%(token)s(t, "%(name)s", %(name)s) }
"""
# The program's own package or crate may hide what its tests are written with: that is refused.
C_NOISE = rb'/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*|"(?:[^"\\\n]|\\.)*"?'
JAVA_NOISE = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|' + C_NOISE + rb"|'(?:[^'\\\n]|\\.)*'?", re.DOTALL
)
GO_NOISE = re.compile(C_NOISE + rb"|`[^`]*`?|'(?:[^'\\\n]|\\.)+'", re.DOTALL)
RUST_NOISE = re.compile(
    rb'/\*|//[^\n]*|\bb?r(#*)".*?"\1|"(?:[^"\\]|\\.)*"?|'
    rb"'(?:\\[^\n][^'\n]{0,9}|[\x00-\x7f]|[^\x00-\x7f]{2,4})'",
    re.DOTALL,
)
RUST_COMMENT = re.compile(rb"/\*|\*/")
JAVA_HIDES = re.compile(
    rb"\b(?:class|interface|enum|record)\s+"
    rb"(Assert(?:ions)?|Assum(?:e|ptions)|TestCase|MatcherAssert|(?:Core)?Matchers|Object|Objects|"
    rb"Arrays|String|Integer|Long|Double|Boolean|Character|Math)\b"
)
RUST_HIDES = re.compile(
    rb"\b((?:debug_)?assert(?:_eq|_ne)?)\b(?!\s*!)|(?<!::)\b(panic)\b(?!\s*(?:!|::))"
    rb"|\b(?:macro_rules\s*!|as)\s*(?:r#)?(panic|matches)\b"
)
GO_NAMES = frozenset(
    b"true false nil iota len cap append copy make new panic recover error string bool byte rune "
    b"int int32 int64 uint8 float64".split()
)
GO_DECLARED = re.compile(rb"\b(?:var|const|type|func)\s+((?:\w+\s*,\s*)*\w+)")
GO_BRACKETS = re.compile(rb"(\b(?:var|const|type)\s*)?\(([^()]*)\)")
GO_IN_GROUP = re.compile(rb"(?:^|[;\n])\s*((?:\w+\s*,\s*)*\w+)")
SERVICE = "META-INF/services/org.junit.platform.launcher.TestExecutionListener"


def main(mode: str) -> int:
    """Lay out the project and compile it; the exit code is the compiler's."""
    with open("given.json", "rb") as file:
        given = json.load(file)
    with open("program", "rb") as file:
        project = {given["solution"]: file.read()}
    files = {name: base64.b64decode(content) for name, content in given["files"].items()}
    # Whose test files they are: the data's, or the program itself is one.
    for name, data in ({**project, **files} if given["scored"] else {**files, **project}).items():
        write(name, data)
    for name in ("program", "given.json"):
        os.unlink(name)
    code: int = {"pytest": python, "jest": jest, "junit": junit, "go_test": go, "cargo_test": rust}[
        mode
    ](given)
    if code:
        return code
    # Compiled sources are of no more use: the program need not find the tests lying there.
    for name in glob.glob(WORK + "/**/*", recursive=True):
        if mode in ("junit", "go_test", "cargo_test") and name.endswith((".java", ".go", ".rs")):
            os.unlink(name)
    with tarfile.open("work.tar", "w") as archive:
        archive.add(WORK, arcname="")
    return code


def write(name: str, data: bytes) -> None:
    """A file of the project."""
    path = os.path.join(WORK, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def read(name: str) -> bytes:
    """The same, back."""
    with open(os.path.join(WORK, name), "rb") as file:
        return file.read()


def outermost(code: bytes) -> bytes:
    """What is in no braces."""
    depth, parts = 0, []
    for part in re.split(rb"([{}])", code):
        depth = max(depth + {b"{": 1, b"}": -1}.get(part, 0), 0)
        if depth == 0:
            parts.append(part)
    return b" ".join(parts)


def java_hides(source: bytes) -> str:
    """A name of the tests' that a source declares beside them; "" where there is none."""
    source = re.sub(
        rb"\\u+([0-9a-fA-F]{4})",
        lambda m: chr(int(m[1], 16)).encode("utf-8", "surrogatepass"),
        source,
    )
    found = JAVA_HIDES.search(outermost(JAVA_NOISE.sub(b" ", source)))
    return found[1].decode() if found else ""


def go_hides(source: bytes) -> str:
    """The same for what Go predeclares."""
    code = outermost(GO_NOISE.sub(b" ", source))
    lists: list[bytes] = []

    def group(match: re.Match[bytes]) -> bytes:
        if match[1]:
            lists.extend(GO_IN_GROUP.findall(match[2]))
        return b"#"  # a receiver, so that `func (a A) len()` is no `func len()`

    while (inner := GO_BRACKETS.sub(group, code)) != code:
        code = inner
    names = re.findall(rb"\w+", b" ".join([*lists, *GO_DECLARED.findall(code)]))
    return next((name.decode() for name in names if name in GO_NAMES), "")


def rust_hides(source: bytes) -> str:
    """The same for macros, which a crate may also rename."""
    parts, at = [], 0
    while noise := RUST_NOISE.search(source, at):
        parts.append(source[at : noise.start()])
        at = noise.end()
        depth = int(noise[0] == b"/*")  # comments nest
        while depth:
            mark = RUST_COMMENT.search(source, at)
            depth = depth + (1 if mark[0] == b"/*" else -1) if mark else 0
            at = mark.end() if mark else len(source)
    found = RUST_HIDES.search(b" ".join([*parts, source[at:]]))
    return next(filter(None, found.groups())).decode() if found else ""


def refuse(hidden: str) -> None:
    """A compile error where there is such a name."""
    if hidden:
        sys.exit("the program declares %s, which tests are written with" % hidden)


def python(given: dict[str, typing.Any]) -> int:
    """Nothing to compile: a program that does not parse is none."""
    if given["scored"]:
        try:
            compile(read(given["solution"]), given["solution"], "exec", dont_inherit=True)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:  # nested too deeply
            sys.exit("%s: %s" % (type(error).__name__, error))
    return 0


def jest(given: dict[str, typing.Any]) -> int:
    """TypeScript and modules become what node requires; types are dropped, not checked."""
    must = given["solution"] if given["scored"] else ""
    return subprocess.call(["node", "transpile.js", WORK, must])


def junit(given: dict[str, typing.Any]) -> int:
    """All sources at once, with the listener that reports."""
    if given["scored"]:
        refuse(java_hides(read(given["solution"])))
    os.makedirs("classes/META-INF/services")
    with open(os.path.join("classes", SERVICE), "w", encoding="ascii") as file:
        file.write("verifier.report.Report\n")
    sources = sorted(glob.glob(WORK + "/**/*.java", recursive=True))
    jars = sorted(glob.glob(WORK + "/**/*.jar", recursive=True))
    # The argument that the recipe's own compiler has.
    flags = ["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData", "-nowarn"]
    flags += ["-encoding", "UTF-8", "-Xmaxerrs", "10", "-d", "classes"]
    path = ":".join([os.environ["JUNIT_PATH"], *jars])
    code = subprocess.call(["javac", *flags, "-cp", path, "Report.java", *sources])
    if code == 0:
        shutil.move(shutil.make_archive("classes", "zip", "classes"), "classes.jar")
    return code


def go(given: dict[str, typing.Any]) -> int:
    """One binary of one package's tests; each is called by a wrapper that reports it."""
    token, folder = given["token"], os.path.dirname(given["solution"])
    if given["scored"]:
        refuse(go_hides(read(given["solution"])))
    if not os.path.exists(os.path.join(WORK, "go.mod")):
        write("go.mod", b"module solution\n\ngo 1.18\n")
    module = re.search(rb'(?m)^\s*module\s+"?([^\s"]+)', read("go.mod"))
    write(token + "/report.go", (GO_REPORT % {"token": token}).encode())
    names = {"token": token, "module": module[1].decode() if module else "solution"}
    packages: dict[str, list[str]] = {}
    for name, tests in given["tests"].items():
        package = re.search(rb"(?m)^package\s+(\w+)", read(name))
        packages.setdefault(package[1].decode() if package else "main", []).extend(tests)
    for package_name, tests in packages.items():
        text = GO_HEAD % {**names, "package": package_name}
        text += "".join(GO_TEST % {**names, "name": test} for test in tests)
        write(os.path.join(folder, "%s_%s_test.go" % (token, package_name)), text.encode())
    # Imported by the package itself: its report has the nonce before the program begins.
    own = re.search(rb"\bpackage\s+(\w+)", GO_NOISE.sub(b" ", read(given["solution"])))
    text = GO_FIRST % {**names, "package": own[1].decode() if own else "main"}
    write(os.path.join(folder, token + "_test.go"), text.encode())
    os.mkdir("bin")
    # vet looks at all of the library first: 3 s, where compiling takes half a second.
    build = ["go", "test", "-c", "-vet=off", "-o", "../bin/main", "./" + folder]
    return subprocess.call(build, cwd=WORK)


def rust(given: dict[str, typing.Any]) -> int:
    """As `cargo test` of one crate without dependencies: tests/NAME.rs, and those of the crate.

    Test files elsewhere are put behind the program's source.
    """
    if given["scored"]:
        refuse(rust_hides(read(given["solution"])))
    name, flags = "solution", ["--edition", "2021", "--cap-lints", "allow", "--color", "never"]
    flags += ["-C", "opt-level=1", "-C", "debug-assertions=on"]
    if os.path.exists(os.path.join(WORK, "Cargo.toml")):
        found = re.search(rb'(?m)^\s*name\s*=\s*"([\w-]+)"', read("Cargo.toml"))
        name = found[1].decode().replace("-", "_") if found else name
    os.mkdir("bin")
    library = os.path.join(WORK, given["solution"])
    inside = [test for test in given["tests"] if not test.startswith("tests/")]
    jobs = []
    if len(inside) < len(given["tests"]):
        jobs.append(["--crate-type", "rlib", "--crate-name", name, "-o", "lib%s.rlib" % name])
        jobs[-1].append(library)
    for test in given["tests"]:
        if test not in inside:
            stem = os.path.splitext(os.path.basename(test))[0]
            link = ["--extern", "%s=lib%s.rlib" % (name, name), "-o", "bin/%s" % stem]
            jobs.append(["--test", "--crate-name", stem, *link, os.path.join(WORK, test)])
    if inside:
        whole = os.path.join(os.path.dirname(given["solution"]), given["token"] + ".rs")
        parts = [given["solution"], *(test for test in inside if test != given["solution"])]
        write(whole, b"\n".join(read(part) for part in parts))
        made = ["--test", "--crate-name", name, "-o", "bin/" + given["token"]]
        jobs.append([*made, os.path.join(WORK, whole)])
    return next(filter(None, (subprocess.call(["rustc", *flags, *job]) for job in jobs)), 0)


if __name__ == "__main__":
    try:
        STATUS = main(sys.argv[1])
    except Exception:  # noqa: BLE001 - a fault of ours is no compile error
        traceback.print_exc()
        STATUS = FAULT
    sys.exit(STATUS)
