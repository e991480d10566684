/* SPDX-License-Identifier: Apache-2.0
 *
 * Urgent workers: a second thread of StarPU's on each core, which takes what shall push aside the
 * task that runs there (SY_PREEMPT). docs/design/019-preemption.md.
 *
 * In: StarPU's last CPU workers, as many as there are cores that compute. Out: tasks that begin at
 * once and have the core to themselves. The kernel does the rest: the urgent thread has a priority
 * at which the normal one stands, and that one goes on by itself. To policies they are no devices.
 *
 * An urgent worker that has nothing to do sleeps in the hook in which StarPU asks us for work, with
 * its state open to others: one that polls would keep the core to itself. Before it begins a task
 * it takes our lock and lets go of it: nobody whom it keeps from its core then holds that.
 * Invariant: whoever puts something into an urgent box wakes its worker, without the lock.
 */
#include "engine/starpu/urgent.h"
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL_TIME    1 /* priority under SCHED_FIFO; the thread that submits has the next one */
#define NICE_URGENT  (-20)
#define NICE_NORMAL  19 /* of the other, where an urgent one may not be more than what is usual */
#define NICE_PROGRAM 0

/* Of one core. */
struct urgent {
    starpu_pthread_mutex_t lock; /* held for moments, and nothing is asked for with it */
    starpu_pthread_cond_t wake;
    bool called;        /* there may be something in its box */
    double since_ns;    /* it has had the core; NAN: it sleeps */
    double had_ns;      /* before that, ever */
    _Atomic bool awake; /* not isnan(since_ns), for those who cannot wait */
    bool raised;        /* the urgent thread's own: it has its priority */
    bool nice;          /* by that of the other thread, or by its own */
    cpu_set_t cores;    /* where the normal worker is bound, */
    id_t normal;        /* and its thread */
};

static struct urgent *urgent_of(uint32_t worker) {
    return &sy_shared.urgents[worker - sy_shared.machine->device_count];
}

int urgent_open(void) {
    struct shared *s = &sy_shared;
    uint32_t count = s->options.urgent_count;
    s->urgents = calloc(count + 1u, sizeof *s->urgents);
    for (uint32_t i = 0; s->urgents && i < count; i++) {
        STARPU_PTHREAD_MUTEX_INIT(&s->urgents[i].lock, NULL);
        STARPU_PTHREAD_COND_INIT(&s->urgents[i].wake, NULL);
        s->urgents[i].since_ns = NAN;
    }
    return s->urgents ? 0 : -1;
}

void urgent_close(void) {
    struct shared *s = &sy_shared;
    for (uint32_t i = 0; s->urgents && i < s->options.urgent_count; i++) {
        STARPU_PTHREAD_MUTEX_DESTROY(&s->urgents[i].lock);
        STARPU_PTHREAD_COND_DESTROY(&s->urgents[i].wake);
    }
    free(s->urgents);
    s->urgents = NULL;
}

/* --- priorities ---------------------------------------------------------------------------------
 */
static bool set_real_time(int priority) {
    const struct sched_param parameter = {.sched_priority = priority};
    /* Who may not do everything may not clear that flag again. */
    int policy = (priority ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK;
    return sched_setscheduler(0, policy, &parameter) == 0;
}

static void raise_self(struct urgent *u) {
    u->raised = true;
    u->nice = !set_real_time(REAL_TIME);
    if (u->nice && setpriority(PRIO_PROCESS, 0, NICE_URGENT)) {
        (void)!setpriority(PRIO_PROCESS, u->normal, NICE_NORMAL);
    }
}

static void lower_self(struct urgent *u) {
    if (u->raised && u->nice) {
        (void)!setpriority(PRIO_PROCESS, 0, NICE_PROGRAM);
    } else if (u->raised) {
        (void)!set_real_time(0);
    }
    u->raised = false;
}

bool sy_starpu_raise_self(bool raise) {
    return sy_shared.options.urgent_count && set_real_time(raise ? REAL_TIME + 1 : 0);
}

/* Where StarPU binds nothing, core i of those that this process may use. */
static void choose_core(cpu_set_t *cores, uint32_t number) {
    if (CPU_COUNT(cores) == 1) {
        return;
    }
    uint32_t turn = number % (uint32_t)CPU_COUNT(cores);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, cores) && turn-- == 0) {
            CPU_ZERO(cores);
            CPU_SET(core, cores);
            return;
        }
    }
}

