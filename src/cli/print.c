/* SPDX-License-Identifier: Apache-2.0
 *
 * print: text for people, in which names from files can do no harm.
 *
 * In: a format of ours and values. Out: the text; each string that stands for %s is shown
 * (base/show.c), while line ends and the like in the format itself stay. Never knows: terminals.
 */
#include "cli/cli.h"
#include "cli/table.h"

#include <string.h>

/* One conversion of a format. */
struct conversion {
    char flags[8];
    int width, precision; /* -1: none */
    char length[4];
    char letter;
};

static int read_number(const char **at, va_list *list) {
    if (**at == '*') {
        (*at)++;
        return va_arg(*list, int);
    }
    int number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        number = 10 * number + (**at - '0');
    }
    return number;
}

/* at: behind the '%'. Returns what follows. */
static const char *read_conversion(const char *at, va_list *list, struct conversion *ret) {
    *ret = (struct conversion){.width = -1, .precision = -1};
    size_t flags = strspn(at, "-+ #0"), length;
    SY_ASSERT(flags < sizeof(ret->flags));
    memcpy(ret->flags, at, flags);
    at += flags;
    if (*at == '*' || (*at >= '0' && *at <= '9')) {
        ret->width = read_number(&at, list);
    }
    if (*at == '.') {
        at++;
        ret->precision = read_number(&at, list);
    }
    length = strspn(at, "lz");
    SY_ASSERT(length < sizeof(ret->length));
    memcpy(ret->length, at, length);
    ret->letter = at[length];
    return at + length + 1;
}

static void put_string(struct sy_buffer *buffer, const struct conversion *c, const char *text) {
    struct sy_buffer shown = {0};
    size_t length = c->precision < 0 ? strlen(text) : strnlen(text, (size_t)c->precision);
    sy_buffer_show(&shown, text, length);
    sy_buffer_append(&shown, "", 0); /* an empty text, too, is one */
    int width = shown.failed ? 0 : (int)sy_table_width(shown.text);
    int pad = c->width > width ? c->width - width : 0;
    bool left = strchr(c->flags, '-') != NULL;
    sy_buffer_printf(buffer, "%*s", left ? 0 : pad, "");
    sy_buffer_append(buffer, shown.text, shown.length);
    sy_buffer_printf(buffer, "%*s", left ? pad : 0, "");
    buffer->failed = buffer->failed || shown.failed;
    sy_buffer_finish(&shown);
}

static void put_value(struct sy_buffer *buffer, const struct conversion *c, va_list *list) {
    char format[64], width[16] = "", precision[16] = "";
    bool real = strchr("eEfFgG", c->letter), is_long = !real && c->length[0];
    if (c->width >= 0) {
        snprintf(width, sizeof(width), "%d", c->width);
    }
    if (c->precision >= 0) {
        snprintf(precision, sizeof(precision), ".%d", c->precision);
    }
    snprintf(format, sizeof(format), "%%%s%s%s%s%c", c->flags, width, precision,
             is_long ? "ll" : "", c->letter);
    if (real) {
        sy_buffer_printf(buffer, format, va_arg(*list, double));
    } else if (!is_long) {
        sy_buffer_printf(buffer, format, va_arg(*list, int));
    } else if (strcmp(c->length, "ll") == 0) {
        sy_buffer_printf(buffer, format, va_arg(*list, long long));
    } else {
        SY_ASSERT(strcmp(c->length, "l") == 0 || strcmp(c->length, "z") == 0);
        sy_buffer_printf(buffer, format, (long long)va_arg(*list, long));
    }
}

void sy_print_list(struct sy_buffer *buffer, const char *format, size_t length, va_list *list) {
    for (const char *at = format, *end = format + length; at < end;) {
        if (*at != '%') {
            const char *next = memchr(at, '%', (size_t)(end - at));
            sy_buffer_append(buffer, at, (size_t)((next ? next : end) - at));
            at = next ? next : end;
            continue;
        }
        struct conversion conversion;
        at = read_conversion(at + 1, list, &conversion);
        SY_ASSERT(strchr("diuxXceEfFgGs%", conversion.letter));
        if (conversion.letter == '%') {
            sy_buffer_append(buffer, "%", 1);
        } else if (conversion.letter == 's') {
            put_string(buffer, &conversion, va_arg(*list, const char *));
        } else {
            put_value(buffer, &conversion, list);
        }
    }
}

void sy_print(struct sy_buffer *buffer, const char *format, ...) {
    va_list list;
    va_start(list, format);
    sy_print_list(buffer, format, strlen(format), &list);
    va_end(list);
}
