/* SPDX-License-Identifier: Apache-2.0
 *
 * symph call-variants: from sequenced reads to variants, on whatever devices there are.
 *
 * In: a reference, FASTQ files. Out: VCF (and BAM) files, written by the engine; a summary or one
 * JSON object "symph-call-variants-1"; pictures; the record. The work itself is the workload
 * genomics:call of a kernel plug-in; here its arguments are made and its record is told.
 */
#include "cli/call_variants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(field) offsetof(struct sy_call_args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "ref", "REF.fa", "the reference genome; its index is built once and kept",
     AT(ref), 0, 0, 0},
    {SY_OPTION_LIST, "reads", "R1.fq.gz [R2.fq.gz]",
     "reads of one sample: one file of single reads, or two files of paired reads", AT(reads), 0, 0,
     0},
    {SY_OPTION_TEXT, "out", "OUT.vcf.gz", "write the variants to this file", AT(out), 0, 0, 0},
    {SY_OPTION_TEXT, "bam", "OUT.bam", "also write the alignments", AT(bam), 0, 0, 0},
    {SY_OPTION_TEXT, "sample", "NAME", "name of the sample (default: from the name of the output)",
     AT(sample), 0, 0, 0},
    {SY_OPTION_TEXT, "samples", "TABLE",
     "call several samples at once; a line for each: name, first file, second file or "
     "-, output, BAM or -; separated by tabs",
     AT(samples), 0, 0, 0},
    {SY_OPTION_TEXT, "regions", "BED", "call variants only in these regions", AT(regions), 0, 0, 0},
    {SY_OPTION_TEXT, "index", "FOLDER",
     "where the index is kept (default: next to the reference, or in your cache "
     "folder)",
     AT(index), 0, 0, 0},
    {SY_OPTION_SIZE, "memory", "SIZE",
     "keep at most this much of the reads in memory, such as 8GB, and the rest in a temporary file "
     "(default: a quarter of the memory of the machine)",
     AT(memory_bytes), 0, 1e6, 1e15},
    {SY_OPTION_U32, "batch", "PAIRS", "reads in one task (default 10000)", AT(batch), 0, 1,
     1000000},
    {SY_OPTION_TIME, "limit", "T",
     "fail the run if a task takes longer than this, even if it waits for reads "
     "(default 1h)",
     AT(run.limit_s), 0, 0.001, 1e9},
    {SY_OPTION_HEADING, NULL, NULL, "Scheduling", 0, 0, 0, 0},
    {SY_OPTION_TEXT, "policy", "NAME",
     "a policy of symph simulate --list-policies, or starpu:NAME (default symphony)",
     AT(run.policy), 0, 0, 0},
    {SY_OPTION_ANY, "kernels", "PATH",
     "kernel plug-ins: files or folders, separated by colons (default: those "
     "installed)",
     AT(run.kernels), 0, 0, 0},
    {SY_OPTION_ANY, "models", "FOLDER",
     "where measured times are kept (default: your cache folder; \"\": nowhere)", AT(run.models), 0,
     0, 0},
    {SY_OPTION_U32, "cpus", "N", "use at most N cores (default: all that this process may use)",
     AT(run.cpus), 0, 0, 4096},
    {SY_OPTION_U32, "opencl", "N", "use N OpenCL devices, CPUs included (default 0)",
     AT(run.opencl), 0, 0, 4096},
    {SY_OPTION_U32, "cuda", "N", "use N CUDA devices (default: all)", AT(run.cuda), 0, 0, 4096},
    {SY_OPTION_HEADING, NULL, NULL, "Output", 0, 0, 0, 0},
    {SY_OPTION_FILE, "plot", "FILE.svg", "draw a Gantt chart of the run (SVG)", AT(run.plot), 0, 0,
     0},
    {SY_OPTION_FILE, "trace", "FILE.json", "write the same as a Chrome/Perfetto trace",
     AT(run.trace), 0, 0, 0},
    {SY_OPTION_FILE, "record", "FILE.json", "write everything about the run, for symph explain",
     AT(run.record), 0, 0, 0},
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

/* "a" of "folder/a.vcf.gz". */
static void name_of(const char *out, char *name, size_t size) {
    const char *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out;
    snprintf(name, size, "%s", base);
    char *end = strstr(name, ".vcf");
    if (end && end != name) {
        *end = '\0';
    }
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
    if (args->regions) {
        sy_buffer_printf(&line, " --regions %s", args->regions);
    }
    put_argument(spec, "command", line.failed ? NULL : line.text);
    spec->failed |= line.failed;
    sy_buffer_finish(&line);
}

static void put_spec(const struct sy_call_args *args, struct sy_buffer *spec) {
    char name[256] = "", number[32];
    sy_buffer_printf(spec, "genomics:call:");
    put_argument(spec, "ref", args->ref);
    if (args->out) {
        name_of(args->out, name, sizeof(name));
        put_argument(spec, "reads1", args->reads.items[0]);
        put_argument(spec, "reads2", args->reads.count > 1 ? args->reads.items[1] : NULL);
        put_argument(spec, "out", args->out);
        put_argument(spec, "sample", args->sample ? args->sample : name);
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
                     struct sy_record **ret_record, struct sy_engine_run **ret_engine) {
    const struct sy_run_args *run = &args->run;
    struct sy_engine_start start = {.spec = spec,
                                    .policy = run->policy,
                                    .kernels = run->kernels,
                                    .models = run->models,
                                    .seed = 1,
                                    .check = true,
                                    .limit_s = run->limit_s > 0 ? run->limit_s : 3600,
                                    .cpus = run->cpus,
                                    .opencl = run->opencl,
                                    .cuda = run->cuda,
                                    .label = "calling variants",
                                    .quiet = args->common.quiet};
    struct sy_error error = {0};
    sy_interrupt_watch();
    int r = sy_engine_run_to_record(&start, text, ret_engine);
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (sy_record_read_text("the engine's record", text->text ? text->text : "", text->length,
                            ret_record, &error) < 0) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
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

static int call(const struct sy_call_args *args) {
    struct sy_buffer spec = {0}, text = {0};
    struct sy_record *record = NULL;
    struct sy_engine_run *engine = NULL;
    struct sy_run_figures figures = {0};
    struct sy_arena *arena = sy_arena_create();
    int r = check_args(args);
    if (r == SY_EXIT_OK) {
        put_spec(args, &spec);
    }
    if (r == SY_EXIT_OK && (spec.failed || !arena)) {
        sy_message_fail("out of memory");
        r = SY_EXIT_FAILED;
    }
    r = r ? r : supervise(args, spec.text, &text, &record, &engine);
    if (r == SY_EXIT_OK && sy_run_figures(record, arena, &figures) < 0) {
        sy_message_fail("out of memory");
        r = SY_EXIT_FAILED;
    }
    if (r == SY_EXIT_OK) {
        put_title(args, record);
        r = write_files(args, record, &text, &figures);
        int told = sy_call_tell(args, record, &figures);
        r = r ? r : told;
    }
    int finished = sy_engine_finish(engine, NULL);
    r = r ? r : finished;
    sy_record_destroy(record);
    sy_buffer_finish(&text);
    sy_buffer_finish(&spec);
    sy_arena_destroy(arena);
    return r;
}

int sy_cmd_call_variants(int argc, char **argv) {
    struct sy_call_args args = {.run = {.repeat = 1, .cpus = SY_NONE, .cuda = SY_NONE}};
    int r = SY_EXIT_OK;
    if (sy_options_parse(&command, argc, argv, &args, &r)) {
        r = call(&args);
    }
    sy_text_list_finish(&args.reads);
    return r;
}
