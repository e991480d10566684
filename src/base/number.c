/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers from text: strict, exactly rounded, the same in every locale.
 *
 * In: text of a stranger. Out: a number, or no. The grammar is judged here; strtod only rounds what
 * the fast path cannot, and never decides what is a number.
 */
#include "base/base.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX     1100 /* any double written out in full is shorter */
#define DIGITS_MAX   19   /* more may not fit 64 bits */
#define WHOLE_MAX    ((uint64_t)1 << 53)
#define EXPONENT_MAX 100000 /* beyond it all is 0 or infinite; saturating here avoids overflow */

/* digits * 10^exponent, as written; digits holds all of them if count <= DIGITS_MAX. */
struct decimal {
    uint64_t digits;
    ptrdiff_t count, exponent;
    bool negative;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Adds a run of digits and returns its end; NULL if there is none. */
static const char *take_digits(const char *at, const char *end, struct decimal *number) {
    const char *start = at;
    uint64_t digits = number->digits;
    for (; at < end && is_digit(*at); at++) {
        digits = digits * 10 + (uint64_t)(*at - '0');
    }
    number->digits = digits;
    number->count += at - start;
    return at > start ? at : NULL;
}

static const char *take_exponent(const char *at, const char *end, struct decimal *number) {
    bool negative = at < end && *at == '-';
    at += negative || (at < end && *at == '+');
    const char *start = at;
    ptrdiff_t exponent = 0;
    for (; at < end && is_digit(*at); at++) {
        exponent = exponent < EXPONENT_MAX ? exponent * 10 + (*at - '0') : exponent;
    }
    number->exponent += negative ? -exponent : exponent;
    return at > start ? at : NULL;
}

/* -?(digits|digits.digits|.digits)([eE][+-]?digits)? and nothing after it. */
static bool scan(const char *at, const char *end, struct decimal *number) {
    number->negative = at < end && *at == '-';
    at += number->negative;
    at = at < end && *at == '.' ? at : take_digits(at, end, number);
    if (at && at < end && *at == '.') {
        const char *fraction = at + 1;
        at = take_digits(fraction, end, number);
        number->exponent = at ? fraction - at : 0;
    }
    if (at && at < end && (*at == 'e' || *at == 'E')) {
        at = take_exponent(at + 1, end, number);
    }
    return at && at == end;
}

/* The fast path of Clinger, "How to read floating point numbers accurately" (PLDI 1990): a whole
 * number up to 2^53 and a power of ten up to 10^22 are doubles without error, so the one rounding
 * of their product or quotient is the rounding of the exact value. */
static bool round_once(const struct decimal *number, double *ret_value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const ptrdiff_t most = (ptrdiff_t)SY_COUNT(powers) - 1;
    /* Where doubles are computed in wider registers the result would be rounded twice. */
    if (FLT_EVAL_METHOD != 0 || number->count > DIGITS_MAX || number->digits > WHOLE_MAX ||
        number->exponent < -most || number->exponent > most) {
        return false;
    }
    double value = (double)number->digits;
    value =
        number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    *ret_value = number->negative ? -value : value;
    return true;
}

/* For text that scan accepted. The locale is named, because a program that uses the library may
 * have chosen one in which 1.5 is written 1,5; libc makes no new object for "C". */
static bool round_slowly(const char *text, size_t length, double *ret_value) {
    char copy[TEXT_MAX + 1];
    locale_t plain = length <= TEXT_MAX ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    if (!plain) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    double value = strtod_l(copy, NULL, plain);
    freelocale(plain);
    if (!isfinite(value)) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool sy_parse_double(const char *text, size_t length, double *ret_value) {
    struct decimal number = {0};
    return scan(text, text + length, &number) &&
           (round_once(&number, ret_value) || round_slowly(text, length, ret_value));
}

bool sy_parse_u64(const char *text, size_t length, uint64_t *ret_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value)) {
            return false;
        }
    }
    if (length == 0) {
        return false;
    }
    *ret_value = value;
    return true;
}
