/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker for real: a thread that serves, and clients that take one device by turns: never two
 * at a time, none left out, also if one is killed, floods the broker, or says what makes no sense;
 * and the end of the broker leaves everybody what he has.
 */
#include "../base/check.h"
#include "base/folder.h"
#include "service/service.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUANTUM_S 2e-3

static const char device[1][SY_BROKER_NAME] = {"gpu0"};

struct stage {
    char folder[200], path[232];
    struct sy_service *service;
    pthread_t thread;
    _Atomic bool stop;
};

static void *serve(void *context) {
    struct stage *s = context;
    while (!atomic_load(&s->stop)) {
        assert_int_equal(sy_service_step(s->service, 20), 0);
    }
    return NULL;
}

/* grace_s: of those who hold on; long, or a busy machine alone would make it seem so. */
static void open_with(struct stage *s, double grace_s) {
    struct sy_error error = {0};
    *s = (struct stage){0};
    assert_int_equal(sy_temporary_folder(s->folder, sizeof s->folder, &error), 0);
    snprintf(s->path, sizeof s->path, "%s/broker.sock", s->folder);
    const struct sy_service_options options = {
        .path = s->path, .quantum_s = QUANTUM_S, .core_quantum_s = QUANTUM_S, .grace_s = grace_s};
    assert_int_equal(sy_service_open(&options, &s->service, &error), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void open(struct stage *s) {
    open_with(s, 60);
}

static void stop(struct stage *s) {
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    sy_service_close(s->service);
}

static void finish(struct stage *s) {
    stop(s);
    sy_remove_folder(s->folder);
}

static struct sy_lease *join(const struct stage *s, const char *tenant) {
    struct sy_lease *lease = NULL;
    struct sy_error error = {0};
    if (sy_lease_open(s->path, tenant, device, 1, &lease, &error)) {
        fail_msg("%s", error.message);
    }
    return lease;
}

/* Until it is this client's turn. */
static void take(struct sy_lease *lease) {
    while (!sy_lease_take(lease, 0)) {
        sy_lease_wait(lease, 0, 10000000);
    }
}

/* --- turns -------------------------------------------------------------------------------------
 */
#define WORKERS 3
#define TASKS   2000

struct worker {
    struct sy_lease *lease;
    _Atomic int *at_work;
    uint32_t done;
};

/* Tasks of some microseconds; now and then it has nothing to do. */
static void *work(void *context) {
    struct worker *w = context;
    for (; w->done < TASKS; w->done++) {
        take(w->lease);
        assert_int_equal(atomic_fetch_add(w->at_work, 1), 0);
        for (volatile int i = 0; i < 2000; i++) {
        }
        assert_int_equal(atomic_fetch_sub(w->at_work, 1), 1);
        sy_lease_pause(w->lease, 0);
        if (w->done % 97 == 0) {
            sy_lease_rest(w->lease, 0);
        }
    }
    sy_lease_rest(w->lease, 0);
    return NULL;
}

static void one_at_a_time(void **state) {
    (void)state;
    struct stage s;
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    _Atomic int at_work = 0;
    open(&s);
    for (uint32_t i = 0; i < WORKERS; i++) {
        const char *const tenants[] = {"ann", "bob", "bob"};
        workers[i] = (struct worker){.lease = join(&s, tenants[i]), .at_work = &at_work};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].done, TASKS);
    }
    struct sy_arbiter_tenant rows[SY_BROKER_ROWS];
    struct sy_error error = {0};
    uint32_t count = 0;
    assert_int_equal(sy_lease_tell(s.path, rows, &count, &error), 0);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].name, "ann");
    assert_int_equal(rows[1].clients, 2);
    assert_true(rows[0].used_s > 0 && rows[1].used_s > 0);
    for (uint32_t i = 0; i < WORKERS; i++) {
        sy_lease_close(workers[i].lease);
    }
    finish(&s);
}

/* --- those who die or do not play by the rules -------------------------------------------------
 */
/* A process that takes the device and keeps it. */
static pid_t holder(const struct stage *s) {
    _Atomic bool *has =
        mmap(NULL, sizeof *has, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        take(join(s, "holder"));
        atomic_store(has, true);
        pause();
    }
    while (!atomic_load(has)) {
        usleep(100);
    }
    munmap((void *)has, sizeof *has);
    return child;
}

static void who_dies_gives_back(void **state) {
    (void)state;
    struct stage s;
    open(&s);
    pid_t child = holder(&s);
    struct sy_lease *lease = join(&s, "ann");
    assert_false(sy_lease_take(lease, 0));
    kill(child, SIGKILL);
    take(lease);
    waitpid(child, NULL, 0);
    sy_lease_close(lease);
    finish(&s);
}

static void who_stands_still_is_passed_over(void **state) {
    (void)state;
    struct stage s;
    open_with(&s, 0.1);
    pid_t child = holder(&s);
    kill(child, SIGSTOP);
    struct sy_lease *lease = join(&s, "ann");
    take(lease);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sy_lease_close(lease);
    finish(&s);
}

