"""What an image is made of and where from; builds nothing."""

from __future__ import annotations

import re

import pytest

from sandbox_images import __main__ as command
from sandbox_images import bootstrap, recipe
from sandbox_images.recipe import ImageRecipe, header_flags, resolve_families
from verifier.languages import RECIPES, get

DEBIAN = """\
Types: deb
# a comment about bookworm
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main
"""
THIRD_PARTY = "Types: deb\nURIs: http://other.invalid/\nSuites: nodistro\nComponents: main\n"


# ---------------------------------------------------------------- families


def test_python_is_always_there():
    assert resolve_families([]) == ("python",)
    assert resolve_families(["web"]) == ("python", "web")


def test_names_aliases_and_lists():
    assert resolve_families(["java,node", "C++"]) == ("python", "native", "jvm", "web")


def test_unknown_family_names_the_known():
    with pytest.raises(ValueError, match=r"'cobol'; known: python, python-science, native"):
        resolve_families(["cobol"])


@pytest.mark.parametrize(
    ("argv", "families"),
    [
        ([], ("python", "native")),
        (["--with", "java,node"], ("python", "native", "jvm", "web")),
        (["--full"], recipe.FULL_FAMILIES),
        (["--all"], tuple(recipe.FAMILIES)),
        (["--family", "python"], ("python",)),
        (["go", "rust"], ("python", "go", "rust")),
        (["go", "gateway", "--with", "boost"], ("python", "native-libraries", "go")),
        (["--family", "jvm", "--with", "node"], ("python", "jvm", "web")),
    ],
)
def test_families_of_a_command_line(argv, families):
    assert resolve_families(command.wanted(command.parse(argv))) == families


@pytest.mark.parametrize("words", [["--family", "cobol"], ["cobol"], ["gateway", "cobol"]])
def test_wrong_family_on_the_command_line_is_exit_code_2(words, capsys):
    assert command.main(words) == 2
    assert "'cobol'; known:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "images"),
    [
        ([], ["runner"]),
        (["gateway"], ["gateway"]),
        (["gateway", "runner"], ["runner", "gateway"]),
        (["go", "gateway"], ["runner", "gateway"]),
    ],
)
def test_images_of_a_command_line(words, images):
    assert command.parse(words).images == images


# ---------------------------------------------------------------- the digest


def test_digest_follows_the_content():
    one = ImageRecipe(("python",), "bootstrap:bookworm")
    same = ImageRecipe(("python",), "bootstrap:bookworm")
    others = [
        ImageRecipe(("python", "native"), "bootstrap:bookworm"),
        ImageRecipe(("python",), "bootstrap:trixie"),
        ImageRecipe(("python",), "base:debian:bookworm-slim"),
        ImageRecipe(("python",), "bootstrap:bookworm", ("-O2",)),
    ]
    assert one.digest == same.digest
    assert len({one.digest, *(other.digest for other in others)}) == 5


def test_digest_follows_the_finishing_script(tmp_path, monkeypatch):
    before = ImageRecipe(("python",), "bootstrap:bookworm").digest
    for name in ("finish.sh", "Dockerfile"):
        (tmp_path / name).write_text((recipe.HERE / name).read_text())
    (tmp_path / "finish.sh").write_text("exit 0\n")
    monkeypatch.setattr(recipe, "HERE", tmp_path)
    assert ImageRecipe(("python",), "bootstrap:bookworm").digest != before


def test_up_to_date_image_of_either_way_is_kept(monkeypatch):
    monkeypatch.setattr(bootstrap, "suite", lambda: "bookworm")
    monkeypatch.setattr(bootstrap, "available", lambda: True)
    families = ("python",)
    ways = ["bootstrap:bookworm", "base:"]
    for way in ways:
        label = ImageRecipe(families, way).digest
        monkeypatch.setattr(command, "image_label", lambda _tag, label=label: label)
        assert command.choose(command.parse([]), families, ()) is None
        forced = command.choose(command.parse(["--force"]), families, ())
        assert forced == ImageRecipe(families, ways[0])


def test_named_base_rebuilds_a_bootstrapped_image(monkeypatch):
    monkeypatch.setattr(command, "image_label", lambda _: ImageRecipe(("python",), "base:").digest)
    chosen = command.choose(command.parse(["--base", "my/base"]), ("python",), ())
    assert chosen == ImageRecipe(("python",), "base:my/base")


def test_base_where_there_is_no_bootstrap_tool(monkeypatch):
    monkeypatch.setattr(bootstrap, "suite", lambda: "bookworm")
    monkeypatch.setattr(bootstrap, "available", lambda: False)
    monkeypatch.setattr(command, "image_label", lambda _: None)
    chosen = command.choose(command.parse([]), ("python",), ())
    assert chosen == ImageRecipe(("python",), "base:")


# ---------------------------------------------------------------- the two ways agree


def test_dockerfile_says_what_an_import_says():
    text = (recipe.HERE / "Dockerfile").read_text()
    assert f"USER {recipe.USER}" in text
    assert "ENV " + " ".join(f"{k}={v}" for k, v in recipe.environment().items()) in text
    changes = command.changes(ImageRecipe(("python",), "bootstrap:bookworm"))
    for line in ("WORKDIR /", f"USER {recipe.USER}", 'CMD ["/usr/bin/python3"]'):
        assert line in changes
        assert line in text.splitlines()


