/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of devices in a made-up machine, where time is a number: what each tenant gets while all
 * want more, how long newcomers wait, and that neither a task without end nor garbage on a desk
 * costs the others more than it must.
 */
#include "../base/check.h"
#include "broker/broker.h"
#include <math.h>
#include <string.h>

#define MS           1000000ull
#define CORES_MAX    16
#define PROGRAMS_MAX 6
#define QUANTUM      (5 * MS)
#define CORE_QUANTUM (100 * MS)
#define GRACE        (50 * MS)

/* A program with a worker for each device, whose tasks all take so long. */
struct program {
    const char *tenant;
    uint64_t task_ns;
    uint64_t from_ns, to_ns; /* while it wants anything; to_ns 0: always */
    bool hangs, scribbles;
    bool joined;
    uint32_t client;
    struct sy_lease_board board;
    struct sy_lease_desk desk;
    struct {
        uint64_t lease, ends_ns; /* what it holds, until when its task runs */
        bool used;
    } workers[CORES_MAX];
    double used_s;
    uint64_t wanted_ns, longest_ns;
};

struct stage {
    struct sy_arbiter *arbiter;
    struct program *programs;
    uint32_t count, devices;
    char names[CORES_MAX][SY_BROKER_NAME];
    uint64_t now_ns, then_ns;
    struct sy_rng rng;
};

static void no_wake(void *context, const _Atomic uint32_t *bell) {
    (void)context, (void)bell;
}

static void open(struct stage *s, struct program *programs, uint32_t count, const char *device,
                 uint32_t devices) {
    const struct sy_arbiter_options options = {.quantum_ns = QUANTUM,
                                               .core_quantum_ns = CORE_QUANTUM,
                                               .least_ns = MS / 2,
                                               .grace_ns = GRACE,
                                               .wake = no_wake};
    *s = (struct stage){.programs = programs,
                        .count = count,
                        .devices = devices,
                        .now_ns = 1,
                        .rng = sy_rng_make(1, 0, 0)};
    assert_int_equal(sy_arbiter_create(&options, &s->arbiter), 0);
    for (uint32_t d = 0; d < devices; d++) {
        snprintf(s->names[d], sizeof s->names[d], "%s%u", device, d);
    }
}

static void join(struct stage *s, struct program *p) {
    const struct sy_arbiter_client client = {.tenant = p->tenant,
                                             .board = &p->board,
                                             .desk = &p->desk,
                                             .devices = (const char(*)[SY_BROKER_NAME])s->names,
                                             .device_count = s->devices};
    assert_int_equal(sy_arbiter_join(s->arbiter, &client, s->now_ns, &p->client), 0);
    p->joined = true;
}

/* Nobody ever has what another works with, but for those who do not let go. */
static void check_alone(const struct stage *s, uint32_t device) {
    uint32_t at_work = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct program *p = &s->programs[i];
        at_work += !p->hangs && p->workers[device].ends_ns > s->now_ns;
    }
    assert_true(at_work <= 1);
}

/* As lease.c does it. Whether the broker must look. */
static bool work(struct stage *s, struct program *p, uint32_t d) {
    struct sy_lease_seat *seat = &p->board.seats[d];
    struct sy_lease_place *place = &p->desk.places[d];
    bool wants = s->now_ns >= p->from_ns && (!p->to_ns || s->now_ns < p->to_ns);
    bool rang = false;
    if (p->workers[d].ends_ns > s->now_ns) {
        return false;
    }
    if (place->hold) {
        place->hold = 0;
        rang = seat->grant != p->workers[d].lease;
    }
    if (p->scribbles) {
        place->want = sy_rng_u32(&s->rng) & 1;
        place->hold = sy_rng_u32(&s->rng);
        place->yielded = sy_rng_u32(&s->rng) & 3;
        return true;
    }
    if (wants != (place->want == 1)) {
        place->want = wants;
        rang |= !wants ? seat->until_ns != 0 : !seat->grant;
    }
    if (!wants || !seat->grant || seat->grant == place->yielded) {
        return rang;
    }
    if (p->workers[d].lease != seat->grant) {
        p->workers[d].lease = seat->grant;
    } else if (seat->until_ns && s->now_ns >= seat->until_ns) {
        place->yielded = seat->grant;
        return true;
    }
    place->hold = seat->grant;
    p->workers[d].ends_ns = p->hangs ? UINT64_MAX : s->now_ns + p->task_ns;
    check_alone(s, d);
    return rang;
}

