#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks themselves can fail: each is run on a small good tree and on trees with one fault."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
CARD = """/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of the test: nothing comes in, nothing goes out.
 */
"""
GOOD = {
    ".clang-format": "BasedOnStyle: LLVM\nIndentWidth: 4\n"
    "AllowShortFunctionsOnASingleLine: None\n",
    "include/symph/error.h": CARD + "#ifndef A_H\n#define A_H\n"
    "#define SY_API __attribute__((visibility(\"default\")))\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\nSY_API int sy_one(void);\n"
    "#ifdef __cplusplus\n}\n#endif\n#endif\n",
    "src/base/base.h": CARD + "#include <symph/error.h>\n",
    "src/base/one.c": CARD + "#include \"base/base.h\"\n\nint sy_one(void) {\n    return 1;\n}\n",
    "src/cli/main.c": CARD + "#include <stdio.h>\n\nint main(void) {\n    puts(\"one\");\n}\n",
    "tools/exports.txt": "sy_one\n",
}


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph checks ")
        self.root = Path(self.folder.name).resolve()
        for name, text in GOOD.items():
            self.write(name, text)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, tool, *arguments):
        result = subprocess.run([sys.executable, TOOLS / tool, self.root, *arguments],
                                capture_output=True, text=True, check=False)
        if result.returncode == 77:
            self.skipTest(result.stdout.strip())
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result

    def passes(self, tool, *arguments):
        result = self.check(tool, *arguments)
        self.assertEqual(result.returncode, 0, result.stdout)

    def finds(self, expected, tool, *arguments):
        result = self.check(tool, *arguments)
        self.assertEqual(result.returncode, 1, f"{tool} found nothing")
        self.assertIn(expected, result.stdout)


class Unused(CheckTest):
    def test_good(self):
        self.passes("unused.py")

    def test_only_tests_call_it(self):
        self.write("src/base/two.c", CARD + "int sy_two(void) {\n    return 2;\n}\n")
        self.write("src/base/two.h", CARD + "int sy_two(void);\n")
        self.write("tests/base/test_two.c", CARD + "int main(void) {\n    return sy_two();\n}\n")
        self.finds("src/base/two.c:5: sy_two", "unused.py")
        self.write("bench/two.c", CARD + "int main(void) {\n    return sy_two();\n}\n")
        self.passes("unused.py")


class Layering(CheckTest):
    def fault(self, name, text, expected):
        self.write(name, CARD + text)
        self.finds(expected, "layering.py")

    def test_good(self):
        self.passes("layering.py")

    def test_upward(self):
        self.fault("src/graph/a.c", '#include "sim/sim.h"\n', "src/graph/a.c:5: graph/ may not")

    def test_sideways(self):
        self.fault("src/sim/a.c", '#include "bounds/bounds.h"\n', "bounds/ is not below")

    def test_private_header(self):
        self.fault("src/sim/a.c", '#include "cost/fit.h"\n', "private to cost/")

    def test_public_header(self):
        self.fault("src/graph/a.c", "#include <symph/machine.h>\n", "speaks for topology/")

    def test_unknown_room(self):
        self.fault("src/attic/a.c", "int a;\n", "room attic/ is not in the map")

    def test_hwloc(self):
        self.fault("src/cost/a.c", "#include <hwloc.h>\n", "only in src/topology/")

    def test_cmocka(self):
        self.fault("src/cost/a.c", "#include <cmocka.h>\n", "only in tests/")

    def test_workload(self):
        self.fault("workloads/gnn/a.c", '#include "base/base.h"\n', "uses only include/symph")

    def test_print(self):
        self.fault("src/graph/a.c", 'void f(void) {\n    printf("x");\n}\n', "a.c:6: printf")

    def test_exit(self):
        self.fault("src/sim/a.c", "void f(void) {\n    exit(1);\n}\n", "nobody prints or exits")

    def test_exit_of_a_child(self):
        self.write("src/base/shield.c", CARD + "void f(void) {\n    _exit(1);\n}\n")
        self.passes("layering.py")
        self.fault("src/base/shield.c", "void f(void) {\n    exit(1);\n}\n", "shield.c:6: exit")
        self.fault("src/topology/a.c", "void f(void) {\n    _exit(1);\n}\n", "a.c:6: _exit")

    def test_silence_ignores_comments_and_assert(self):
        self.write("src/base/a.c", CARD + "/* abort() */\nvoid sy_assert_failed(int line) {\n"
                   "    abort();\n}\nconst char *t = \"exit(1)\";\n")
        self.passes("layering.py")


class Limits(CheckTest):
    def function(self, body, first=""):
        self.write("src/base/a.c", CARD + first + "int f(int x) {\n" + body + "    return x;\n}\n")

    def test_good(self):
        self.passes("limits.py")

    def test_long_function(self):
        self.function("    x++;\n" * 80)
        self.finds("f has 8", "limits.py")

    def test_complex_function(self):
        self.function("    if (x) {\n        x++;\n    }\n" * 16)
        self.finds("f has complexity 17", "limits.py")

    def test_long_file(self):
        self.write("src/base/a.c", CARD + "int a;\n" * 800)
        self.finds("src/base/a.c:801: the file has 804 lines", "limits.py")

    def test_long_header(self):
        self.write("src/base/a.h", CARD + "int a;\n" * 300)
        self.finds("at most 300", "limits.py")

    def test_waiver(self):
        self.function("    x++;\n" * 80, "/* style-waiver: one table, generated by a tool */\n")
        self.passes("limits.py")
        self.function("    x++;\n" * 80, "/* style-waiver: */\n")
        self.finds("names its reason", "limits.py")


