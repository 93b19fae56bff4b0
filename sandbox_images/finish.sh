#!/bin/sh
# The last step of every image, run as root inside of it, whether it was bootstrapped or built on a base.
# Its one argument is the g++ flags to precompile bits/stdc++.h for ("" for none).
#
#   finish.sh --starts [FOLDER]    only what makes compilers start sooner: as root on a host that
#                                  serves the namespaces backend (docs/starts.md)
set -eu

# The classes of javac and scalac as the JVM has them in memory, and V8's code of TypeScript's compiler,
# each of a first run of a small program. A JVM, a V8 or a compiler of another version does not take them.
make_starts() {
    starts="$1"
    work="$(mktemp -d)"
    mkdir -p "$starts"
    if command -v javac >/dev/null; then
        echo 'import java.util.*; class A { public static void main(String[] a) {
            List<Integer> l = new ArrayList<>(); l.add(1); l.forEach(x -> System.out.println(x + "")); } }' \
            >"$work/A.java"
        javac -J-XX:ArchiveClassesAtExit="$work/javac.jsa" -J-XX:+UseSerialGC -d "$work" "$work/A.java" \
            >/dev/null 2>&1 || echo "finish.sh: no archive of javac: it starts as ever" >&2
    fi
    scala=/usr/share/java
    if command -v scalac >/dev/null; then
        echo 'object A { def main(a: Array[String]): Unit = println(a.map(_.length).sum) }' >"$work/a.scala"
        java -Xss16m -XX:+UseSerialGC -XX:ArchiveClassesAtExit="$work/scalac.jsa" -Dscala.usejavacp=true \
            -cp "$scala/scala-library.jar:$scala/scala-reflect.jar:$scala/scala-compiler.jar" \
            scala.tools.nsc.Main -usejavacp -d "$work" "$work/a.scala" \
            >/dev/null 2>&1 || echo "finish.sh: no archive of scalac: it starts as ever" >&2
    fi
    home=/usr/share/nodejs/typescript
    if command -v node >/dev/null && [ -f "$home/lib/typescript.js" ]; then
        node -e '
            const fs = require("fs"), [home, folder] = process.argv.slice(1);
            const filename = home + "/lib/typescript.js", made = { exports: {} };
            const text = require("module").wrap(fs.readFileSync(filename, "utf8"));
            const script = new (require("vm").Script)(text, { filename });
            script.runInThisContext()(made.exports, require, made, filename, home + "/lib");
            made.exports.transpileModule("class A<T> { x: number = 1 }", { reportDiagnostics: true });
            const version = require(home + "/package.json").version;
            fs.writeFileSync(`${folder}/typescript-${version}.v8`, script.createCachedData());
        ' "$home" "$work" || echo "finish.sh: no code of TypeScript's compiler: it starts as ever" >&2
    fi
    for file in "$work"/*.jsa "$work"/*.v8; do
        if [ -f "$file" ]; then install -m 644 "$file" "$starts/"; fi
    done
    rm -rf "$work"
}

if [ "${1-}" = --starts ]; then
    make_starts "${2:-/usr/local/lib/verifier}"
    exit
fi
header_flags="${1-}"

# A name for the image's user. The slot's jail may run programs under other ids; those have no name.
grep -q '^sandbox:' /etc/passwd || echo 'sandbox:x:65532:65532::/tmp:/usr/sbin/nologin' >>/etc/passwd
grep -q '^sandbox:' /etc/group || echo 'sandbox:x:65532:' >>/etc/group

# Including bits/stdc++.h is 1.1 s of a 1.4 s compile; from a precompiled header 0.2 s (2 cores, g++ 12).
# g++ looks for the file "stdc++.h.gch", or for any fitting one in the folder of that name.
if [ -n "$header_flags" ] && command -v g++ >/dev/null; then
    header="$(find /usr/include /usr/local/include -path '*/bits/stdc++.h' 2>/dev/null | head -n 1)"
    if [ -n "$header" ]; then
        mkdir -p "$header.gch"
        # shellcheck disable=SC2086  # the flags are words
        g++ $header_flags -x c++-header "$header" -o "$header.gch/recipe.gch"
    fi
fi

make_starts /usr/local/lib/verifier

# Nothing in a slot may gain privileges. The container has no_new_privs too; this is the belt.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# Documentation and caches. Copyright notices stay.
find /usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete 2>/dev/null || :
find /usr/share/doc -mindepth 1 -type d -empty -delete 2>/dev/null || :
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/* /usr/share/lintian /usr/share/bug \
    /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/* /var/log/* \
    /root/.cache /tmp/* /var/tmp/*

# What no program is compiled or run with: libraries to link into other things than programs (Python and
# OpenBLAS as archives, the compilers of Go, Haskell and OCaml as libraries), the modules that `jlink` makes
# other JDKs of, the tests of Go itself, and a compiler that scipy's package asks for and scipy does not.
rm -rf /usr/lib/python3*/config-*/*.a /usr/lib/*/openblas-*/*.a /usr/lib/python3/dist-packages/pythran \
    /usr/lib/jvm/*/jmods /usr/share/go-*/test /usr/share/go-*/api /usr/lib/go-*/pkg/linux_*/cmd \
    /usr/lib/ghc/ghc-[0-9]*/*.a /usr/lib/ghc/Cabal-*/*.a /usr/lib/ocaml/compiler-libs
# Debian's PyPy compiles CPython's libraries too. It cannot load those that are not Python alone.
for library in numpy scipy pandas; do
    find "/usr/lib/python3/dist-packages/$library" -name '*.pypy*.pyc' -delete 2>/dev/null || :
done

# What the docker backend needs: it mounts the runner and starts it with this interpreter.
test -x /usr/bin/python3 || {
    echo "finish.sh: this image has no /usr/bin/python3" >&2
    exit 1
}
/usr/bin/python3 -I -c 'import ctypes, json, sys; assert sys.version_info >= (3, 8), sys.version'
