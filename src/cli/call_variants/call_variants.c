/* SPDX-License-Identifier: Apache-2.0
 *
 * symph call-variants: from sequenced reads to variants, on whatever devices there are.
 *
 * In: a reference, FASTQ files. Out: VCF (and BAM) files, written by the engine, or VCF on stdout;
 * a summary or one JSON object "symph-call-variants-1"; pictures; the record. The work itself is
 * the workload genomics:call of a kernel plug-in; here its arguments are made and its record is
 * told.
 */
#include "cli/call_variants/call_variants.h"

#include "base/folder.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(field)    offsetof(struct sy_call_args, field)
#define TASK_LIMIT_S 3600 /* a task may wait for reads */

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "ref", "REF.fa", AT(ref),
     "the reference genome; its index is built once and kept"},
    {SY_OPTION_LIST, "reads", "R1.fq.gz [R2.fq.gz]", AT(reads),
     "reads of one sample: single, or both ends of pairs"},
    {SY_OPTION_FLAG, "interleaved", NULL, AT(interleaved),
     "the single file of a sample holds pairs: both ends of each, one after the other (default: "
     "decided by the names of its first reads)"},
    {SY_OPTION_U32, "phred", "33|64", AT(phred),
     "offset of the quality characters (default 33; files that look like 64 are refused)", 33, 64},
    {SY_OPTION_TEXT, "out", "OUT.vcf.gz", AT(out),
     "where the variants go: a .vcf, .vcf.gz or .bcf file, or - for standard output"},
    {SY_OPTION_TEXT, "bam", "OUT.bam", AT(bam), "also write the alignments: a .bam or .cram file"},
    {SY_OPTION_TEXT, "sample", "NAME", AT(sample),
     "the sample's name (default: from the output's)"},
    {SY_OPTION_TEXT, "samples", "TABLE", AT(samples),
     "call several samples at once; a line for each: name, first file, second file or -, output, "
     "BAM or -; separated by tabs"},
    {SY_OPTION_TEXT, "regions", "BED", AT(regions), "call variants only in these regions"},
    {SY_OPTION_ANY, "index", "FOLDER", AT(index),
     "where the index is kept (default: next to the reference, or in your cache folder)"},
    {SY_OPTION_SIZE, "memory", "SIZE", AT(memory_bytes),
     "keep at most this much of the reads in memory, such as 8GB, and the rest in a temporary file "
     "(default: a quarter of the memory of the machine)",
     1e6, 1e15},
    {SY_OPTION_U32, "batch", "PAIRS", AT(batch), "reads in one task (default 10000)", 1, 1000000},
    {SY_OPTION_KEY, "limit", "T", AT(run.request),
     "fail the run if a task takes longer than this, even if it waits for reads (default 1h)"},
    {SY_OPTION_HEADING, .help = "Scheduling"},
    {SY_OPTION_KEY, "policy", "NAME", AT(run.request),
     "a policy of symph simulate --list-policies, or starpu:NAME (default symphony)"},
    {SY_OPTION_KEY, "kernels", "PATH", AT(run.request),
     "kernel plug-ins: files or folders, separated by colons (default: those installed)"},
    {SY_OPTION_KEY, "models", "FOLDER", AT(run.request),
     "where measured times are kept (default: your cache folder; \"\": nowhere)"},
    {SY_OPTION_KEY, "cpus", "N", AT(run.request),
     "use at most N cores (default: all that this process may use)"},
    {SY_OPTION_KEY, "opencl", "N", AT(run.request),
     "use N OpenCL devices, CPUs included (default 0)"},
    {SY_OPTION_KEY, "cuda", "N", AT(run.request), "use N CUDA devices (default: all)"},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_FILE, "plot", "FILE.svg", AT(run.plot), "draw a Gantt chart of the run (SVG)"},
    {SY_OPTION_FILE, "trace", "FILE.json", AT(run.trace),
     "write the same as a Chrome/Perfetto trace"},
    {SY_OPTION_FILE, "record", "FILE.json", AT(run.record),
     "write everything about the run, for symph explain"},
    SY_OPTION_COMMON(struct sy_call_args),
};

