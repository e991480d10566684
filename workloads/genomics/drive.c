/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver: opens the reference, starts every sample, and hands each ended step back to its
 * sample until all are written.
 */
#include "genomics/drive.h"
#include "genomics/flow.h"
#include <errno.h>
#include <htslib/hts_log.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUCH_LEAST = 5 };
#define MUCH 0.2 /* of the calls that a filter looked at */

struct run {
    struct gn_settings settings;
    struct gn_index *index;
    struct gn_bed bed;
    uint32_t index_datum;
    struct gn_sample *samples;
};

__attribute__((format(printf, 3, 4))) static void note(struct sy_session *session, const char *key,
                                                       const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    session->ops->note(session, key, text);
}

/* --- the reference ------------------------------------------------------------------------------
 */
static int open_reference(struct run *run, struct sy_session *session, struct sy_error *error) {
    struct gn_index_note how = {0};
    int code = gn_index_open(run->settings.ref, run->settings.index, &run->index, &how, error);
    if (code < 0) {
        return code;
    }
    note(session, "reference", "%s, %.1f Mb in %u contigs", run->settings.ref,
         (double)run->index->length / 1e6, run->index->contig_count);
    note(session, "index", "%s%s%s%s%s", how.built ? "built" : "found", how.file[0] ? ", " : "",
         how.file, how.trouble[0] ? "; " : "", how.trouble);
    if (run->settings.regions) {
        code = gn_bed_read(run->settings.regions, run->index, &run->bed, error);
    }
    if (code == 0) {
        code = session->ops->add_data(session, "reference", run->index, run->index->bytes,
                                      &run->index_datum);
        if (code < 0) {
            guest_fail(error, code, NULL, "the reference as a datum: %s", strerror(-code));
        }
    }
    return code;
}

/* --- progress -----------------------------------------------------------------------------------
 */
/* Reading and mapping are about two thirds of the work, bins the rest. */
static double share_done(const struct gn_sample *sample) {
    double done = 0, total = 0;
    for (uint32_t i = 0; i < sample->input_count; i++) {
        uint64_t at, size;
        gn_fastq_progress(sample->inputs[i], &at, &size);
        done += (double)at;
        total += (double)size;
    }
    double bins = gn_bins_count(sample->bins);
    return (total > 0 ? done / total : 0) * 0.67 +
           (bins > 0 ? sample->next_written / bins : 0) * 0.33;
}

static void tell_progress(struct sy_session *session, const struct run *run) {
    double done = 0;
    for (uint32_t i = 0; i < run->settings.count; i++) {
        done += run->samples[i].finished ? 1 : share_done(&run->samples[i]);
    }
    session->ops->progress(session, 100 * done, 100.0 * run->settings.count, "%");
}

/* A filter that takes so much is a mistake of ours, or says something of the sample. */
static void tell_filters(struct sy_session *session, const struct gn_sample *sample) {
    static const enum gn_filter filters[] = {GN_DEPTH, GN_STRAND};
    uint64_t reached = 0; /* calls of good quality */
    for (uint32_t i = 0; i < GN_FILTER_COUNT; i++) {
        reached += i == GN_LOW_QUALITY ? 0 : sample->calls[i];
    }
    for (size_t i = 0; i < GUEST_COUNT(filters); i++) {
        uint64_t taken = sample->calls[filters[i]];
        if (taken >= MUCH_LEAST && (double)taken > MUCH * (double)reached) {
            note(session, "warning",
                 "%s: the filter %s removed %llu of %llu calls of good quality; they are in %s, "
                 "marked",
                 sample->files->name, gn_filter_names[filters[i]], (unsigned long long)taken,
                 (unsigned long long)reached, sample->files->out);
        }
    }
}

