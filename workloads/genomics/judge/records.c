/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of VCF: see records.h.
 */
#include "genomics/judge/records.h"
#include <errno.h>
#include <htslib/kstring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE_MOST = 16 << 20, HEADER_MOST = 64 << 20 };

int gn_records_fail(const struct gn_records *records, struct sy_error *error, const char *message) {
    if (records->reader) {
        return gn_reader_fail(records->reader, error, -EBADMSG, message);
    }
    int code = guest_fail(error, -EBADMSG, NULL, "%s", message);
    snprintf(error->file, sizeof error->file, "%s", records->path);
    return code;
}

/* All lines up to the one that names the columns. */
static int read_header(struct gn_records *records, struct sy_error *error) {
    kstring_t text = KS_INITIALIZE;
    struct gn_line line;
    int code = 0, got = 0;
    bool whole = false;
    while (code == 0 && !whole && (got = gn_reader_next(records->reader, &line, error)) > 0) {
        whole = strncmp(line.text, "#CHROM", 6) == 0;
        if (line.text[0] != '#') {
            code = gn_records_fail(records, error, "this is not a VCF file");
        } else if (text.l + line.length > HEADER_MOST) {
            code = gn_records_fail(records, error, "the header is too long");
        } else if (kputs(line.text, &text) < 0 || kputc('\n', &text) < 0) {
            code = guest_fail(error, -ENOMEM, NULL, "out of memory");
        }
    }
    code = code ? code : got < 0 ? got : 0;
    if (code == 0 && (!whole || bcf_hdr_parse(records->header, text.s) < 0)) {
        code = gn_records_fail(records, error, "the header cannot be read");
    }
    ks_free(&text);
    return code;
}

static int open_text(struct gn_records *records, struct sy_error *error) {
    records->header = bcf_hdr_init("r");
    if (!records->header) {
        return guest_fail(error, -ENOMEM, NULL, "out of memory");
    }
    int code = gn_reader_open(records->path, LINE_MOST, NULL, &records->reader, error);
    return code ? code : read_header(records, error);
}

static bool is_text(const char *path, htsFile *file) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           hts_get_format(file)->format == vcf;
}

int gn_records_open(const char *path, struct gn_records *ret_records, struct sy_error *error) {
    struct gn_records records = {.path = path, .record = bcf_init()};
    int code = 0;
    records.file = records.record ? hts_open(path, "r") : NULL;
    if (!records.file) {
        code = !records.record ? -ENOMEM : errno ? -errno : -EIO;
        guest_fail(error, code, NULL, "cannot read %s: %s", path, strerror(-code));
    } else if (is_text(path, records.file)) {
        hts_close(records.file);
        records.file = NULL;
        code = open_text(&records, error);
    } else {
        records.header = bcf_hdr_read(records.file);
        code = records.header ? 0 : gn_records_fail(&records, error, "this is not a VCF file");
    }
    if (code == 0 && bcf_hdr_nsamples(records.header) != 1) {
        code = gn_records_fail(&records, error, "exactly one sample is expected");
    }
    if (code < 0) {
        gn_records_close(&records);
        return code;
    }
    *ret_records = records;
    return 0;
}

void gn_records_close(struct gn_records *records) {
    gn_reader_close(records->reader);
    bcf_destroy(records->record);
    if (records->header) {
        bcf_hdr_destroy(records->header);
    }
    if (records->file) {
        hts_close(records->file);
    }
    *records = (struct gn_records){0};
}

static int next_line(struct gn_records *records, struct sy_error *error) {
    struct gn_line line;
    int got = gn_reader_next(records->reader, &line, error);
    if (got <= 0) {
        return got;
    }
    kstring_t text = {line.length, line.length + 1, line.text}; /* changed, not grown */
    return vcf_parse(&text, records->header, records->record) < 0 || records->record->errcode
               ? gn_records_fail(records, error, "this line cannot be read")
               : 1;
}

int gn_records_next(struct gn_records *records, struct sy_error *error) {
    if (records->reader) {
        return next_line(records, error);
    }
    int got = bcf_read(records->file, records->header, records->record);
    return got < -1 ? gn_records_fail(records, error, "the file is damaged, or ends too early")
                    : got == 0;
}