static const struct sy_command command = {
    .name = "call-variants",
    .usage = "--ref REF.fa --reads R1.fq.gz [R2.fq.gz] -o OUT.vcf.gz [OPTION]...",
    .examples =
        "  symph call-variants --ref chrX.fa --reads a_1.fq.gz a_2.fq.gz -o a.vcf.gz\n"
        "  symph call-variants --ref chrX.fa --reads a_1.fq.gz a_2.fq.gz -o a.vcf.gz --bam a.bam\n"
        "  symph call-variants --ref chrX.fa --samples family.tsv --plot family.svg",
    .about = "Aligns the short reads of a diploid sample, marks duplicates, assembles "
             "haplotypes where reads differ from the reference, and computes genotypes. Every "
             "stage is divided into tasks, which run on cores and GPUs as the policy decides. "
             "The output is the same for all devices and policies.",
    .options = options,
    .option_count = SY_COUNT(options),
};

/* --- the workload's arguments -------------------------------------------------------------------
 */
/* Whatever a file is called: commas and percent signs are encoded. The engine runs where we do, but
 * a name that begins with a dash or holds a line end is safer this way, too. */
static void put_argument(struct sy_buffer *spec, const char *key, const char *value) {
    static const char digits[] = "0123456789ABCDEF";
    if (!value) {
        return;
    }
    char last = spec->length ? spec->text[spec->length - 1] : ':';
    sy_buffer_printf(spec, "%s%s=", last == ':' ? "" : ",", key);
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        char code[3] = {'%', digits[*at >> 4], digits[*at & 15]};
        bool plain = *at > ' ' && *at != ',' && *at != '%' && *at < 0x7F;
        sy_buffer_append(spec, plain ? (const char *)at : code, plain ? 1 : 3);
    }
}

static bool is_stdout(const char *out) {
    return out && strcmp(out, "-") == 0;
}

/* "a" of "folder/a.vcf.gz". To be freed; NULL: out of memory. */
static char *name_of(const char *out) {
    static const char *const ends[] = {".vcf", ".bcf"};
    const char *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out;
    char *name = strdup(is_stdout(out) ? "sample" : base);
    for (size_t i = 0; name && i < SY_COUNT(ends); i++) {
        char *end = strcasestr(name, ends[i]);
        if (end && end != name) {
            *end = '\0';
        }
    }
    return name;
}

/* For the file's header: what the output depends on, and nothing else, so that the same input gives
 * the same bytes under every policy and on every machine. */
static void put_command(const struct sy_call_args *args, struct sy_buffer *spec) {
    struct sy_buffer line = {0};
    sy_buffer_printf(&line, "symph call-variants --ref %s", args->ref ? args->ref : "");
    for (uint32_t i = 0; i < args->reads.count; i++) {
        sy_buffer_printf(&line, "%s%s", i ? " " : " --reads ", args->reads.items[i]);
    }
    if (args->samples) {
        sy_buffer_printf(&line, " --samples %s", args->samples);
    }
    if (args->interleaved) {
        sy_buffer_printf(&line, " --interleaved");
    }
    if (args->phred) {
        sy_buffer_printf(&line, " --phred %u", args->phred);
    }
    if (args->regions) {
        sy_buffer_printf(&line, " --regions %s", args->regions);
    }
    put_argument(spec, "command", line.failed ? NULL : line.text);
    spec->failed |= line.failed;
    sy_buffer_finish(&line);
}

