/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of a user's: intervals (BED), and samples. Whatever they hold: intervals in order and
 * inside of the reference, samples whose names a header can hold, or an error that names the line.
 */
#include "genomics/bed.h"
#include "genomics/names.h"
#include "genomics/settings.h"
#include "memory_file.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition) {
    if (!condition) {
        abort();
    }
}

static struct gn_index *make_index(void) {
    static const char text[] = ">one\nACGTACGTACGTACGTACGTACGTACGT\n>two\nACGT\n";
    struct gn_fasta *fasta;
    struct gn_genome genome;
    struct gn_index *index = NULL;
    struct sy_error error;
    demand(gn_fasta_create("fuzz", &fasta, &error) == 0 &&
           gn_fasta_feed(fasta, text, sizeof text - 1, &error) == 0 &&
           gn_fasta_end(fasta, &genome, &error) == 0 &&
           gn_index_build(&genome, &index, &error) == 0);
    gn_fasta_destroy(fasta);
    gn_genome_finish(&genome);
    return index;
}

static void as_bed(const char *path) {
    struct gn_index *index = make_index();
    struct gn_bed bed;
    struct sy_error error = {0};
    if (gn_bed_read(path, index, &bed, &error) == 0) {
        for (uint32_t i = 0; i < bed.count; i++) {
            demand(bed.intervals[i].start <= bed.intervals[i].end &&
                   bed.intervals[i].end <= index->length &&
                   (i == 0 || bed.intervals[i - 1].end < bed.intervals[i].start));
        }
        gn_bed_finish(&bed);
    } else {
        demand(error.message[0]);
    }
    gn_index_close(index);
}

static void as_samples(const char *path) {
    struct gn_settings settings;
    struct sy_error error = {0};
    char arguments[128];
    snprintf(arguments, sizeof arguments, "ref=x.fa,samples=%s", path);
    if (gn_settings_parse(arguments, &settings, &error) == 0) {
        demand(settings.count > 0);
        for (uint32_t i = 0; i < settings.count; i++) {
            const struct gn_sample_settings *sample = &settings.list[i];
            demand(!gn_sample_wrong(sample->name, sample->bam != NULL) && sample->reads1[0] &&
                   sample->out[0]);
        }
        gn_settings_finish(&settings);
    } else {
        demand(error.message[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int descriptor = memory_file(data, size, path, sizeof path);
    as_bed(path);
    as_samples(path);
    close(descriptor);
    return 0;
}
