"""What the compile step of unit tests refuses: a program that hides what tests are written with."""

from __future__ import annotations

import pytest

from verifier.languages.unit_tests.jail import build


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        (
            "public class Sum {}\nclass Assert { static void assertEquals(int a, int b) {} }",
            "Assert",
        ),
        ('class A { String s = """\n/* """; } class /* a */ Assertions {}', "Assertions"),
        ("class A {}\n\\u0063lass Objec\\uu0074s {}", "Objects"),
        ("class A { // class Assert {}\n  static class Assert {} }", ""),
        ('class A { String s = "class Assert {}"; char c = \'"\'; } record Pair(int a) {}', ""),
        ("import java.util.*;\nclass Sum { Arrays a; Object o; }", ""),
    ],
)
def test_java(source, hidden):
    assert build.java_hides(source.encode()) == hidden


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("package a\nconst true = false", "true"),
        ("package a; var nil = 1", "nil"),
        ("package a\nvar (\n\tx = f(1)\n\tb, true = 1, false\n)", "true"),
        ("package a\nconst ( /* ) */ iota = `)`; x = 3)", "iota"),
        ("package a\nfunc recover() any { return 1 }", "recover"),
        ("package a\ntype (\n\tA struct{ x int }\n\terror interface{}\n)", "error"),
        ("package a\nfunc f(len int) (nil error) { var true = 3; panic(`x`); len = 2 }", ""),
        (
            "package a\nvar a, b = true, nil\nvar c = []string{`var nil`}\nfunc (a A) len() {}",
            "",
        ),
        ("package a\nfunc f(\n\tlen int,\n) error {\n}\nvar (\n\ta = true\n\tb error\n)", ""),
    ],
)
def test_go(source, hidden):
    assert build.go_hides(source.encode()) == hidden


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("#[macro_export]\nmacro_rules! assert_eq { () => {} }", "assert_eq"),
        ("macro_rules! a { () => {} }\npub use a as assert_eq;", "assert_eq"),
        ("make!(r#assert);", "assert"),
        ("macro_rules! /* */ r#matches { () => {} }", "matches"),
        ("use a as panic;", "panic"),
        ('/* /* */ " */ macro_rules! panic { () => {} } // "', "panic"),
        ("const A: char = '\"'; make!(assert_ne); // '\"'", "assert_ne"),
        ('// assert or panic\nfn f() { assert!(true); panic!("assert", 1); x.matches("a"); }', ""),
        ("use std::panic;\nfn f<'a>(a: &'a str) { panic::catch_unwind(|| 'é' as u32); }", ""),
        ('const A: &str = r#"assert " panic"#; /* assert /* */ panic */', ""),
    ],
)
def test_rust(source, hidden):
    assert build.rust_hides(source.encode()) == hidden
