/* SPDX-License-Identifier: Apache-2.0
 *
 * The arbiter: gives devices to clients and takes them back, by what share.c says of their shares.
 *
 * In: desks, the time. Out: boards, bells. A device that nobody else wants stays with whoever had
 * it last. Once somebody does, its holder is told until when he may go on; he lets go by himself
 * when a task ends after that, or it is taken from him between two tasks. Who has not let go when
 * the grace is over loses his turn: the next one gets the device, and he pays for both.
 */
#include "broker/arbiter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS  100000000u /* how often it is looked who uses what he has */
#define SLACK_PART 8u         /* of a quantum: so much longer he may let go by himself */
#define TURNS_MAX  4u         /* of a device in one look */
#define ROUNDS_MAX 3u         /* of looks at all devices, since one that moves bears on others */
#define NAMES_MAX  4096u      /* of devices, and of tenants */

static const struct arbiter_member NOBODY = {SY_NONE, 0};

int sy_arbiter_create(const struct sy_arbiter_options *options, struct sy_arbiter **ret_arbiter) {
    struct sy_arbiter *a = calloc(1, sizeof *a);
    struct arbiter_account cores = {0};
    if (!a ||
        sy_append(&a->accounts, &a->account_capacity, &a->account_count, &cores, sizeof cores)) {
        free(a);
        return -ENOMEM;
    }
    a->options = *options;
    *ret_arbiter = a;
    return 0;
}

void sy_arbiter_destroy(struct sy_arbiter *a) {
    if (!a) {
        return;
    }
    for (uint32_t c = 0; c < a->client_count; c++) {
        free(a->clients[c].posts);
    }
    for (uint32_t d = 0; d < a->device_count; d++) {
        free(a->devices[d].members);
    }
    for (uint32_t i = 0; i < a->account_count; i++) {
        free(a->accounts[i].used);
    }
    free(a->accounts);
    free(a->devices);
    free(a->clients);
    free(a->tenants);
    free(a);
}

/* Among things that begin with their names, the one of that name; SY_NONE: there is none. */
static uint32_t find(const char *name, const void *things, uint32_t count, size_t size) {
    uint32_t i = 0;
    while (i < count && strcmp((const char *)things + i * size, name) != 0) {
        i++;
    }
    return i < count ? i : SY_NONE;
}

/* --- who is here -------------------------------------------------------------------------------
 */
static int find_tenant(struct sy_arbiter *a, const char *name, uint32_t *ret_tenant) {
    struct arbiter_tenant fresh = {.weight = 1};
    uint32_t t = find(name, a->tenants, a->tenant_count, sizeof *a->tenants);
    if (t == SY_NONE) {
        t = a->tenant_count;
        snprintf(fresh.name, sizeof fresh.name, "%s", name);
        int code = t == NAMES_MAX ? -ENOSPC
                                  : sy_append(&a->tenants, &a->tenant_capacity, &a->tenant_count,
                                              &fresh, sizeof fresh);
        if (code) {
            return code;
        }
    }
    for (uint32_t i = 0; i < a->account_count; i++) {
        struct arbiter_account *account = &a->accounts[i];
        uint32_t before = account->capacity;
        if (sy_grow(&account->used, &account->capacity, a->tenant_capacity,
                    sizeof *account->used)) {
            return -ENOMEM;
        }
        memset(account->used + before, 0, (account->capacity - before) * sizeof *account->used);
    }
    *ret_tenant = t;
    return 0;
}

int sy_arbiter_set_weight(struct sy_arbiter *a, const char *tenant, double weight) {
    uint32_t t;
    int code = find_tenant(a, tenant, &t);
    if (!code) {
        a->tenants[t].weight = weight;
    }
    return code;
}

/* One that nobody has among his devices any more gives its place to another. */
static int free_device(struct sy_arbiter *a, uint32_t *ret_device) {
    struct arbiter_device fresh = {.owner = NOBODY};
    uint32_t d = 0;
    while (d < a->device_count && a->devices[d].member_count) {
        d++;
    }
    *ret_device = d;
    return d < a->device_count            ? 0
           : a->device_count == NAMES_MAX ? -ENOSPC
                                          : sy_append(&a->devices, &a->device_capacity,
                                                      &a->device_count, &fresh, sizeof fresh);
}

/* Cores have one account together, and every other device one of its own. */
static int set_account(struct sy_arbiter *a, struct arbiter_device *d) {
    if (!d->core && !d->own_account) {
        if (sy_append(&a->accounts, &a->account_capacity, &a->account_count,
                      &(struct arbiter_account){0}, sizeof(struct arbiter_account))) {
            return -ENOMEM;
        }
        d->own_account = a->account_count - 1;
    }
    d->account = d->core ? 0 : d->own_account;
    struct arbiter_account *account = &a->accounts[d->account];
    if (!d->core && account->used) {
        memset(account->used, 0, account->capacity * sizeof *account->used);
    }
    return 0;
}