/* out: the file that the engine writes, where it is not the user's. */
static void put_spec(const struct sy_call_args *args, const char *out, struct sy_buffer *spec) {
    char number[32];
    sy_buffer_printf(spec, "genomics:call:");
    put_argument(spec, "ref", args->ref);
    if (args->out) {
        char *name = name_of(args->out);
        put_argument(spec, "reads1", args->reads.items[0]);
        put_argument(spec, "reads2", args->reads.count > 1 ? args->reads.items[1] : NULL);
        put_argument(spec, "out", out ? out : args->out);
        put_argument(spec, "sample", args->sample ? args->sample : name);
        spec->failed |= !name;
        free(name);
    }
    put_argument(spec, "bam", args->bam);
    put_argument(spec, "samples", args->samples);
    put_argument(spec, "regions", args->regions);
    put_argument(spec, "index", args->index);
    if (args->memory_bytes > 0) {
        snprintf(number, sizeof(number), "%.0f", args->memory_bytes);
        put_argument(spec, "memory", number);
    }
    if (args->batch) {
        snprintf(number, sizeof(number), "%u", args->batch);
        put_argument(spec, "batch", number);
    }
    put_argument(spec, "interleaved", args->interleaved ? "1" : NULL);
    if (args->phred) {
        snprintf(number, sizeof(number), "%u", args->phred);
        put_argument(spec, "phred", number);
    }
    put_command(args, spec);
}

/* --- what was asked -----------------------------------------------------------------------------
 */
static int check_file(const char *option, const char *path) {
    if (path && access(path, R_OK) < 0) {
        sy_message_fail("%s %s: %s", option, path, strerror(errno));
        return SY_EXIT_INPUT;
    }
    return SY_EXIT_OK;
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev && S_ISREG(first.st_mode);
}

/* What goes to standard output, and how reads are written. */
static int check_forms(const struct sy_call_args *args) {
    if (is_stdout(args->bam)) {
        return sy_options_usage(&command, "alignments cannot go to standard output: --bam OUT.bam");
    }
    if (is_stdout(args->out) && args->common.json) {
        return sy_options_usage(&command, "the variants and --json cannot both go to stdout");
    }
    if (args->phred && args->phred != 33 && args->phred != 64) {
        return sy_options_usage(&command, "--phred is 33 or 64, not %u", args->phred);
    }
    if (args->interleaved && args->reads.count > 1) {
        return sy_options_usage(&command, "--interleaved is for one file of reads, not %u",
                                args->reads.count);
    }
    return SY_EXIT_OK;
}

static int check_args(const struct sy_call_args *args) {
    if (!args->ref) {
        return sy_options_usage(&command, "--ref is missing: --ref REF.fa");
    }
    if (args->reads.count > 2) {
        return sy_options_usage(&command,
                                "--reads takes one file, or two files of paired reads, not %u",
                                args->reads.count);
    }
    if (args->reads.count == 2 && same_file(args->reads.items[0], args->reads.items[1])) {
        return sy_options_usage(&command, "--reads names the same file twice: %s",
                                args->reads.items[0]);
    }
    bool one = args->reads.count > 0;
    if (one == (args->samples != NULL)) {
        return sy_options_usage(
            &command,
            "name the reads of one sample with --reads, or several samples with --samples");
    }
    if (one != (args->out != NULL)) {
        return sy_options_usage(&command,
                                one ? "name a file for the variants: -o OUT.vcf.gz"
                                    : "the table of --samples names the outputs: leave out -o");
    }
    if (!one && (args->bam || args->sample)) {
        return sy_options_usage(
            &command,
            "the table of --samples has names and BAM files: leave out --bam and --sample");
    }
    int r = check_file("--ref", args->ref);
    for (uint32_t i = 0; i < args->reads.count && r == SY_EXIT_OK; i++) {
        r = check_file("--reads", args->reads.items[i]);
    }
    r = r ? r : check_file("--samples", args->samples);
    return r ? r : check_file("--regions", args->regions);
}

/* --- the run ------------------------------------------------------------------------------------
 */
static int supervise(const struct sy_call_args *args, const char *spec, struct sy_buffer *text,
                     struct sy_record **ret_record, struct sy_child **ret_engine) {
    struct sy_request request = args->run.request;
    request.spec = spec;
    request.check = true;
    sy_interrupt_watch();
    return sy_run_engine(&request, "calling variants", args->common.quiet, text, ret_record,
                         ret_engine);
}