def test_dockerfile_defaults_are_the_default_families():
    packages = ImageRecipe(recipe.DEFAULT_FAMILIES, "base:").packages
    assert f'ARG PACKAGES="{" ".join(packages)}"' in (recipe.HERE / "Dockerfile").read_text()


def test_dockerfile_base_is_pinned():
    text = (recipe.HERE / "Dockerfile").read_text()
    (base,) = (line for line in text.splitlines() if line.startswith("ARG BASE="))
    assert any(character.isdigit() for character in base)
    assert "latest" not in base


# ---------------------------------------------------------------- precompiled header


def test_header_flags_leave_out_files_and_libraries():
    argv = ("g++", "-O2", "-std=gnu++20", "-o", "main", "main.cpp", "-lm", "-static", "-pipe")
    assert header_flags(argv) == ("-O2", "-std=gnu++20", "-pipe")


def test_header_is_made_for_the_cpp_recipe():
    flags = command.cpp_flags()
    assert flags == header_flags(get("cpp").compile_argv)
    assert any(flag.startswith("-std=") for flag in flags)
    # They pass through an unquoted shell variable and through Docker's build arguments.
    assert all(flag == "".join(flag.split()) for flag in flags)


# ---------------------------------------------------------------- apt sources


def apt_folder(tmp_path, **files):
    folder = tmp_path / "sources.list.d"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return tmp_path


def test_distributions_own_sources_are_taken_alone(tmp_path):
    apt = apt_folder(tmp_path, debian__sources=DEBIAN, node__sources=THIRD_PARTY)
    assert bootstrap.sources("bookworm", apt) == [apt / "sources.list.d" / "debian.sources"]


def test_one_line_sources(tmp_path):
    apt = apt_folder(tmp_path)
    (apt / "sources.list").write_text(
        "# deb http://old.invalid bookworm main\n"
        "deb [signed-by=/k] http://mirror.invalid bookworm main\n"
    )
    assert bootstrap.sources("bookworm", apt) == [apt / "sources.list"]
    assert bootstrap.sources("trixie", apt) == []


def test_commented_out_sources_do_not_count(tmp_path):
    apt = apt_folder(tmp_path, mirror__sources=DEBIAN, other__sources=THIRD_PARTY)
    (apt / "sources.list").write_text("# moved to sources.list.d\n")
    assert bootstrap.sources("bookworm", apt) == [apt / "sources.list.d" / "mirror.sources"]


def test_no_sources_at_all(tmp_path):
    assert bootstrap.sources("bookworm", tmp_path) == []


@pytest.mark.parametrize("line", ["VERSION_CODENAME=bookworm", 'VERSION_CODENAME="bookworm"'])
def test_suite_of_the_machine(tmp_path, line):
    path = tmp_path / "os-release"
    path.write_text(f"ID=debian\n{line}\n")
    assert bootstrap.suite(path) == "bookworm"


def test_unknown_suite_says_what_to_type(tmp_path):
    with pytest.raises(bootstrap.BootstrapError, match="--suite"):
        bootstrap.suite(tmp_path / "absent")


def test_bootstrap_command(tmp_path):
    what = ImageRecipe(("python", "native"), "bootstrap:bookworm", ("-O2",))
    words = bootstrap.command(what, "bookworm", [tmp_path / "a.sources"], tmp_path / "root.tar")
    assert words[-3:] == ["bookworm", str(tmp_path / "root.tar"), str(tmp_path / "a.sources")]
    assert "--include=" + ",".join(what.packages) in words
    for trace in ("sources.list", "auth.conf", "resolv.conf", "hostname", "machine-id"):
        assert trace in bootstrap.REMOVE_TRACES
    assert f"--customize-hook={bootstrap.REMOVE_TRACES}" in words


def test_families_have_what_the_languages_need():
    """Of each language, the packages that it names; and every family is of some language."""
    packaged = [language for language in RECIPES.values() if language.packages]
    for language in packaged:
        held = {"bash", *recipe.FAMILIES[language.family]}
        assert set(language.packages) <= held, language.name
    of_libraries = {
        family for family in recipe.FAMILIES if family not in {r.family for r in packaged}
    }
    assert of_libraries == {"python-science", "native-libraries", "web-testing"}


def test_families_have_the_libraries_of_the_languages():
    """Each is in the family of its language or Python's, or in one that is named after these."""
    for language in RECIPES.values():
        named = ("python", language.family or "python")
        families = [f for f in recipe.FAMILIES if f.startswith(named)]
        held = {package for family in families for package in recipe.FAMILIES[family]}
        assert {library.package for library in language.libraries} <= held, language.name


def test_ci_gives_its_host_what_its_image_has():
    text = (recipe.HERE.parent / ".ci" / "run").read_text()
    needed = set(re.findall(r"(?m)^need (\S+)", text))
    (libraries,) = re.findall(r"(?m)^for library in (.+); do$", text)
    needed |= {f"python3-{name}" for name in libraries.split()}
    assert set(ImageRecipe(recipe.FULL_FAMILIES, "").packages) <= needed


def test_page_has_the_families():
    page = (recipe.HERE.parent / "docs" / "images.md").read_text()
    for family, packages in recipe.FAMILIES.items():
        names = " ".join(f"`{name}`" for name, of in recipe.ALIASES.items() if of == family)
        assert f"| {family} | {names} | `{' '.join(packages)}` |".replace("|  |", "| |") in page