static int find_device(struct sy_arbiter *a, const char *name, uint32_t *ret_device) {
    uint32_t d = find(name, a->devices, a->device_count, sizeof *a->devices);
    if (d == SY_NONE) {
        int code = free_device(a, &d);
        if (code) {
            return code;
        }
        a->devices[d].core = strncmp(name, SY_BROKER_CORE, strlen(SY_BROKER_CORE)) == 0;
        code = set_account(a, &a->devices[d]);
        if (code) {
            return code;
        }
        snprintf(a->devices[d].name, sizeof a->devices[d].name, "%s", name);
    }
    *ret_device = d;
    return 0;
}

static int add_member(struct sy_arbiter *a, uint32_t device, struct arbiter_member m) {
    struct arbiter_device *d = &a->devices[device];
    int code = sy_append(&d->members, &d->member_capacity, &d->member_count, &m, sizeof m);
    a->core_count += !code && d->core && d->member_count == 1;
    return code;
}

static uint32_t free_number(struct sy_arbiter *a) {
    uint32_t c = 0;
    while (c < a->client_count && a->clients[c].here) {
        c++;
    }
    return c;
}

static int sit_down(struct sy_arbiter *a, uint32_t number, const struct sy_arbiter_client *asked) {
    struct arbiter_client *c = &a->clients[number];
    int code = 0;
    for (uint32_t i = 0; i < asked->device_count && !code; i++) {
        code = find_device(a, asked->devices[i], &c->posts[i].device);
        code = code ? code : add_member(a, c->posts[i].device, (struct arbiter_member){number, i});
        c->device_count += !code;
    }
    return code ? code : find_tenant(a, asked->tenant, &c->tenant);
}

int sy_arbiter_join(struct sy_arbiter *a, const struct sy_arbiter_client *asked, uint64_t now_ns,
                    uint32_t *ret_client) {
    uint32_t number = free_number(a);
    struct arbiter_client c = {.here = true, .board = asked->board, .desk = asked->desk};
    if (number == a->client_count &&
        sy_append(&a->clients, &a->client_capacity, &a->client_count, &c, sizeof c)) {
        return -ENOMEM;
    }
    c.posts = calloc(asked->device_count + 1u, sizeof *c.posts);
    a->clients[number] = c;
    int code = c.posts ? sit_down(a, number, asked) : -ENOMEM;
    if (code) {
        sy_arbiter_leave(a, number, now_ns);
        return code;
    }
    a->clients[number].counted = true;
    a->tenants[a->clients[number].tenant].clients++;
    a->moved = true;
    *ret_client = number;
    return 0;
}

/* --- a lease begins and ends -------------------------------------------------------------------
 */
static struct sy_lease_seat *seat_of(const struct sy_arbiter *a, struct arbiter_member m) {
    return &a->clients[m.client].board->seats[m.seat];
}

static const struct sy_lease_place *place_of(const struct sy_arbiter *a, struct arbiter_member m) {
    return &a->clients[m.client].desk->places[m.seat];
}

static struct arbiter_post *post_of(const struct sy_arbiter *a, struct arbiter_member m) {
    return &a->clients[m.client].posts[m.seat];
}

static struct arbiter_tenant *tenant_of(const struct sy_arbiter *a, struct arbiter_member m) {
    return &a->tenants[a->clients[m.client].tenant];
}

static void set_wants(struct sy_arbiter *a, struct arbiter_device *d, struct arbiter_member m,
                      bool wants, uint64_t now_ns) {
    struct arbiter_post *post = post_of(a, m);
    if (post->wants != wants) {
        tenant_of(a, m)->cores_wanted += d->core ? (wants ? 1u : UINT32_MAX) : 0;
        post->wants = wants;
        post->since_ns = now_ns;
        a->moved = true;
    }
}

static void count_core(struct sy_arbiter *a, const struct arbiter_device *d,
                       struct arbiter_member m, uint32_t by) {
    a->clients[m.client].cores_held += d->core ? by : 0;
    tenant_of(a, m)->cores_held += d->core ? by : 0;
    a->moved = true;
}

/* He may keep it; others: but there is somebody who would take it. */
static void calm(struct sy_arbiter *a, struct arbiter_device *d, bool others) {
    a->leaving_cores -= d->core && d->until_ns;
    d->until_ns = d->due_ns = 0;
    atomic_store(&seat_of(a, d->owner)->until_ns, others ? SY_SEAT_FOR_EVER : 0);
}

static void end_lease(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns) {
    arbiter_count(a, d, now_ns);
    atomic_store(&seat_of(a, d->owner)->grant, 0);
    calm(a, d, false);
    count_core(a, d, d->owner, UINT32_MAX);
    d->owner = NOBODY;
    d->revoking = false;
}

