/* SPDX-License-Identifier: Apache-2.0
 *
 * cli: the symph command. One file per sub-command, and what they share.
 *
 * In: arguments. Out: data on stdout, messages on stderr, an exit code. Never knows: how a room
 * below does its work. Invariant: this is the only floor that prints or exits.
 */
#ifndef SY_CLI_CLI_H
#define SY_CLI_CLI_H

#include "cli/options.h"
#include "graph/graph.h"
#include <stdio.h>
#include <symph/machine.h>

enum sy_exit {
    SY_EXIT_OK = 0,
    SY_EXIT_FAILED = 1, /* it ran, and failed */
    SY_EXIT_USAGE = 2,
    SY_EXIT_INPUT = 3,       /* a file or a description is wrong */
    SY_EXIT_UNREACHABLE = 4, /* no broker answers */
    SY_EXIT_INTERRUPTED = 130,
};

/* Sub-commands; argv[0] is the sub-command's name. They return an exit code. */
int sy_cmd_machine(int argc, char **argv);
int sy_cmd_graph(int argc, char **argv);
int sy_cmd_bound(int argc, char **argv);
int sy_cmd_plan(int argc, char **argv);
int sy_cmd_simulate(int argc, char **argv);
int sy_cmd_run(int argc, char **argv);
int sy_cmd_explain(int argc, char **argv);
int sy_cmd_starpu(int argc, char **argv);
int sy_cmd_top(int argc, char **argv);
int sy_cmd_serve(int argc, char **argv);
int sy_cmd_tenants(int argc, char **argv);
int sy_cmd_kernels(int argc, char **argv);
int sy_cmd_counters(int argc, char **argv);
int sy_cmd_train(int argc, char **argv);
int sy_cmd_call_variants(int argc, char **argv);
int sy_cmd_genomics(int argc, char **argv);

/* What every sub-command's arguments begin with. */
struct sy_common_args {
    bool json, quiet;
};

/* --- messages (stderr) ------------------------------------------------------------------------ */
void sy_message_error(const struct sy_error *error);
/* The same where code is not 0. Returns sy_message_exit(code). */
int sy_message_code(int code, const struct sy_error *error);
/* The same for an error in an argument: unless it is about a file, the argument is named. */
int sy_message_about(const char *what, const char *text, int code, const struct sy_error *error);
__attribute__((format(printf, 1, 2))) void sy_message_fail(const char *format, ...);
__attribute__((format(printf, 2, 3))) void sy_message_note(bool quiet, const char *format, ...);
/* Colour on this stream: a terminal, and NO_COLOR is not set. */
bool sy_message_colour(FILE *stream);
/* Says that memory ran out. Returns the exit code. */
int sy_no_memory(void);
/* Memory that was just asked for, or what was made of it: not NULL. Without it the command ends
 * here, with a message; the system takes back what it has, and an engine leaves with it. */
void *sy_need(void *memory);
/* The exit code for a negative errno of a room below: out of memory and the like are failures,
 * the rest is invalid input. */
int sy_message_exit(int code);

/* As sy_buffer_printf, for text that people read: what stands for a %s is shown, so that names from
 * files cannot command the terminal or feign a line. */
__attribute__((format(printf, 2, 3))) void sy_print(struct sy_buffer *buffer, const char *format,
                                                    ...);
/* The same for the first length bytes of a format; list then stands at what follows. */
void sy_print_list(struct sy_buffer *buffer, const char *format, size_t length, va_list *list);

/* Writes buffer to stdout whole and finishes it. Returns an exit code. */
int sy_output(struct sy_buffer *buffer);
/* Whether a file can be written: says so before the work, not after it. Returns an exit code. */
int sy_output_check(const char *path);
/* Replaces a file, or writes to stdout where path is "-". Returns an exit code. */
int sy_output_file(const char *path, const struct sy_buffer *buffer);
/* The file of one of several policies, plot.svg -> plot.dmdas.svg, with its NUL; policy NULL: the
 * only one. */
void sy_output_path(const char *path, const char *policy, struct sy_buffer *ret_path);

/* --- inputs ----------------------------------------------------------------------------------- */
struct sy_graph_args {
    const char *only; /* names must match this glob; NULL: all */
    uint32_t max_instances;
};
/* All four print what is wrong and return an exit code. */
int sy_input_machine(const char *spec, struct sy_machine **ret_machine);
/* Whether hwloc describes it, which leaves much to be assumed. */
bool sy_input_from_hwloc(const char *spec);
/* One argument: a file, or "gen:SPEC". Appends to list. */
int sy_input_graph(const char *spec, const struct sy_graph_args *args, struct sy_graph_list *list);
/* Several, of which at least one graph must remain. */
int sy_input_graphs(const struct sy_text_list *specs, const struct sy_graph_args *args,
                    struct sy_graph_list *ret_list);

struct sy_scheduler_ops;
/* A policy; list: the comma-separated names that it was taken from, or NULL. */
int sy_input_policy(const char *name, const char *list, const struct sy_scheduler_ops **ret_ops);

/* --- Ctrl-C ------------------------------------------------------------------------------------
 */
/* From now on the first SIGINT or SIGTERM is remembered; the second ends the process. */
void sy_interrupt_watch(void);
/* The same without a word, for commands that people end in this way; SIGHUP and SIGQUIT too. */
void sy_interrupt_watch_quietly(void);
bool sy_interrupt_seen(void);

/* --- crashes -----------------------------------------------------------------------------------
 */
/* From now on a crash ends the process with a line that names the policy whose it is. */
void sy_crash_watch(void);
/* Which policy this thread runs from now on; NULL: none, and a crash is our own. */
void sy_crash_is_of(const char *policy);

#endif