static void tell_counts(struct sy_session *session, const struct gn_sample *sample) {
    const struct gn_counts *counts = &sample->counts;
    double reads = (double)atomic_load(&counts->reads),
           mapped = (double)atomic_load(&counts->mapped);
    uint64_t all = 0;
    char removed[128] = "";
    for (uint32_t i = 0; i < GN_FILTER_COUNT; i++) {
        size_t used = strlen(removed);
        all += sample->calls[i];
        if (i != GN_PASS) {
            snprintf(removed + used, sizeof removed - used, "%s%llu %s", used ? ", " : "",
                     (unsigned long long)sample->calls[i], gn_filter_names[i]);
        }
    }
    if (sample->interleaved && !sample->settings->interleaved) {
        note(session, sample->files->name,
             "%s has both ends of pairs, one after the other (interleaved), and was read so",
             sample->files->reads1);
    }
    note(session, sample->files->name, "%.0f reads, %.2f %% mapped, %.0f duplicates", reads,
         reads > 0 ? 100 * mapped / reads : 0, (double)atomic_load(&counts->duplicates));
    note(session, sample->files->name, "%llu variants in %s: %llu pass; removed by filters: %s",
         (unsigned long long)all, sample->files->out, (unsigned long long)sample->calls[GN_PASS],
         removed);
    tell_filters(session, sample);
    if (gn_bins_spilled(sample->bins)) {
        note(session, sample->files->name, "%.1f MB of reads waited in a file in %s",
             (double)gn_bins_spilled(sample->bins) / 1e6, gn_spill_folder());
    }
}

/* --- the run ------------------------------------------------------------------------------------
 */
static int open_samples(struct run *run, struct sy_session *session, struct sy_error *error) {
    uint32_t count = run->settings.count;
    uint32_t cores = session->ops->device_count(session, "parse", SY_FLAVOUR_C);
    uint32_t limit = (2 * (cores ? cores : 1) + 4 + count - 1) / count;
    run->samples = calloc(count, sizeof *run->samples);
    int code = run->samples ? 0 : guest_fail(error, -ENOMEM, NULL, "out of memory");
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        struct gn_sample *sample = &run->samples[i];
        sample->settings = &run->settings;
        sample->files = &run->settings.list[i];
        sample->session = session;
        sample->index = run->index;
        sample->index_datum = run->index_datum;
        sample->bed = run->settings.regions ? &run->bed : NULL;
        sample->batch_limit = limit < 2 ? 2 : limit < GN_OPEN_MAX ? limit : GN_OPEN_MAX;
        sample->part_limit = 2 * sample->batch_limit; /* a slow bin must not keep others waiting */
        code = gn_sample_open(sample, error);
    }
    return code;
}

static int start_samples(struct run *run, struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < run->settings.count; i++) {
        code = gn_sample_start(&run->samples[i], error);
    }
    return code;
}

static int loop(struct run *run, struct sy_session *session, struct sy_error *error) {
    for (;;) {
        void *tag = NULL;
        int code = session->ops->wait(session, &tag);
        if (code < 0) {
            return guest_fail(error, code, NULL, "waiting for tasks: %s", strerror(-code));
        }
        if (!tag) {
            return 0;
        }
        struct gn_step *step = tag;
        struct gn_sample *sample = step->sample;
        if (step->stage == GN_WRITE) { /* nobody writes just now */
            gn_vcf_count(sample->vcf, sample->calls);
        }
        code = gn_sample_ended(step, error);
        if (code < 0) {
            return code;
        }
        if (sample->finished) {
            tell_counts(session, sample);
        }
        tell_progress(session, run);
    }
}

static void finish(struct run *run, struct sy_session *session) {
    for (uint32_t i = 0; run->samples && i < run->settings.count; i++) {
        gn_sample_finish(&run->samples[i]);
    }
    session->ops->drop_data(session, run->index_datum);
    gn_index_close(run->index);
    gn_bed_finish(&run->bed);
    free(run->samples);
    gn_settings_finish(&run->settings);
}

int gn_drive(const char *arguments, struct sy_session *session, struct sy_error *error) {
    struct run run = {0};
    hts_set_log_level(HTS_LOG_OFF); /* what is wrong is told once, by us */
    int code = gn_settings_parse(arguments, &run.settings, error);
    if (code < 0) {
        return code;
    }
    code = open_reference(&run, session, error);
    code = code ? code : open_samples(&run, session, error);
    code = code ? code : start_samples(&run, error);
    code = code ? code : loop(&run, session, error);
    if (code < 0) {
        /* Nothing new is submitted; what runs may still write. Then only files are cleared: the
         * process ends next. */
        void *tag = NULL;
        while (session->ops->wait(session, &tag) == 0 && tag) {
        }
        for (uint32_t i = 0; run.samples && i < run.settings.count; i++) {
            gn_vcf_abandon(run.samples[i].vcf);
            if (run.samples[i].bam) {
                gn_bam_abandon(run.samples[i].bam);
            }
        }
        return code;
    }
    finish(&run, session);
    return 0;
}
