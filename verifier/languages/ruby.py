"""Ruby. `ruby -c` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Recipe
from verifier.types import Harness

RUBY = Recipe(
    name="ruby",
    title="Ruby",
    aliases=("rb", "ruby3", "irb", "jruby"),
    family="scripts",
    packages=("ruby",),
    sandbox_fusion=("ruby",),
    source_name="main.rb",
    run_harness=Harness.EXEC,
    compile_argv=("ruby", "-c", "main.rb"),
    outputs=("main.rb",),
    run_argv=("ruby", "/program/main.rb"),
    version_argv=("ruby", "--version"),
    # Its own stack is 1 MB, whatever the thread's is.
    env=(("RUBY_THREAD_VM_STACK_SIZE", str(64 * 1024 * 1024)),),
    extra_processes=8,
    self_test="puts gets.split.map(&:to_i).sum\n",
    memory_marks=(b"failed to allocate memory (NoMemoryError)",),
    stack_overflow="SystemStackError, exit code 1",
)