static void grant(struct sy_arbiter *a, struct arbiter_device *d, struct arbiter_member m,
                  uint64_t now_ns) {
    struct sy_lease_seat *seat = seat_of(a, m);
    struct arbiter_post *post = post_of(a, m);
    struct arbiter_tenant *t = tenant_of(a, m);
    t->longest_ns =
        now_ns - post->since_ns > t->longest_ns ? now_ns - post->since_ns : t->longest_ns;
    arbiter_count(a, d, now_ns);
    set_wants(a, d, m, false, now_ns);
    d->owner = m;
    d->number = ++a->leases;
    d->granted_ns = now_ns;
    d->idle = false;
    count_core(a, d, m, 1);
    atomic_store(&seat->until_ns, 0);
    atomic_store(&seat->grant, d->number);
    atomic_fetch_add(&seat->bell, 1);
    a->options.wake(a->options.context, &seat->bell);
}

static void remove_member(struct sy_arbiter *a, struct arbiter_device *d, uint32_t client) {
    uint32_t kept = 0;
    for (uint32_t m = 0; m < d->member_count; m++) {
        if (d->members[m].client != client) {
            d->members[kept++] = d->members[m];
        }
    }
    a->core_count -= d->core && d->member_count && !kept;
    d->member_count = kept;
}

void sy_arbiter_leave(struct sy_arbiter *a, uint32_t client, uint64_t now_ns) {
    struct arbiter_client *c = &a->clients[client];
    for (uint32_t i = 0; i < c->device_count; i++) {
        struct arbiter_device *d = &a->devices[c->posts[i].device];
        set_wants(a, d, (struct arbiter_member){client, i}, false, now_ns);
        if (d->owner.client == client) {
            end_lease(a, d, now_ns);
        }
        remove_member(a, d, client);
    }
    if (c->counted) {
        a->tenants[c->tenant].clients--;
    }
    free(c->posts);
    *c = (struct arbiter_client){0};
    a->moved = true;
}

/* --- one device --------------------------------------------------------------------------------
 */
/* Who wants it and has it not. Returns whether one of them should not wait for a whole quantum. */
static bool look_at_desks(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns) {
    bool urgent = false;
    for (uint32_t i = 0; i < d->member_count; i++) {
        struct arbiter_member m = d->members[i];
        bool has = m.client == d->owner.client && m.seat == d->owner.seat && !d->revoking;
        bool wants = !has && !post_of(a, m)->overdue && atomic_load(&place_of(a, m)->want) == 1;
        if (wants && !post_of(a, m)->wants) {
            urgent |= arbiter_credit(a, d, a->clients[m.client].tenant);
        }
        set_wants(a, d, m, wants, now_ns);
    }
    return urgent;
}

/* The first of those that want it; claims: and should get it from its owner. */
static struct arbiter_member first_in_line(const struct sy_arbiter *a,
                                           const struct arbiter_device *d, bool claims) {
    struct arbiter_member first = NOBODY;
    for (uint32_t i = 0; i < d->member_count; i++) {
        struct arbiter_member m = d->members[i];
        if (post_of(a, m)->wants && m.client != d->owner.client &&
            (!claims || arbiter_deserves(a, d, m)) &&
            (first.client == SY_NONE || arbiter_before(a, d, m, first))) {
            first = m;
        }
    }
    return first;
}

/* Its owner has something to do with it. */
static bool is_at_work(const struct sy_arbiter *a, const struct arbiter_device *d) {
    const struct sy_lease_place *place = place_of(a, d->owner);
    return atomic_load(&place->want) == 1 || atomic_load(&place->hold) == d->number;
}

static bool shall_move(const struct sy_arbiter *a, const struct arbiter_device *d) {
    struct arbiter_member m = first_in_line(a, d, true);
    if (m.client == SY_NONE || !d->core || d->until_ns) {
        return m.client != SY_NONE;
    }
    bool own = a->clients[m.client].tenant == a->clients[d->owner.client].tenant;
    return own || !is_at_work(a, d) || a->leaving_cores < arbiter_missing_cores(a);
}

static void announce(struct sy_arbiter *a, struct arbiter_device *d, bool urgent, uint64_t now_ns) {
    const struct sy_arbiter_options *o = &a->options;
    uint64_t quantum = urgent ? o->least_ns : d->core ? o->core_quantum_ns : o->quantum_ns;
    uint64_t until = d->granted_ns + quantum;
    if (d->until_ns && !(urgent && until < d->until_ns)) {
        return;
    }
    a->leaving_cores += d->core && !d->until_ns;
    d->until_ns = until > now_ns ? until : now_ns;
    d->due_ns = d->until_ns + o->grace_ns;
    atomic_store(&seat_of(a, d->owner)->until_ns, d->until_ns);
}

