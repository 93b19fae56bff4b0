"""PHP's command line. `php -l` is the compile step: a syntax error is a COMPILE_ERROR."""

from __future__ import annotations

from verifier.languages.base import Library, Recipe
from verifier.types import Harness

# Messages once, and not in the output.
_PHP = ("php", "-d", "display_errors=stderr", "-d", "log_errors=0")
PHP = Recipe(
    name="php",
    title="PHP",
    aliases=("php7", "php8", "php-cli", "php8.2"),
    family="scripts",
    packages=("php-cli",),
    # An extension has the version of PHP; its settings are there where it is loaded.
    libraries=tuple(
        Library(name, f"php-{name}", f"/etc/php/*/cli/conf.d/*-{name}.ini", r"/php/([\d.]+)/")
        for name in ("gmp", "mbstring")
    ),
    sandbox_fusion=("php",),
    source_name="main.php",
    run_harness=Harness.EXEC,
    compile_argv=(*_PHP, "-l", "main.php"),
    outputs=("main.php",),
    # The sandbox counts what is resident.
    run_argv=(*_PHP, "-d", "memory_limit=-1", "/program/main.php"),
    version_argv=("php", "--version"),
    extra_processes=4,
    self_test='<?php\n[$a, $b] = explode(" ", trim(fgets(STDIN)));\necho $a + $b, "\\n";\n',
    memory_marks=(b"mmap() failed: [12] Cannot allocate memory",),
    stack_overflow="memory limit",
    notes=("A program begins with `<?php`: without it, its text is its output."),
)
