/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind a policy's name: [+ORDER][:NUMBER][@WEIGHTS][~PART]...
 *
 * In: the text behind the name, and the policy it is for. Out: order, number, path of weights,
 * parts left out; one error for what is wrong. Invariant: what a policy would not obey is refused,
 * never passed over.
 */
#include "schedulers/policy.h"
#include <errno.h>
#include <string.h>

#define NUMBER_MAX 1000000000
#define PATH_LIMIT 4096
#define PART_LIMIT 32 /* bits of a set of parts */

static const char *const part_names[] = {"belief", "topology", "graph", "lstm",
                                         "guard",  "backbone", "plans", "net"};

const char *sy_policy_part_at(uint32_t index) {
    return index < SY_COUNT(part_names) ? part_names[index] : NULL;
}

uint32_t sy_policy_part(const char *name, size_t length) {
    for (uint32_t i = 0; i < SY_COUNT(part_names); i++) {
        if (strlen(part_names[i]) == length && memcmp(part_names[i], name, length) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static int read_order(const char *text, size_t length, enum order *ret_order,
                      struct sy_error *error) {
    if (sy_order_parse(text, length, ret_order)) {
        return 0;
    }
    sy_fail(error, -EINVAL, "there is no job order '%.*s'", (int)(length < 40 ? length : 40), text);
    sy_hint(error, "none, fifo, srpt, wspt, fair, share0, share1 or share2");
    return -EINVAL;
}

static int read_number(const struct sy_scheduler_ops *ops, const char *text, size_t length,
                       uint64_t *ret_number, struct sy_error *error) {
    uint64_t number = 0;
    if (!ops->takes_number) {
        return sy_fail(error, -EINVAL, "policy %s takes no number", ops->name);
    }
    if (!sy_parse_u64(text, length, &number) || !number || number > NUMBER_MAX) {
        return sy_fail(error, -EINVAL, "'%.*s' after %s is not a number from 1 to %d",
                       (int)(length < 40 ? length : 40), text, ops->name, NUMBER_MAX);
    }
    *ret_number = number;
    return 0;
}

static int read_weights(const struct sy_scheduler_ops *ops, const char *path, size_t length,
                        struct sy_error *error) {
    if (!ops->net) {
        sy_fail(error, -EINVAL, "policy %s has no weights, so '@' has no meaning", ops->name);
        sy_hint(error, "symph simulate --list-policies shows which policies have");
        return -EINVAL;
    }
    if (!length || length >= PATH_LIMIT) {
        sy_fail(error, -EINVAL, "no %s after '@' in the name of policy %s",
                length ? "usable path (it is too long)" : "path", ops->name);
        sy_hint(error, "%s@FILE; '~' begins a part to leave out: write a home folder in full",
                ops->name);
        return -EINVAL;
    }
    if (memchr(path, ',', length)) {
        sy_fail(error, -EINVAL, "'%.*s': commas separate policies, so a path cannot have one",
                (int)(length < 80 ? length : 80), path);
        sy_hint(error, "rename the weights, or make a link to them");
        return -EINVAL;
    }
    return 0;
}

/* "belief, guard": the parts in a set of them. */
static const char *list_parts(uint32_t set, char *text, size_t size) {
    const char *name = NULL;
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < PART_LIMIT && (name = sy_policy_part_at(i)) && at < size; i++) {
        if (set >> i & 1) {
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", name);
        }
    }
    return text;
}

static int refuse_part(const struct sy_scheduler_ops *ops, const char *part, size_t length,
                       struct sy_error *error) {
    const char *names[PART_LIMIT], *name = NULL;
    char word[40], list[160];
    size_t count = 0;
    for (uint32_t i = 0; i < PART_LIMIT && (name = sy_policy_part_at(i)); i++) {
        if (ops->net && ops->net->parts >> i & 1) {
            names[count++] = name;
        }
    }
    if (!count) {
        return sy_fail(error, -EINVAL, "policy %s has no parts to leave out, so '~' has no meaning",
                       ops->name);
    }
    snprintf(word, sizeof word, "%.*s", (int)(length < 39 ? length : 39), part);
    sy_fail(error, -EINVAL, "policy %s has no part '%s'", ops->name, word);
    const char *near = sy_nearest(word, names, count);
    list_parts(ops->net->parts, list, sizeof list);
    if (near) {
        sy_hint(error, "did you mean '%s'? It has %s", near, list);
    } else {
        sy_hint(error, "it has %s", list);
    }
    return -EINVAL;
}

static int read_parts(const struct sy_scheduler_ops *ops, const char *args, uint32_t *ret_without,
                      struct sy_error *error) {
    uint32_t without = 0;
    while (*args == '~') {
        size_t length = strcspn(++args, "~");
        uint32_t part = ops->net ? sy_policy_part(args, length) & ops->net->parts : 0;
        if (!part) {
            return refuse_part(ops, args, length, error);
        }
        without |= part;
        args += length;
    }
    *ret_without = without;
    return 0;
}

int sy_policy_args(const struct sy_scheduler_ops *ops, const char *args,
                   struct policy_args *ret_args, struct sy_error *error) {
    struct policy_args read = {0};
    int code = 0;
    if (*args == '+') {
        size_t length = strcspn(++args, ":@~");
        code = read_order(args, length, &read.order, error);
        args += length;
    }
    if (!code && *args == ':') {
        size_t length = strcspn(++args, "@~");
        code = read_number(ops, args, length, &read.number, error);
        args += length;
    }
    if (!code && *args == '@') {
        read.weights = ++args;
        read.weights_length = strcspn(args, "~");
        code = read_weights(ops, args, read.weights_length, error);
        args += read.weights_length;
    }
    if (!code) {
        code = read_parts(ops, args, &read.without, error);
        args += *args == '~' ? strlen(args) : 0;
    }
    if (!code && *args) {
        code = sy_fail(error, -EINVAL, "'%.40s' after %s is not allowed", args, ops->name);
        sy_hint(error, "NAME+ORDER:NUMBER@WEIGHTS~PART, in this order");
    }
    if (!code) {
        *ret_args = read;
    }
    return code;
}

bool sy_policy_fits(const struct sy_scheduler_ops *ops, const struct sy_weights *weights) {
    const struct sy_policy_net *net = ops->net;
    return net && strcmp(weights->kind, net->kind) == 0 && weights->shape == net->shape &&
           weights->count == net->count;
}

int sy_policy_weights(const struct sy_scheduler_ops *ops, const struct policy_args *args,
                      struct sy_weights *ret_weights, struct sy_error *error) {
    char path[PATH_LIMIT];
    struct sy_weights weights;
    snprintf(path, sizeof path, "%.*s", (int)args->weights_length, args->weights);
    int code = sy_weights_open(path, &weights, error);
    if (code) {
        return code;
    }
    if (!sy_policy_fits(ops, &weights)) {
        code = sy_fail_at(
            error, -EINVAL, path, 0, 0,
            "weights of kind %s, shape %u, %u numbers; policy %s needs kind %s, shape %u, "
            "%u numbers",
            weights.kind, weights.shape, weights.count, ops->name, ops->net->kind, ops->net->shape,
            ops->net->count);
        sy_hint(error, "train them again with symph train");
        sy_weights_close(&weights);
        return code;
    }
    *ret_weights = weights;
    return 0;
}