static void account(struct stage *s, uint64_t step_ns) {
    for (uint32_t i = 0; i < s->count; i++) {
        struct program *p = &s->programs[i];
        bool works = false;
        for (uint32_t d = 0; d < s->devices; d++) {
            bool at_it = p->workers[d].ends_ns > s->now_ns;
            p->used_s += at_it ? (double)step_ns * 1e-9 : 0;
            works |= at_it;
        }
        bool wants = s->now_ns >= p->from_ns && (!p->to_ns || s->now_ns < p->to_ns);
        p->wanted_ns = !wants || works ? 0 : p->wanted_ns + step_ns;
        p->longest_ns = p->wanted_ns > p->longest_ns ? p->wanted_ns : p->longest_ns;
    }
}

static void play(struct stage *s, uint64_t until_ns, uint64_t step_ns) {
    for (; s->now_ns < until_ns; s->now_ns += step_ns) {
        for (uint32_t i = 0; i < s->count; i++) {
            struct program *p = &s->programs[i];
            bool rang = !p->joined;
            if (!p->joined) {
                join(s, p);
            }
            for (uint32_t d = 0; d < s->devices; d++) {
                rang |= work(s, p, d);
            }
            if (rang) {
                s->then_ns = sy_arbiter_step(s->arbiter, p->client, s->now_ns);
            }
        }
        if (s->now_ns >= s->then_ns) {
            s->then_ns = sy_arbiter_step(s->arbiter, SY_NONE, s->now_ns);
        }
        account(s, step_ns);
    }
}

static double told_s(const struct stage *s, const char *tenant) {
    struct sy_arbiter_tenant t;
    for (uint32_t i = 0; sy_arbiter_tenant(s->arbiter, i, &t); i++) {
        if (strcmp(t.name, tenant) == 0) {
            return t.used_s;
        }
    }
    return NAN;
}

/* --- shares ------------------------------------------------------------------------------------
 */
static void shares_follow_weights(void **state) {
    static const struct {
        const char *device;
        uint32_t devices, programs;
        double weights[3];
        uint64_t task_us[3];
    } cases[] = {
        {"gpu", 1, 2, {1, 1}, {100, 100}},
        {"gpu", 1, 2, {3, 1}, {100, 100}},
        {"gpu", 1, 2, {1, 1}, {100, 2000}}, /* who has longer tasks gains nothing by it */
        {"gpu", 2, 3, {1, 2, 5}, {300, 100, 700}},
        {"core:", 2, 2, {1, 1}, {200, 200}},
        {"core:", 2, 2, {3, 1}, {200, 200}},
        {"core:", 2, 2, {5, 1}, {200, 3000}},
        {"core:", 2, 3, {1, 1, 1}, {200, 200, 200}},
        {"core:", 16, 2, {3, 1}, {500, 200}},
        {"core:", 16, 3, {1, 1, 1}, {500, 200, 900}},
    };
    static const char *const names[] = {"ann", "bob", "eve"};
    (void)state;
    for (size_t c = 0; c < SY_COUNT(cases); c++) {
        static struct program programs[PROGRAMS_MAX];
        struct stage s;
        double sum_s = 0, weights = 0;
        const uint64_t seconds = 20;
        memset(programs, 0, sizeof programs);
        open(&s, programs, cases[c].programs, cases[c].device, cases[c].devices);
        for (uint32_t i = 0; i < cases[c].programs; i++) {
            programs[i].tenant = names[i];
            programs[i].task_ns = cases[c].task_us[i] * 1000;
            weights += cases[c].weights[i];
            assert_int_equal(sy_arbiter_set_weight(s.arbiter, names[i], cases[c].weights[i]), 0);
        }
        play(&s, seconds * 1000 * MS, MS / 20);
        for (uint32_t i = 0; i < cases[c].programs; i++) {
            double share = programs[i].used_s / ((double)seconds * cases[c].devices);
            double ratio = share / (cases[c].weights[i] / weights);
            if (fabs(ratio - 1) > 0.05) {
                fail_msg("case %zu: %s has %.3f of its share: %.2f, %.2f and %.2f s", c, names[i],
                         ratio, programs[0].used_s, programs[1].used_s, programs[2].used_s);
            }
            double told = told_s(&s, names[i]);
            if (fabs(told / programs[i].used_s - 1) > 0.05) {
                fail_msg("case %zu: %s is told to have used %.2f s, not %.2f", c, names[i], told,
                         programs[i].used_s);
            }
            sum_s += programs[i].used_s;
        }
        assert_true(sum_s > 0.97 * (double)seconds * cases[c].devices);
        sy_arbiter_destroy(s.arbiter);
    }
}