class Conventions(CheckTest):
    def fault(self, name, text, expected):
        self.write(name, text)
        self.finds(expected, "conventions.py")

    def test_good(self):
        self.passes("conventions.py")

    def test_licence(self):
        self.fault("src/base/a.c", "int a;\n", "a.c:1: must begin with")

    def test_card(self):
        self.fault("src/base/a.c", "/* SPDX-License-Identifier: Apache-2.0\n */\n", "a card")

    def test_braces(self):
        self.fault("src/base/a.c", CARD + "int f(int x) {\n    if (x)\n        x++;\n}\n",
                   "a.c:6: if without braces")

    def test_do_while(self):
        self.write("src/base/a.c", CARD + "void f(int x) {\n    do {\n        x--;\n"
                   "    } while (x);\n}\n")
        self.passes("conventions.py")

    def test_leftover(self):
        self.fault("src/base/a.c", CARD + "/* TO" + "DO */\n", "a.c:5: TO" + "DO")

    def test_private_path(self):
        self.fault("docs/a.md", "see /ro" + "ot/notes\n", "docs/a.md:1: '/ro" + "ot/n")

    def test_named_file(self):
        self.write("docs/a.md", "see `src/base/one.c` and [it](../src/base/base.h)\n")
        self.passes("conventions.py")
        self.fault("docs/a.md", "see\n`src/base/two.c`\n", "docs/a.md:2: src/base/two.c does not")
        self.fault("docs/a.md", "[it](two.md)\n", "two.md does not exist")


class Prose(CheckTest):
    def fault(self, name, text, expected):
        self.write(name, text)
        self.finds(expected, "prose.py")

    def test_good(self):
        self.passes("prose.py")

    def test_phrases(self):
        self.write("docs/a.md", "There is no plan. It is no longer there. So many that it fails. \"beside\"\n")
        self.write("src/base/a.c", CARD + "/* what is told, beside so many */\nconst char *a = \"told\";\n")
        self.passes("prose.py")
        self.fault("docs/a.md", "one\nthe times foretold\n", "docs/a.md:2: 'foretold'")
        self.fault("man/a.1.scd", "As of *symph*(1)\n", "man/a.1.scd:1: 'As of *symph'")
        self.fault("README.md", "This\nis no graph.\n", "README.md:1: 'is no g'")
        self.fault("src/base/a.c", CARD + "const char *a = \"left out after so \"\n    \"many of them\";\n",
                   "src/base/a.c:5: 'so many'")


class Format(CheckTest):
    def test_good(self):
        self.passes("format.py")

    def test_unformatted(self):
        self.write("src/base/a.c", CARD + "int   a;\n")
        self.finds("src/base/a.c:5: not formatted", "format.py")


class Headers(CheckTest):
    def test_good(self):
        self.passes("headers.py")

    def test_not_alone(self):
        self.write("include/symph/a.h", CARD + "size_t sy_size(void);\n")
        self.finds("does not compile as C11", "headers.py")

    def test_not_cpp(self):
        self.write("include/symph/a.h", CARD + "void f(int new);\n")
        self.finds("does not compile as C++17", "headers.py")

    def test_private_not_alone(self):
        self.write("src/base/a.h", CARD + "#ifndef A2_H\n#define A2_H\nsize_t sy_a(void);\n#endif\n")
        self.finds("src/base/a.h:1: does not compile alone", "headers.py")

    def test_one_name_two_meanings(self):
        for name in ("a", "b"):
            self.write(f"src/{name}/{name}.h", CARD + f"#ifndef {name}_H\n#define {name}_H\n"
                       f"struct sy_same {{\n    int {name};\n}};\n#endif\n")
        self.finds("headers that do not go together", "headers.py")


class Exports(CheckTest):
    def library(self, text):
        self.write("lib.c", text)
        path = self.root / "lib.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-fvisibility=hidden",
                        "-I", self.root / "include", "-o", path, self.root / "lib.c"], check=True)
        return path

    def test_good(self):
        self.passes("exports.py", self.library(
            "#include <symph/error.h>\nstatic const char *const names[] = {\"a\"};\n"
            "int sy_one(void) { return names[0][0]; }\n"))

    def test_missing(self):
        self.finds("sy_one is listed but", "exports.py", self.library("int a(void);\n"))

    def test_missing_in_a_program(self):
        library = self.library("#include <symph/error.h>\nint sy_one(void) { return 1; }\n")
        self.passes("exports.py", library, library)
        program = self.root / "program"
        program.write_bytes(library.read_bytes())
        self.write("tools/exports.txt", "sy_one\nsy_two\n")
        self.finds("plug-ins do not find sy_two in program", "exports.py", library, program)

    def test_surplus(self):
        self.finds("sy_two is exported but not listed", "exports.py", self.library(
            "#include <symph/error.h>\nint sy_one(void) { return 1; }\n"
            "SY_API int sy_two(void) { return 2; }\n"))

    def test_undeclared_promise(self):
        self.write("include/symph/b.h", "SY_API int\n    sy_two(void);\n")
        self.finds("include/symph/b.h:1: sy_two is SY_API", "exports.py", self.library(
            "#include <symph/error.h>\nint sy_one(void) { return 1; }\n"))

    def test_global(self):
        self.finds("counter is a global", "exports.py", self.library(
            "#include <symph/error.h>\nstatic int counter;\n"
            "int sy_one(void) { return counter++; }\n"))


if __name__ == "__main__":
    unittest.main()