/* The pictures and the record, by what symph run has for them. */
static int write_files(const struct sy_call_args *args, struct sy_record *record,
                       struct sy_buffer *text, struct sy_run_figures *figures) {
    struct sy_run_args run = args->run;
    run.common = args->common;
    struct sy_run_policy policy = {
        .name = record->policy, .runs = figures, .run_count = 1, .record = record, .text = *text};
    struct sy_runs runs = {.args = &run, .policies = &policy, .policy_count = 1};
    return sy_run_write(&runs);
}

/* The title of pictures: what was asked for, not how it was spelt for the engine. */
static void put_title(const struct sy_call_args *args, struct sy_record *record) {
    char title[512];
    snprintf(title, sizeof(title), "call-variants %s", args->out ? args->out : args->samples);
    char *copy = sy_arena_strdup(record->arena, title);
    record->spec = copy ? copy : record->spec;
}

/* Warnings, and all that was noted where the summary cannot be printed. In JSON they are notes. */
static void tell_stderr(const struct sy_call_args *args, const struct sy_record *record, bool all) {
    for (uint32_t i = 0; i < record->note_count; i++) {
        if (all || strcmp(record->notes[i].key, "warning") == 0) {
            sy_message_note(args->common.quiet, "%s: %s", record->notes[i].key,
                            record->notes[i].value);
        }
    }
}

/* out: as of put_spec. */
static int call(const struct sy_call_args *args, const char *out) {
    struct sy_buffer spec = {0}, text = {0};
    struct sy_record *record = NULL;
    struct sy_child *engine = NULL;
    struct sy_run_figures figures = {0};
    struct sy_arena *arena = sy_need(sy_arena_create());
    put_spec(args, out, &spec);
    int r = spec.failed ? sy_no_memory() : supervise(args, spec.text, &text, &record, &engine);
    if (r == SY_EXIT_OK) {
        sy_run_figures(record, arena, &figures);
        put_title(args, record);
        r = write_files(args, record, &text, &figures);
        int told = out ? SY_EXIT_OK : sy_call_tell(args, record, &figures);
        tell_stderr(args, record, out != NULL);
        r = r ? r : told;
    }
    int finished = sy_run_finish(engine, args->common.quiet, NULL);
    r = r ? r : finished;
    sy_record_destroy(record);
    sy_buffer_finish(&text);
    sy_buffer_finish(&spec);
    sy_arena_destroy(arena);
    return r;
}

/* --- standard output ----------------------------------------------------------------------------
 */
static int copy_out(const char *path) {
    char chunk[1 << 16];
    size_t got = 0;
    FILE *file = fopen(path, "re");
    bool fine = file != NULL;
    while (fine && (got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        fine = fwrite(chunk, 1, got, stdout) == got;
    }
    fine = fine && !ferror(file) && fflush(stdout) == 0;
    bool enough = !fine && errno == EPIPE; /* for whoever reads it */
    if (!fine && !enough) {
        sy_message_fail("cannot write to standard output: %s", strerror(errno));
    }
    if (file) {
        fclose(file);
    }
    return fine || enough ? SY_EXIT_OK : SY_EXIT_FAILED;
}

/* The engine writes a file, which goes out once it is complete: whole or not at all. */
static int call_to_stdout(const struct sy_call_args *args) {
    char place[4096], path[4200];
    struct sy_error error = {0};
    if (sy_temporary_folder(place, sizeof(place), &error) < 0) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that has enough must not leave the folder behind */
    snprintf(path, sizeof(path), "%s/calls.vcf", place);
    int r = call(args, path);
    r = r ? r : copy_out(path);
    sy_remove_folder(place);
    return r;
}

static int run(void *given) {
    struct sy_call_args *args = given;
    int r = check_forms(args);
    r = r ? r : check_args(args);
    return r ? r : is_stdout(args->out) ? call_to_stdout(args) : call(args, NULL);
}

int sy_cmd_call_variants(int argc, char **argv) {
    struct sy_call_args args = {.run = {.repeat = 1, .request = sy_request_default}};
    args.run.request.opencl = 0;
    args.run.request.limit_s = TASK_LIMIT_S;
    return sy_options_run(&command, argc, argv, &args, run);
}
