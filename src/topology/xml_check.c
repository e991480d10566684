/* SPDX-License-Identifier: Apache-2.0
 *
 * xml_check: is this well-formed XML with a <topology> in it.
 *
 * In: text. Out: 0, or an error with line and column, which hwloc's own reader would not give.
 * Never knows: what a topology means. Tags, attributes, comments and declarations only; nothing is
 * unescaped or kept.
 */
#include "topology/topology.h"
#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 256

struct name {
    const char *text;
    size_t length;
};

struct scan {
    const char *file, *text, *end, *at;
    struct sy_error *error;
    struct name open[DEPTH_MAX];
    uint32_t depth;
    bool done; /* the root element was closed */
};

__attribute__((format(printf, 3, 4))) static int fail(struct scan *scan, const char *at,
                                                      const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = sy_fail_in(scan->error, scan->file, scan->text, at, format, args);
    va_end(args);
    return code;
}

static int shown(size_t length) {
    return length < 40 ? (int)length : 40;
}

static void skip_space(struct scan *scan) {
    while (scan->at < scan->end && isspace((unsigned char)*scan->at)) {
        scan->at++;
    }
}

static struct name read_name(struct scan *scan) {
    struct name name = {.text = scan->at};
    while (scan->at < scan->end && (isalnum((unsigned char)*scan->at) || *scan->at == '_' ||
                                    *scan->at == '-' || *scan->at == ':' || *scan->at == '.')) {
        scan->at++;
    }
    name.length = (size_t)(scan->at - name.text);
    return name;
}

static bool is(const struct name *name, const char *text) {
    return name->length == strlen(text) && memcmp(name->text, text, name->length) == 0;
}

/* Moves behind the next occurrence of mark. */
static int skip_past(struct scan *scan, const char *mark) {
    const char *start = scan->at;
    const char *found = memmem(start, (size_t)(scan->end - start), mark, strlen(mark));
    if (!found) {
        return fail(scan, start, "the text ends before \"%s\"", mark);
    }
    scan->at = found + strlen(mark);
    return 0;
}

static int check_version(struct scan *scan, const char *value) {
    unsigned long major = strtoul(value, NULL, 10);
    if (major > HWLOC_API_VERSION >> 16) {
        fail(scan, value, "written by hwloc %lu, which is newer than the one here", major);
        return sy_hint(scan->error, "export it again with lstopo --of xml --export-xml-flags v2");
    }
    return 0;
}

static int read_attribute(struct scan *scan, bool root) {
    struct name name = read_name(scan);
    if (name.length == 0) {
        return fail(scan, scan->at,
                    scan->at == scan->end ? "the text ends inside a tag" : "expected an attribute");
    }
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != '=') {
        return fail(scan, scan->at, "expected '=' behind %.*s", shown(name.length), name.text);
    }
    scan->at++;
    skip_space(scan);
    char quote = scan->at < scan->end ? *scan->at : '\0';
    if (quote != '"' && quote != '\'') {
        return fail(scan, scan->at, "expected a quoted value for %.*s", shown(name.length),
                    name.text);
    }
    const char *value = ++scan->at;
    const char *close = memchr(value, quote, (size_t)(scan->end - value));
    const char *tag = memchr(value, '<', (size_t)((close ? close : scan->end) - value));
    if (!close || tag) {
        return fail(scan, value - 1, "the quote is not closed");
    }
    scan->at = close + 1;
    return root && is(&name, "version") ? check_version(scan, value) : 0;
}

static int close_tag(struct scan *scan) {
    const char *start = scan->at;
    scan->at += 2;
    struct name name = read_name(scan);
    skip_space(scan);
    if (scan->at == scan->end || *scan->at != '>') {
        return fail(scan, scan->at, "expected '>'");
    }
    scan->at++;
    if (scan->depth == 0) {
        return fail(scan, start, "</%.*s> closes nothing", shown(name.length), name.text);
    }
    const struct name *open = &scan->open[--scan->depth];
    if (open->length != name.length || memcmp(open->text, name.text, name.length) != 0) {
        return fail(scan, start, "</%.*s> closes <%.*s>", shown(name.length), name.text,
                    shown(open->length), open->text);
    }
    scan->done = scan->depth == 0;
    return 0;
}

static int begin_element(struct scan *scan, const struct name *name, const char *start) {
    if (name->length == 0) {
        return fail(scan, start, "expected the name of a tag");
    }
    if (scan->depth == 0 && scan->done) {
        return fail(scan, start, "a second root element");
    }
    if (scan->depth == 0 && !is(name, "topology")) {
        fail(scan, start, "<%.*s> is not a machine", shown(name->length), name->text);
        return sy_hint(scan->error, "expected <topology>, as written by lstopo --of xml");
    }
    if (scan->depth == DEPTH_MAX) {
        return fail(scan, start, "nested deeper than %d", DEPTH_MAX);
    }
    scan->open[scan->depth++] = *name;
    return 0;
}

static int open_tag(struct scan *scan) {
    const char *start = scan->at++;
    struct name name = read_name(scan);
    bool root = scan->depth == 0;
    int code = begin_element(scan, &name, start);
    for (skip_space(scan); !code; skip_space(scan)) {
        if (scan->at < scan->end && *scan->at == '>') {
            scan->at++;
            return 0;
        }
        if (scan->end - scan->at >= 2 && memcmp(scan->at, "/>", 2) == 0) {
            scan->at += 2;
            scan->depth--;
            scan->done = scan->depth == 0;
            return 0;
        }
        code = read_attribute(scan, root);
    }
    return code;
}

/* Anything from '<' to its '>'. */
static int read_markup(struct scan *scan) {
    size_t left = (size_t)(scan->end - scan->at);
    if (left >= 4 && memcmp(scan->at, "<!--", 4) == 0) {
        return skip_past(scan, "-->");
    }
    if (left >= 2 && scan->at[1] == '?') {
        return skip_past(scan, "?>");
    }
    if (left >= 2 && scan->at[1] == '!') {
        return skip_past(scan, ">");
    }
    return left >= 2 && scan->at[1] == '/' ? close_tag(scan) : open_tag(scan);
}

static int fail_end(struct scan *scan) {
    if (scan->depth == 0) {
        return fail(scan, scan->at, "there is no <topology>");
    }
    const struct name *open = &scan->open[scan->depth - 1];
    fail(scan, scan->at, "the text ends inside <%.*s>", shown(open->length), open->text);
    return sy_hint(scan->error, "the file seems to be cut off");
}

int sy_xml_check(const char *file, const char *text, size_t length, struct sy_error *error) {
    struct scan scan = {
        .file = file, .text = text, .end = text + length, .at = text, .error = error};
    while (scan.at < scan.end) {
        if (*scan.at == '<') {
            int code = read_markup(&scan);
            if (code) {
                return code;
            }
        } else if (scan.depth == 0 && !isspace((unsigned char)*scan.at)) {
            return fail(&scan, scan.at, "text outside of <topology>");
        } else {
            scan.at++;
        }
    }
    return scan.done ? 0 : fail_end(&scan);
}