/* A tenant with three programs has no more than one with one. */
static void programs_share_what_their_tenant_has(void **state) {
    (void)state;
    static struct program programs[PROGRAMS_MAX];
    static const char *const tenants[] = {"ann", "ann", "ann", "bob"};
    for (int cores = 0; cores < 2; cores++) {
        struct stage s;
        memset(programs, 0, sizeof programs);
        open(&s, programs, SY_COUNT(tenants), cores ? "core:" : "gpu", cores ? 8 : 1);
        for (uint32_t i = 0; i < s.count; i++) {
            programs[i].tenant = tenants[i];
            programs[i].task_ns = MS / 2;
        }
        play(&s, 20000 * MS, MS / 20);
        double whole_s = 20.0 * s.devices;
        assert_true(fabs(programs[3].used_s / whole_s - 0.5) < 0.03);
        for (uint32_t i = 0; i < 3; i++) {
            assert_true(fabs(programs[i].used_s / whole_s - 0.5 / 3) < 0.02);
        }
        sy_arbiter_destroy(s.arbiter);
    }
}

/* --- waits -------------------------------------------------------------------------------------
 */
static void who_was_away_waits_for_a_task_only(void **state) {
    (void)state;
    static struct program programs[PROGRAMS_MAX];
    for (int cores = 0; cores < 2; cores++) {
        struct stage s;
        memset(programs, 0, sizeof programs);
        open(&s, programs, 2, cores ? "core:" : "gpu", cores ? 2 : 1);
        programs[0] = (struct program){.tenant = "hungry", .task_ns = 2 * MS};
        programs[1] = (struct program){
            .tenant = "now and then", .task_ns = MS / 5, .from_ns = 3000 * MS, .to_ns = 3003 * MS};
        play(&s, 5000 * MS, MS / 50);
        assert_true(programs[1].longest_ns <= 3 * MS); /* half a millisecond, and the task */
        assert_true(programs[1].used_s > 0);
        assert_near(programs[0].used_s, 5.0 * s.devices, 0.05);
        sy_arbiter_destroy(s.arbiter);
    }
}

/* A core that was lent comes back as soon as it is wanted, as often as that may be. */
static void what_was_lent_comes_back(void **state) {
    (void)state;
    static struct program programs[2];
    struct stage s;
    memset(programs, 0, sizeof programs);
    open(&s, programs, 2, "core:", 2);
    programs[0] = (struct program){.tenant = "ann", .task_ns = MS};
    programs[1] = (struct program){.tenant = "bob", .task_ns = MS};
    play(&s, 1000 * MS, MS / 50);
    for (uint64_t i = 0; i < 100; i++) {
        programs[1].to_ns = s.now_ns; /* nothing to do for 3 ms, and something again for 7 */
        play(&s, s.now_ns + 3 * MS, MS / 50);
        programs[1].from_ns = s.now_ns;
        programs[1].to_ns = 0;
        programs[1].longest_ns = programs[1].wanted_ns = 0;
        play(&s, s.now_ns + 7 * MS, MS / 50);
        assert_true(programs[1].longest_ns < 2 * MS);
    }
    assert_near(programs[0].used_s + programs[1].used_s, 4, 0.1);
    sy_arbiter_destroy(s.arbiter);
}

