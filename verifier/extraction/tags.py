"""What a fence's info string says about the language of its block."""

from __future__ import annotations

import re

from verifier.languages import written_as

# Tags of things that are not a program, or that are one in a language without a recipe. A block so
# tagged is never taken for anything else; a tag that is neither here nor a language ("solution",
# "code") says nothing.
OTHER_TAGS = frozenset(
    str.split("""
    text txt plain plaintext none output out stdout stderr input in stdin sample example result
    results log logs console terminal shell shellscript shell-session sh bash zsh fish
    powershell ps1 bat cmd session pycon python-repl doctest traceback error json jsonc json5
    jsonl ndjson yaml yml xml html htm svg css scss less csv tsv toml ini cfg conf properties
    env diff patch markdown md mdx rst latex tex math asciimath bibtex http sql mysql
    postgresql sqlite plsql mermaid dot graphviz plantuml makefile make cmake dockerfile docker
    nginx regex ebnf bnf pseudocode pseudo algorithm tree ascii ada assembly asm nasm awk sed
    basic vb vbnet clojure clj cobol coffeescript common-lisp lisp crystal csharp cs c# cuda cu
    d dart delphi pascal objectpascal elixir ex exs elm erlang erl fortran f90 fsharp fs f#
    gdscript go golang groovy haskell hs haxe julia jl kotlin kt kts lean lua matlab octave nim
    objective-c objectivec objc ocaml ml odin perl pl php prolog purescript r racket rkt ruby
    rb rust rs scala scheme solidity sol swift tcl typescript ts tsx jsx vala verilog
    systemverilog vhdl v zig wasm
    """)
)
# Blocks with these tags hold Markdown: fences inside them are part of their text.
MARKDOWN_TAGS = frozenset({"markdown", "md", "mdx", "rst", "text", "txt"})

_WORD = re.compile(r"[^\s{},;:=()\[\]<>`\"']{1,40}")
_ATTRIBUTE_CLASS = re.compile(r"\{\s{0,8}\.?([A-Za-z][\w.+#-]{0,39})")
_ATTRIBUTE_LANG = re.compile(
    r"(?:lang|language|class)\s?=\s?[\"']?(?:language-)?([A-Za-z][\w.+#-]{0,39})"
)
_INFO_CHARS = 1000


def tag_of(info: str) -> str:
    """The language word of an info string, in lower case, or "".

    `python title="a"`, `Python3`, `{.python .numberLines}`, `{python, echo=FALSE}`, `lang=python`,
    `language-python`, `python:main.py` and `main.py` all name Python.
    """
    info = info[:_INFO_CHARS].strip()
    if info.startswith("{"):
        match = _ATTRIBUTE_CLASS.match(info)
        word = match[1] if match else ""
    else:
        match = _WORD.match(info)
        word = match[0] if match else ""
    word = word.lower().lstrip(".")
    if word in ("lang", "language", "class") or not word:
        match = _ATTRIBUTE_LANG.search(info)
        word = match[1].lower() if match else word
    return word.removeprefix("language-").removeprefix("lang-")


def language_of(tag: str) -> str | None:
    """The language of a tag: a name, an alias, or a file name with a known ending.

    C++ for "c++17" and Python for "pypy3": which compiler takes it is the request's to say.
    """
    name = written_as(tag)
    if name is None and "." in tag:
        stem, _, ending = tag.rpartition(".")
        if stem and not stem[-1].isdigit():
            name = written_as(ending)
    return name


def is_known(tag: str) -> bool:
    """The tag names a language or a kind of text."""
    if tag in OTHER_TAGS or language_of(tag) is not None:
        return True
    return "." in tag and tag.rpartition(".")[2] in OTHER_TAGS
