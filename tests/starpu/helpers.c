/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_foreign.py: how many threads it has when StarPU has started,
 * after a few tasks, and after a graph that was worth a plan; and on how many cores those of the
 * plug-in may run, the fewest.
 *
 *   helpers
 */
#include <dirent.h>
#include <sched.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 77
#define FEW      8
#define CHAIN    400
#define TASK_S   2e-4f

static void pauses(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
    starpu_sleep(TASK_S);
}

static struct starpu_codelet step = {
    .cpu_funcs = {pauses}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "step"};

static int submit(starpu_data_handle_t handle, int count) {
    int code = 0;
    for (int i = 0; i < count && !code; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &step;
        task->handles[0] = handle;
        code = starpu_task_submit(task);
    }
    return code;
}

static int is_helper(const char *thread) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    if (file) {
        (void)!fgets(name, sizeof name, file);
        fclose(file);
    }
    return strncmp(name, "symph ", 6) == 0;
}

static void count(const char *when) {
    int threads = 0, helpers = 0, narrowest = CPU_SETSIZE;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        cpu_set_t mask;
        int id = atoi(entry->d_name);
        if (id <= 0) {
            continue;
        }
        threads++;
        if (is_helper(entry->d_name) && sched_getaffinity(id, sizeof mask, &mask) == 0) {
            helpers++;
            narrowest = CPU_COUNT(&mask) < narrowest ? CPU_COUNT(&mask) : narrowest;
        }
    }
    if (folder) {
        closedir(folder);
    }
    printf("%s %d %d %d\n", when, threads, helpers, narrowest);
}

int main(void) {
    if (starpu_init(NULL)) {
        return LEFT_OUT;
    }
    int value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    count("started");
    int code = submit(handle, FEW);
    starpu_sleep(FEW * 2 * TASK_S);
    count("few");
    code = code ? code : submit(handle, CHAIN);
    starpu_task_wait_for_all();
    count("many");
    starpu_data_unregister(handle);
    starpu_shutdown();
    return code ? LEFT_OUT : 0;
}