static void boards_can_only_be_read(void **state) {
    (void)state;
    struct stage s;
    open(&s);
    struct sy_lease *lease = join(&s, "ann");
    void *board = (void *)(uintptr_t)lease->board;
    assert_int_equal(mprotect(board, sizeof *lease->board, PROT_READ | PROT_WRITE), -1);
    sy_lease_close(lease);
    finish(&s);
}

static void *flood(void *context) {
    struct sy_lease *lease = context;
    uint32_t *words = (uint32_t *)(void *)lease->desk;
    struct sy_rng rng = sy_rng_make(3, 0, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        const uint64_t one = 1;
        __atomic_store_n(&words[sy_rng_below(&rng, sizeof(struct sy_lease_place) / sizeof *words)],
                         sy_rng_u32(&rng) & 3, __ATOMIC_RELAXED);
        (void)!write(lease->bell, &one, sizeof one);
    }
    return NULL;
}

static void who_floods_harms_nobody(void **state) {
    (void)state;
    struct stage s;
    _Atomic int at_work = 0;
    pthread_t thread;
    open_with(&s, 0.1);
    struct sy_lease *mallory = join(&s, "mallory");
    struct worker ann = {.lease = join(&s, "ann"), .at_work = &at_work, .done = TASKS / 2};
    assert_int_equal(pthread_create(&thread, NULL, flood, mallory), 0);
    work(&ann);
    pthread_join(thread, NULL);
    sy_lease_close(mallory);
    sy_lease_close(ann.lease);
    finish(&s);
}

/* --- what makes no sense -----------------------------------------------------------------------
 */
static void say(const struct stage *s, const void *bytes, size_t size) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct sy_broker_welcome answer;
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", s->path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_true(send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
    ssize_t got = recv(fd, &answer, sizeof answer, 0); /* refused, or hung up on */
    assert_true(got <= 0 || answer.code < 0);
    close(fd);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    struct stage s;
    struct {
        struct sy_broker_hello hello;
        char names[2][SY_BROKER_NAME];
    } m = {{.magic = SY_BROKER_MAGIC,
            .version = SY_BROKER_VERSION,
            .request = SY_BROKER_JOIN,
            .device_count = 2},
           {"gpu0", "gpu1"}},
      wrong;
    open(&s);
    say(&s, "hello", 5);
    say(&s, &m, sizeof m - 1);
    wrong = m;
    wrong.hello.version++;
    say(&s, &wrong, sizeof wrong);
    wrong = m;
    wrong.hello.request = 9;
    say(&s, &wrong, sizeof wrong);
    wrong = m;
    wrong.hello.device_count = UINT32_MAX;
    say(&s, &wrong, sizeof wrong);
    wrong = m;
    memset(wrong.names[1], 'x', sizeof wrong.names[1]); /* without an end */
    say(&s, &wrong, sizeof wrong);
    wrong = m;
    snprintf(wrong.hello.tenant, sizeof wrong.hello.tenant, "../ann");
    say(&s, &wrong, sizeof wrong);
    sy_lease_close(join(&s, "ann")); /* it still serves */
    finish(&s);
}

static void messages_say_what_is_wrong(void **state) {
    (void)state;
    struct stage s;
    struct sy_error error = {0};
    struct sy_lease *lease = NULL;
    struct sy_service *second = NULL;
    open(&s);
    const struct sy_service_options options = {.path = s.path, .quantum_s = 1, .grace_s = 1};
    assert_int_equal(sy_service_open(&options, &second, &error), -EADDRINUSE);
    assert_non_null(strstr(error.message, "a broker runs already"));
    assert_int_equal(sy_lease_open(s.path, "no name", device, 1, &lease, &error), -EINVAL);
    assert_non_null(strstr(error.message, "SYMPH_TENANT"));
    stop(&s);
    assert_int_equal(sy_lease_open(s.path, "", device, 1, &lease, &error), -ENOENT);
    assert_non_null(strstr(error.message, "no broker answers"));
    sy_remove_folder(s.folder);
}

/* --- the broker's end --------------------------------------------------------------------------
 */
static void without_it_all_go_on(void **state) {
    (void)state;
    struct stage s;
    open(&s);
    struct sy_lease *ann = join(&s, "ann"), *bob = join(&s, "bob");
    take(ann);
    stop(&s);
    sy_lease_pause(ann, 0);
    take(ann);
    take(bob); /* as if there had never been one */
    sy_lease_close(ann);
    sy_lease_close(bob);
    sy_remove_folder(s.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(who_dies_gives_back),
        cmocka_unit_test(who_stands_still_is_passed_over),
        cmocka_unit_test(boards_can_only_be_read),
        cmocka_unit_test(who_floods_harms_nobody),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(messages_say_what_is_wrong),
        cmocka_unit_test(without_it_all_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
