/* SPDX-License-Identifier: Apache-2.0
 *
 * A session of your own, complete: Eratosthenes' sieve in segments. No graph is known in advance:
 * how many tasks there are depends on what is found. Build and try:
 *
 *   cc -shared -fPIC $(pkg-config --cflags symph) -o primes.so session_primes.c
 *   symph run primes:sieve:below=10000000 --kernels ./primes.so
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symph/kernel.h>
#include <symph/session.h>

#define SEGMENT 1000000u /* numbers per task */
#define WINDOW  16u      /* tasks under way */

/* Arguments: the primes below the root; the segment's first number, and a byte per number. */
static int sieve_c(const struct sy_call *call) {
    const uint32_t *primes = call->arguments[0].pointer;
    uint32_t *head = call->arguments[1].pointer, first = head[0];
    unsigned char *composite = (unsigned char *)(head + 1);
    uint64_t count = call->arguments[1].bytes - sizeof *head;
    memset(composite, 0, count);
    for (uint32_t i = 1; i <= primes[0]; i++) {
        uint64_t at = ((uint64_t)first + primes[i] - 1) / primes[i] * primes[i];
        at = at < (uint64_t)primes[i] * primes[i] ? (uint64_t)primes[i] * primes[i] : at;
        for (; at < first + count; at += primes[i]) {
            composite[at - first] = 1;
        }
    }
    return 0;
}

static const struct sy_kernel_entry kernels[] = {
    {.name = "primes_sieve",
     .summary = "strikes multiples out of a segment",
     .argument_count = 2,
     .modes = {SY_READ, SY_READ_WRITE},
     .functions = {[SY_FLAVOUR_C] = sieve_c}},
};

/* --- the driver ---------------------------------------------------------------------------------
 */
struct sieve {
    struct sy_session *session;
    uint32_t below, begun, found; /* numbers below begun are under way or done */
    uint32_t job, primes;         /* datum: the small ones */
};

struct segment {
    uint32_t datum, count;
    uint32_t *memory;
};

static uint64_t bytes_of(const struct segment *segment) {
    return sizeof(uint32_t) + segment->count;
}

static int begin(struct sieve *sieve, struct segment *segment) {
    const struct sy_session_ops *ops = sieve->session->ops;
    uint32_t left = sieve->below - sieve->begun;
    segment->count = left < SEGMENT ? left : SEGMENT;
    segment->memory = ops->allocate(sieve->session, bytes_of(segment));
    if (!segment->memory) {
        return -ENOMEM;
    }
    segment->memory[0] = sieve->begun;
    sieve->begun += segment->count;
    int code = ops->add_data(sieve->session, "segment", segment->memory, bytes_of(segment),
                             &segment->datum);
    const struct sy_access accesses[] = {{sieve->primes, SY_READ},
                                         {segment->datum, SY_READ_WRITE | SY_FETCH_BACK}};
    const struct sy_session_task task = {.kernel = "primes_sieve",
                                         .work = segment->count,
                                         .accesses = accesses,
                                         .access_count = 2,
                                         .job = sieve->job,
                                         .tag = segment};
    return code ? code : ops->submit(sieve->session, &task);
}

static void end(struct sieve *sieve, struct segment *segment) {
    const struct sy_session_ops *ops = sieve->session->ops;
    const unsigned char *composite = (const unsigned char *)(segment->memory + 1);
    for (uint32_t i = 0; i < segment->count; i++) {
        sieve->found += !composite[i] && segment->memory[0] + i >= 2;
    }
    ops->progress(sieve->session, segment->memory[0], sieve->below, "numbers");
    ops->drop_data(sieve->session, segment->datum);
    ops->release(sieve->session, segment->memory, bytes_of(segment));
}

static uint32_t small_primes(uint32_t below, uint32_t *primes) {
    uint32_t count = 0;
    for (uint32_t n = 2; (uint64_t)(n - 1) * (n - 1) < below; n++) {
        uint32_t i = 1;
        while (i <= count && n % primes[i]) {
            i++;
        }
        if (i > count) {
            primes[++count] = n;
        }
    }
    return count;
}

static int drive(const char *arguments, struct sy_session *session, struct sy_error *error) {
    static uint32_t primes[8192]; /* below 2^16 there are 6542 */
    struct sieve sieve = {.session = session, .below = 10000000};
    struct segment segments[WINDOW];
    if (arguments[0] && sscanf(arguments, "below=%u", &sieve.below) != 1) {
        snprintf(error->message, sizeof error->message, "cannot read '%s'", arguments);
        return -EINVAL;
    }
    primes[0] = small_primes(sieve.below, primes);
    int code = session->ops->begin_job(session, "sieve", "", 1, &sieve.job);
    code = code ? code
                : session->ops->add_data(session, "primes", primes,
                                         (primes[0] + 1) * sizeof *primes, &sieve.primes);
    for (uint32_t i = 0; i < WINDOW && sieve.begun < sieve.below && !code; i++) {
        code = begin(&sieve, &segments[i]);
    }
    for (void *tag = NULL; !code && !(code = session->ops->wait(session, &tag)) && tag;) {
        end(&sieve, tag);
        code = sieve.begun < sieve.below ? begin(&sieve, tag) : 0;
    }
    char text[16];
    snprintf(text, sizeof text, "%u", sieve.found);
    session->ops->note(session, "primes", text);
    return code;
}

static const struct sy_kernel_workload workloads[] = {
    {.name = "sieve", .summary = "counts primes", .usage = "below=NUMBER", .drive = drive}};
static const struct sy_kernel_table primes_table = {.name = "primes",
                                                    .version = "1",
                                                    .summary = "an example of a session",
                                                    .kernels = kernels,
                                                    .kernel_count = 1,
                                                    .workloads = workloads,
                                                    .workload_count = 1};

SY_KERNEL_PLUGIN(primes_table);
