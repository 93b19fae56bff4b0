"""Go, without modules: what the standard library has is all there is, and no network to get more.

Debian's Go 1.19 brings the standard library compiled for its default flags. With any other flag (so
much as `-trimpath`) it is compiled anew for every program: 15 s instead of half a second.
"""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.languages.calls.go import GO_CALLS
from verifier.types import Harness

GO = Recipe(
    name="go",
    title="Go",
    aliases=("golang", "go1.19", "go1.2x"),
    family="go",
    packages=("golang-go",),
    sandbox_fusion=("go",),
    source_name="main.go",
    run_harness=Harness.EXEC,
    # The folder, not the file: further sources beside it are of the same package.
    compile_argv=("go", "build", "-o", "main", "."),
    outputs=("main",),
    run_argv=("/program/main",),
    version_argv=("go", "version"),
    env=(
        ("GO111MODULE", "off"),
        ("GOFLAGS", ""),
        ("GOPROXY", "off"),
        ("GOTOOLCHAIN", "local"),
        ("GOCACHE", "/tmp/.go"),  # noqa: S108 - the jail's own
        # A slot is one core: more threads would only make the collector's share depend on the host.
        ("GOMAXPROCS", "1"),
        # Collects more often near the limit, instead of growing beyond it.
        ("GOMEMLIMIT", "{heap_mb}MiB"),
    ),
    heap_share=0.9,
    self_test='package main\n\nimport "fmt"\n\nfunc main() {\n'
    "\tvar a, b int\n\tfmt.Scan(&a, &b)\n\tfmt.Println(a + b)\n}\n",
    # The runtime's threads, one more for each that is in a system call.
    extra_processes=16,
    memory_marks=(b"fatal error: runtime: out of memory", b"fatal error: runtime: cannot allocate"),
    calls=GO_CALLS,
    stack_overflow="'stack exceeds 1000000000-byte limit', exit code 2, or memory limit",
    notes=("A panic is exit code 2. Goroutines run on one core (`GOMAXPROCS=1`)."),
)