static void what_nobody_else_wants_stays(void **state) {
    (void)state;
    static struct program programs[1];
    struct stage s;
    memset(programs, 0, sizeof programs);
    open(&s, programs, 1, "gpu", 1);
    programs[0] = (struct program){.tenant = "ann", .task_ns = MS};
    play(&s, 100 * MS, MS / 10);
    uint64_t lease = programs[0].board.seats[0].grant;
    assert_true(lease != 0);
    play(&s, 3000 * MS, MS / 10);
    assert_true(programs[0].board.seats[0].grant == lease);
    sy_arbiter_leave(s.arbiter, programs[0].client, s.now_ns);
    assert_true(programs[0].board.seats[0].grant == 0);
    sy_arbiter_destroy(s.arbiter);
}

/* --- those who do not play by the rules --------------------------------------------------------
 */
static void a_task_without_end_is_passed_over(void **state) {
    (void)state;
    static struct program programs[3];
    struct stage s;
    memset(programs, 0, sizeof programs);
    open(&s, programs, 3, "gpu", 1);
    programs[0] = (struct program){.tenant = "ann", .task_ns = MS};
    programs[1] = (struct program){.tenant = "bob", .task_ns = MS};
    programs[2] = (struct program){.tenant = "stuck", .hangs = true};
    play(&s, 5000 * MS, MS / 20);
    assert_true(programs[0].longest_ns < GRACE + 4 * QUANTUM);
    assert_true(programs[0].used_s > 0.47 * 5 && programs[1].used_s > 0.47 * 5);
    assert_true(told_s(&s, "stuck") > 4.5); /* it pays for what it keeps */
    sy_arbiter_leave(s.arbiter, programs[2].client, s.now_ns);
    sy_arbiter_destroy(s.arbiter);
}

static void garbage_harms_nobody_else(void **state) {
    (void)state;
    static struct program programs[3];
    for (int cores = 0; cores < 2; cores++) {
        struct stage s;
        memset(programs, 0, sizeof programs);
        open(&s, programs, 3, cores ? "core:" : "gpu", cores ? 3 : 1);
        programs[0] = (struct program){.tenant = "ann", .task_ns = MS / 2};
        programs[1] = (struct program){.tenant = "bob", .task_ns = MS / 2};
        programs[2] = (struct program){.tenant = "mallory", .scribbles = true};
        play(&s, 5000 * MS, MS / 20);
        for (uint32_t i = 0; i < 2; i++) { /* at least its third */
            assert_true(programs[i].used_s > 0.30 * 5 * s.devices);
        }
        sy_arbiter_destroy(s.arbiter);
    }
}

/* --- names -------------------------------------------------------------------------------------
 */
static void places_are_used_again(void **state) {
    (void)state;
    static struct program program;
    struct stage s;
    memset(&program, 0, sizeof program);
    open(&s, &program, 1, "gpu", 4);
    program.tenant = "ann";
    for (uint32_t i = 0; i < 10000; i++) { /* more than there is room for names */
        for (uint32_t d = 0; d < s.devices; d++) {
            snprintf(s.names[d], sizeof s.names[d], "%s%u", d % 2 ? "core:" : "gpu", i * 7 + d);
            program.desk.places[d].want = 1;
        }
        join(&s, &program);
        sy_arbiter_step(s.arbiter, program.client, ++s.now_ns);
        assert_int_equal(program.client, 0);
        assert_true(program.board.seats[3].grant != 0);
        sy_arbiter_leave(s.arbiter, program.client, ++s.now_ns);
    }
    sy_arbiter_destroy(s.arbiter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_weights),
        cmocka_unit_test(programs_share_what_their_tenant_has),
        cmocka_unit_test(who_was_away_waits_for_a_task_only),
        cmocka_unit_test(what_was_lent_comes_back),
        cmocka_unit_test(what_nobody_else_wants_stays),
        cmocka_unit_test(a_task_without_end_is_passed_over),
        cmocka_unit_test(garbage_harms_nobody_else),
        cmocka_unit_test(places_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
