#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installed tree works where it was staged and where it was moved to; programs can be built with
it; and it can be removed again."""
import json
import os

import stage

PROGRAM = r"""
#include <stdio.h>
#include <symph/graph.h>
#include <symph/machine.h>
#include <symph/scheduler.h>

int main(void) {
    struct sy_graph *graph = NULL;
    struct sy_machine *machine = NULL;
    struct sy_error error;
    char text[512];
    if (sy_graph_generate("cholesky:4", &graph, &error) ||
        sy_machine_parse("cpu:4 gpu:1@pcie3x16", &machine, &error)) {
        puts(sy_error_format(&error, text, sizeof(text)));
        return 1;
    }
    printf("%s %u %u %s\n", sy_version(), sy_graph_task_count(graph), machine->device_count,
           sy_scheduler_at(0)->name);
    sy_machine_destroy(machine);
    sy_graph_destroy(graph);
    return 0;
}
"""


class Tree(stage.Staged):
    def symph(self, *args):
        return self.run_it(self.prefix / "bin" / "symph", *args)

    def uses_its_own(self):
        """Every kind of file that comes with the program is found, and in this tree."""
        self.assertEqual(self.symph("--version").split(), ["symph", stage.VERSION])
        for plugin in json.loads(self.symph("kernels", "--json"))["plugins"]:
            self.assertTrue(plugin["path"].startswith(f"{self.prefix}/"), plugin["path"])
        self.assertIn("x86/", self.symph("counters", "listing"))
        engine = list(self.prefix.rglob("symph-engine"))
        if engine:
            self.assertIn("right", self.symph("run", "synthetic:contend:tasks=8,kind=spin", "--cpus", "1"))
            # The engine is a StarPU program: which plug-in would it be given?
            shown = self.symph("starpu", "--json", engine[0])
            self.assertIn(f"{self.prefix}/", shown)
            self.assertIn("libsymph-starpu.so", shown)
        else:
            print("# SKIP no engine, since StarPU was not found")
        if list(self.prefix.rglob("symph-genomics")):
            self.assertIn("simulate", self.symph("genomics", "--help"))
        else:
            print("# SKIP no genomics, since htslib was not found")

    def test_staged_and_moved(self):
        self.uses_its_own()
        self.move()
        self.uses_its_own()

    def test_a_program_of_ones_own(self):
        self.move()
        config = {"PKG_CONFIG_PATH": self.pkg_config_path()}
        # The folder's name has blanks, which pkg-config escapes for a shell.
        (self.folder / "program.c").write_text(PROGRAM)
        self.run_it("sh", "-c", 'eval "cc -std=c11 -Wall -Werror -o program program.c '
                    '$(pkg-config --cflags --libs symph)"', **config)
        library = next(self.prefix.rglob("libsymph.so")).parent
        said = self.run_it(self.folder / "program", LD_LIBRARY_PATH=str(library)).split()
        # Cholesky of 4 x 4 tiles: 4 potrf, 6 trsm, 6 syrk, 4 gemm.
        self.assertEqual(said[:3], [stage.VERSION, "20", "5"])

    def test_what_is_there(self):
        share = self.prefix / "share"
        for name in ["doc/symph/README.md", "doc/symph/LICENSE", "doc/symph/CHANGELOG.md",
                     "doc/symph/docs/install.md", "doc/symph/examples/kernel_devices.c",
                     "symph/listing/README.md", "bash-completion/completions/symph",
                     "zsh/site-functions/_symph",
                     "fish/vendor_completions.d/symph.fish"]:
            self.assertTrue((share / name).is_file(), name)
        if (stage.BUILD / "man" / "symph.1").exists():
            self.assertTrue((share / "man/man1/symph.1").is_file())
        else:
            print("# SKIP no man pages, since scdoc was not found")
        # Nothing of the build's, and no path of the machine that built it in what others read.
        self.assertEqual([path for path in share.rglob("meson.build")], [])
        config = next(self.prefix.rglob("symph.pc")).read_text()
        self.assertNotIn(str(stage.BUILD), config)

    def test_uninstall(self):
        self.run_it("ninja", "-C", stage.BUILD, "uninstall", cwd=stage.BUILD)
        left = [os.path.join(folder, name) for folder, _, names in os.walk(self.stage)
                for name in names]
        self.assertEqual(left, [])


if __name__ == "__main__":
    stage.main()