/* Its owner has done so by himself, because his time was over; he does not take it back. */
static bool is_given_back(const struct sy_arbiter *a, const struct arbiter_device *d) {
    return atomic_load(&place_of(a, d->owner)->yielded) == d->number;
}

/* Takes it from its owner. False: not yet. */
static bool take_back(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns) {
    const struct sy_lease_place *place = place_of(a, d->owner);
    bool idle = atomic_load(&place->want) != 1;
    uint64_t patience = d->until_ns + a->options.quantum_ns / SLACK_PART;
    if (!d->revoking && !is_given_back(a, d) && !idle && now_ns < patience) {
        d->then_ns = patience;
        return false;
    }
    atomic_store(&seat_of(a, d->owner)->grant, 0); /* then look whether he slipped in */
    atomic_thread_fence(memory_order_seq_cst);
    d->revoking = true;
    if (atomic_load(&place->hold) == d->number) {
        if (now_ns < d->due_ns) {
            d->then_ns = d->due_ns;
            return false;
        }
        post_of(a, d->owner)->overdue = d->number;
        post_of(a, d->owner)->counted_ns = now_ns;
        idle = true;
    }
    struct arbiter_member before = d->owner;
    end_lease(a, d, now_ns);
    set_wants(a, d, before, !idle, now_ns); /* again, which is nothing new */
    return true;
}

/* Sets when it must be looked at again. A client may scribble on its desk meanwhile, so that it
 * seems to want and not to want: hence the limit. */
static void attend(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns) {
    d->then_ns = UINT64_MAX;
    for (uint32_t turn = 0; turn < TURNS_MAX; turn++) {
        arbiter_count(a, d, now_ns);
        bool urgent = look_at_desks(a, d, now_ns);
        if (d->owner.client != SY_NONE) {
            bool given = is_given_back(a, d);
            if (!d->revoking && !given && !shall_move(a, d)) {
                calm(a, d, first_in_line(a, d, false).client != SY_NONE);
                return;
            }
            if (!given) {
                urgent = urgent || arbiter_misses_core(a, d, first_in_line(a, d, true));
                announce(a, d, urgent, now_ns);
            }
            if (!take_back(a, d, now_ns)) {
                return;
            }
            look_at_desks(a, d, now_ns); /* who had it may want it again */
        }
        struct arbiter_member next = first_in_line(a, d, false);
        if (next.client == SY_NONE) {
            return;
        }
        grant(a, d, next, now_ns);
    }
}

static bool concerns(const struct sy_arbiter *a, const struct arbiter_device *d, uint32_t client) {
    bool found = client == SY_NONE;
    for (uint32_t i = 0; i < d->member_count && !found; i++) {
        found = d->members[i].client == client;
    }
    return found || d->then_ns <= a->now_ns;
}

uint64_t sy_arbiter_step(struct sy_arbiter *a, uint32_t client, uint64_t now_ns) {
    uint64_t then_ns = UINT64_MAX;
    bool in_use = false;
    a->now_ns = now_ns;
    for (uint32_t round = 0; round == 0 || (a->moved && round < ROUNDS_MAX); round++) {
        bool all = a->moved;
        a->moved = false;
        for (uint32_t d = 0; d < a->device_count; d++) {
            if (all || concerns(a, &a->devices[d], client)) {
                attend(a, &a->devices[d], now_ns);
            }
        }
    }
    for (uint32_t d = 0; d < a->device_count; d++) {
        then_ns = a->devices[d].then_ns < then_ns ? a->devices[d].then_ns : then_ns;
        in_use |= a->devices[d].owner.client != SY_NONE;
    }
    return in_use && then_ns > now_ns + SAMPLE_NS ? now_ns + SAMPLE_NS : then_ns;
}

bool sy_arbiter_tenant(const struct sy_arbiter *a, uint32_t number,
                       struct sy_arbiter_tenant *ret_tenant) {
    if (number >= a->tenant_count) {
        return false;
    }
    const struct arbiter_tenant *t = &a->tenants[number];
    *ret_tenant = (struct sy_arbiter_tenant){.weight = t->weight,
                                             .clients = t->clients,
                                             .used_s = t->used_ns * 1e-9,
                                             .longest_ms = (double)t->longest_ns * 1e-6};
    memcpy(ret_tenant->name, t->name, sizeof t->name);
    for (uint32_t d = 0; d < a->device_count; d++) {
        const struct arbiter_device *device = &a->devices[d];
        for (uint32_t i = 0; i < device->member_count; i++) {
            const struct arbiter_client *c = &a->clients[device->members[i].client];
            bool mine = c->tenant == number;
            ret_tenant->held += mine && device->owner.client == device->members[i].client;
            ret_tenant->waiting += mine && c->posts[device->members[i].seat].wants;
        }
    }
    return true;
}