void sy_starpu_bind_self(void) {
    uint32_t worker = (uint32_t)starpu_worker_get_id_check();
    shared_lock();
    int code = shared_start();
    shared_unlock();
    if (code) {
        return; /* the policy has failed */
    }
    uint32_t devices = sy_shared.machine->device_count, count = sy_shared.options.urgent_count;
    if (is_urgent(worker)) {
        (void)!sched_setaffinity(0, sizeof(cpu_set_t), &urgent_of(worker)->cores);
    } else if (count && worker + count >= devices) {
        struct urgent *u = urgent_of(worker + count);
        u->normal = (id_t)syscall(SYS_gettid);
        if (sched_getaffinity(0, sizeof u->cores, &u->cores) == 0) {
            choose_core(&u->cores, worker + count - devices);
            (void)!sched_setaffinity(0, sizeof u->cores, &u->cores);
        }
    }
}

/* --- sleep and work -----------------------------------------------------------------------------
 */
void urgent_call(uint32_t worker) {
    struct urgent *u = urgent_of(worker);
    STARPU_PTHREAD_MUTEX_LOCK(&u->lock);
    u->called = true;
    STARPU_PTHREAD_COND_SIGNAL(&u->wake);
    STARPU_PTHREAD_MUTEX_UNLOCK(&u->lock);
}

void sy_starpu_let_sleep(bool sleep) {
    atomic_store(&sy_shared.urgent_sleep, sleep);
    for (uint32_t i = 0; sy_shared.urgents && i < sy_shared.options.urgent_count; i++) {
        urgent_call(sy_shared.machine->device_count + i);
    }
}

/* Until it is called. False: it shall not sleep. */
static bool sleep_well(struct urgent *u) {
    if (!atomic_load(&sy_shared.urgent_sleep)) {
        lower_self(u);
        return false;
    }
    if (!u->raised) {
        raise_self(u);
    }
    starpu_worker_relax_on();
    STARPU_PTHREAD_MUTEX_LOCK(&u->lock);
    u->had_ns += isnan(u->since_ns) ? 0 : shared_now_ns() - u->since_ns;
    u->since_ns = NAN;
    atomic_store(&u->awake, false);
    while (!u->called) {
        STARPU_PTHREAD_COND_WAIT(&u->wake, &u->lock);
    }
    u->called = false;
    u->since_ns = shared_now_ns();
    atomic_store(&u->awake, true);
    STARPU_PTHREAD_MUTEX_UNLOCK(&u->lock);
    starpu_worker_relax_off();
    return true;
}

bool urgent_has_core(uint32_t worker) {
    uint32_t device = sy_shared.machine->device_count, count = sy_shared.options.urgent_count;
    return count && worker + count >= device && atomic_load(&urgent_of(worker + count)->awake) &&
           atomic_load(&sy_shared.urgent_sleep);
}

double urgent_had_ns(uint32_t worker, double now_ns) {
    uint32_t device = sy_shared.machine->device_count, count = sy_shared.options.urgent_count;
    if (!count || worker + count < device || is_urgent(worker)) {
        return 0;
    }
    struct urgent *u = urgent_of(worker + count);
    STARPU_PTHREAD_MUTEX_LOCK(&u->lock);
    double had_ns = u->had_ns + (isnan(u->since_ns) ? 0 : fmax(0, now_ns - u->since_ns));
    STARPU_PTHREAD_MUTEX_UNLOCK(&u->lock);
    return had_ns;
}

/* The policy gets to know what its last task has led to before it sleeps: where all cores are at
 * work nobody else may look for long. */
struct node *urgent_take(struct context *context, uint32_t worker) {
    struct urgent *u = urgent_of(worker);
    struct node *node;
    do {
        node = boxes_take(context, worker);
        if (!node && (combine_pending(context) || policy_is_stale(context))) {
            combine_surely(context);
            node = boxes_take(context, worker);
        }
    } while (!node && sleep_well(u));
    if (node) {
        boxes_not_idle(context, device_of(worker));
        shared_lock();
        shared_unlock();
    }
    return node;
}
