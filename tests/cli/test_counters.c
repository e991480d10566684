/* SPDX-License-Identifier: Apache-2.0
 *
 * What symph counters draws and writes: bars with bands, the page at every size of window, lines,
 * JSON, Prometheus' escaping, and the plot that does not grow.
 */
#include "base/json.h"
#include "cli/counters/show.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sy_draw_style plain = {false, false};
static const struct sy_draw_style rich = {true, false};

static void end(struct sy_buffer *buffer) {
    sy_buffer_append(buffer, "", 1);
    assert_false(buffer->failed);
}

static void expect_bar(double mean, double low, double high, const char *expected) {
    struct sy_buffer buffer = {0};
    sy_draw_bar(&buffer, 10, mean, low, high, plain);
    end(&buffer);
    assert_string_equal(buffer.text, expected);
    sy_buffer_finish(&buffer);
}

static void bars_show_the_band(void **state) {
    (void)state;
    expect_bar(0.5, 0.3, 0.8, "###--|--..");
    expect_bar(0, 0, 0, "|.........");
    expect_bar(1, 1, 1, "#########|");
    expect_bar(0.55, 0.55, 0.55, "#####|....");
    expect_bar(0.05, 0, 1, "|---------");
    /* What cannot be: outside of [0,1], the wrong way round, no number. */
    expect_bar(7, -3, 9, "---------|");
    expect_bar(0.5, 0.8, 0.3, "#####|....");
    expect_bar(NAN, NAN, NAN, "|.........");
}

static void bars_are_as_wide_as_asked(void **state) {
    (void)state;
    for (uint32_t width = 1; width < 80; width++) {
        struct sy_buffer buffer = {0};
        sy_draw_bar(&buffer, width, 0.37, 0.1, 0.9, rich);
        end(&buffer);
        assert_int_equal(sy_table_width(buffer.text), width);
        sy_buffer_finish(&buffer);
    }
}

static void colour_only_on_request(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_draw_bar(&buffer, 4, 0.9, 0.8, 1, (struct sy_draw_style){false, true});
    end(&buffer);
    assert_non_null(strstr(buffer.text, "\033[31m"));
    assert_non_null(strstr(buffer.text, "\033[0m"));
    sy_buffer_finish(&buffer);
}

static void sparks(void **state) {
    (void)state;
    const float values[] = {0, 0.5f, 1, NAN, 2, -1};
    struct sy_buffer buffer = {0};
    sy_draw_spark(&buffer, values, 6, 8, plain);
    end(&buffer);
    assert_string_equal(buffer.text, "  _+# #_");
    buffer.length = 0;
    sy_draw_spark(&buffer, values, 6, 3, plain);
    end(&buffer);
    assert_string_equal(buffer.text, " #_");
    buffer.length = 0;
    sy_draw_spark(&buffer, values, 3, 3, rich);
    end(&buffer);
    assert_string_equal(buffer.text, "\xe2\x96\x81\xe2\x96\x85\xe2\x96\x88");
    sy_buffer_finish(&buffer);
}

static void rates_and_ages(void **state) {
    (void)state;
    assert_string_equal(sy_draw_rate(12.5e9, "B/s").text, "12.5 GB/s");
    assert_string_equal(sy_draw_rate(3.2e6, "/s").text, "3.20 M/s");
    assert_string_equal(sy_draw_rate(55, "W").text, "55.0 W");
    assert_string_equal(sy_draw_rate(0.25, "").text, "-");
    assert_string_equal(sy_draw_rate(NAN, "W").text, "-");
    assert_string_equal(sy_draw_age(5e8).text, "now");
    assert_string_equal(sy_draw_age(4e9).text, "4 s");
    assert_string_equal(sy_draw_age(180e9).text, "3 min");
    assert_string_equal(sy_draw_age(INFINITY).text, "never");
}

/* --- a machine of the mind ----------------------------------------------------------------------
 */
#define CPUS 200u
#define MORE 12u

struct world {
    struct sy_device devices[CPUS];
    struct sy_machine machine;
    struct sy_utilisation items[CPUS + MORE];
    char names[CPUS + MORE][32];
    float history[(CPUS + MORE) * SY_SPARK_COUNT];
    struct sy_gap gaps[6];
    struct sy_counter counters[CPUS + MORE];
    double last[CPUS + MORE];
    struct sy_counters_view view;
};

/* A counter for each processor, and others; for each second processor nothing is known yet. */
static void add_counters(struct world *world, uint32_t cpus, bool watched, struct sy_arena *arena) {
    static const char *const others[] = {"load", "cpu_used", "memory"};
    uint32_t count = cpus + (uint32_t)SY_COUNT(others);
    for (uint32_t i = 0; i < count; i++) {
        bool cpu = i < cpus;
        const char *event = cpu ? "faults" : others[i - cpus];
        world->counters[i] = (struct sy_counter){.name = cpu ? world->names[i] : event,
                                                 .source = "proc",
                                                 .event = event,
                                                 .unit = cpu ? "/s" : "",
                                                 .scope = cpu ? SY_SCOPE_CPU : SY_SCOPE_MACHINE,
                                                 .scope_index = i,
                                                 .pmu = SY_PMU_NONE};
        world->last[i] = cpu && i % 2 ? NAN : (double)i + 1;
    }
    world->counters[count - 2].scope = SY_SCOPE_GROUP;
    world->counters[count - 1].kind = SY_COUNTER_SHARE;
    world->last[count - 1] = 0.25;
    world->view.counters = world->counters;
    world->view.last = world->last;
    world->view.counter_count = count;
    assert_true(sy_counters_sort(world->counters, count, watched, arena, &world->view));
}

static void fill(struct world *world, uint32_t cpus, uint32_t gaps) {
    memset(world, 0, sizeof *world);
    world->machine = (struct sy_machine){
        .name = "m\xc3\xbchle", .device_count = cpus, .devices = world->devices};
    for (uint32_t i = 0; i < cpus + MORE; i++) {
        bool cpu = i < cpus;
        double mean = (double)(i % 11) / 10;
        snprintf(world->names[i], sizeof world->names[i], cpu ? "cpu%u" : "link%u.down.of.gpu", i);
        world->items[i] = (struct sy_utilisation){.name = world->names[i],
                                                  .resource = SY_NONE,
                                                  .device = cpu ? i : SY_NONE,
                                                  .mean = mean,
                                                  .low = mean / 2,
                                                  .high = (mean + 1) / 2,
                                                  .rate = mean * 1e10,
                                                  .capacity = cpu ? NAN : 1e10,
                                                  .unit = cpu ? "" : "B/s",
                                                  .age_ns = i * 1e9,
                                                  .measured = cpu || i % 2};
    }
    for (uint32_t i = 0; i < gaps; i++) {
        world->gaps[i] = (struct sy_gap){"perf", "hardware events", "permission denied",
                                         i ? "sysctl kernel.perf_event_paranoid=0" : ""};
    }
    world->view = (struct sy_counters_view){.machine = &world->machine,
                                            .items = world->items,
                                            .item_count = cpus + MORE,
                                            .history = world->history,
                                            .history_count = 7,
                                            .gaps = world->gaps,
                                            .gap_count = gaps,
                                            .sources = "psi 3",
                                            .arch = "x86/test",
                                            .title = "live",
                                            .elapsed_ns = 3e9,
                                            .unix_s = NAN};
}

/* Lines, none of which is wider than columns. */
static uint32_t check_lines(const struct sy_buffer *buffer, uint32_t columns) {
    uint32_t lines = 0;
    char line[4096];
    for (const char *at = buffer->text; *at; lines++) {
        size_t length = strcspn(at, "\n");
        assert_true(length < sizeof line && at[length] == '\n');
        memcpy(line, at, length);
        line[length] = 0;
        if (sy_table_width(line) > columns) {
            fail_msg("wider than %u: '%s'", columns, line);
        }
        at += length + 1;
    }
    return lines;
}

static void pages_fit_every_window(void **state) {
    (void)state;
    static struct world world;
    static const uint32_t cpus[] = {0, 2, 16, CPUS}, gaps[] = {0, 1, 6};
    for (size_t c = 0; c < SY_COUNT(cpus); c++) {
        for (size_t g = 0; g < SY_COUNT(gaps); g++) {
            struct sy_arena *arena = sy_arena_create();
            fill(&world, cpus[c], gaps[g]);
            add_counters(&world, cpus[c], g == 1, arena);
            for (uint32_t columns = 1; columns < 220; columns += columns < 20 ? 1 : 7) {
                for (uint32_t rows = 1; rows < 300; rows += rows < 50 ? 1 : 50) {
                    struct sy_buffer buffer = {0};
                    world.view.all = rows % 3 == 0;
                    sy_counters_draw(&world.view, columns, rows, rich, &buffer);
                    end(&buffer);
                    assert_true(check_lines(&buffer, columns) <= rows);
                    sy_buffer_finish(&buffer);
                }
            }
            sy_arena_destroy(arena);
        }
    }
}

static struct sy_buffer draw(const struct sy_counters_view *view, uint32_t columns, uint32_t rows) {
    struct sy_buffer buffer = {0};
    sy_counters_draw(view, columns, rows, plain, &buffer);
    end(&buffer);
    return buffer;
}

static void many_processors_share_a_line(void **state) {
    (void)state;
    static struct world world;
    fill(&world, CPUS, 2);
    struct sy_buffer small = draw(&world.view, 100, 20);
    assert_non_null(strstr(small.text, "200 cpus"));
    assert_null(strstr(small.text, "\ncpu1 "));
    assert_non_null(strstr(small.text, "6 not measured: link200"));
    assert_non_null(strstr(small.text, "would need: sysctl"));
    sy_buffer_finish(&small);
    struct sy_buffer tall = draw(&world.view, 100, 400);
    assert_null(strstr(tall.text, "200 cpus"));
    assert_non_null(strstr(tall.text, "\ncpu199 "));
    sy_buffer_finish(&tall);
}

static void counters_of_one_kind_share_a_line(void **state) {
    (void)state;
    static struct world world;
    struct sy_arena *arena = sy_arena_create();
    fill(&world, 4, 0);
    add_counters(&world, 4, false, arena);
    assert_int_equal(world.view.kind_count, 4);
    assert_int_equal(world.view.watched_count, 0);
    assert_string_equal(world.view.kinds[0].name, "proc.cpu*.faults");
    assert_string_equal(sy_counters_kind_text(&world.view, 0).text, "4.00 /s"); /* 1 + 3 */
    assert_string_equal(sy_counters_kind_text(&world.view, 1).text, "5");
    assert_string_equal(sy_counters_kind_text(&world.view, 3).text, "25.0 %");
    world.last[0] = world.last[2] = NAN;
    assert_string_equal(sy_counters_kind_text(&world.view, 0).text, "-");
    struct sy_buffer buffer = draw(&world.view, 100, 60);
    assert_non_null(strstr(buffer.text, "\nproc.cpu*.faults "));
    assert_non_null(strstr(buffer.text, "25.0 %"));
    sy_buffer_finish(&buffer);
    sy_arena_destroy(arena);
}

/* What was asked for stays in a window that has no room for all. */
static void what_is_watched_comes_first(void **state) {
    (void)state;
    static struct world world;
    struct sy_arena *arena = sy_arena_create();
    fill(&world, 4, 6);
    add_counters(&world, 4, true, arena);
    assert_int_equal(world.view.watched_count, 1);
    assert_string_equal(world.view.kinds[0].name, "cpu_used");
    for (uint32_t rows = 12; rows < 40; rows++) {
        struct sy_buffer buffer = draw(&world.view, 40, rows);
        assert_non_null(strstr(buffer.text, "\ncpu_used "));
        sy_buffer_finish(&buffer);
    }
    sy_arena_destroy(arena);
}

static void names_cannot_command_the_terminal(void **state) {
    (void)state;
    static struct world world;
    for (uint32_t columns = 30; columns < 200; columns += 80) {
        fill(&world, 4, 1);
        for (uint32_t i = 0; i < world.view.item_count; i++) {
            world.items[i].name = "\033[2J\xc2\x9b\n";
        }
        struct sy_buffer buffer = draw(&world.view, columns, 40);
        assert_non_null(strstr(buffer.text, "\\x1b"));
        assert_null(strchr(buffer.text, '\033'));
        assert_null(strstr(buffer.text, "\xc2\x9b"));
        sy_buffer_finish(&buffer);
    }
}

static void what_is_cut_is_counted(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 4, 0);
    struct sy_buffer buffer = draw(&world.view, 80, 10);
    /* 10 measured; a head of 4 lines, one for what is not measured, one for those left out. */
    assert_non_null(strstr(buffer.text, "... and 6 more"));
    sy_buffer_finish(&buffer);
}

static void no_bar_without_a_measurement(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 2, 0);
    struct sy_buffer buffer = draw(&world.view, 100, 60);
    const char *at = strstr(buffer.text, "\nlink2.");
    assert_non_null(at);
    const char *line_end = strchr(at + 1, '\n');
    assert_non_null(strstr(at, "not measured"));
    assert_true(strstr(at, "not measured") < line_end);
    assert_null(memchr(at + 1, '|', (size_t)(line_end - at - 1)));
    sy_buffer_finish(&buffer);
}

/* --- for programs ------------------------------------------------------------------------------
 */
static void labels_are_escaped(void **state) {
    (void)state;
    struct sy_buffer buffer = {0};
    sy_prometheus_put_label(&buffer, "a\\b\"c\nd \xc3\xbc \xff!");
    end(&buffer);
    assert_string_equal(buffer.text, "a\\\\b\\\"c\\nd \xc3\xbc ?!");
    sy_buffer_finish(&buffer);
}

static void prometheus_leaves_out_what_is_not_measured(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 2, 3);
    struct sy_buffer buffer = {0};
    sy_counters_write_prometheus(&world.view, &buffer);
    end(&buffer);
    assert_non_null(strstr(buffer.text, "# TYPE symph_utilisation_ratio gauge\n"));
    assert_non_null(strstr(buffer.text, "\nsymph_utilisation_ratio{resource=\"cpu1\"} 0.1\n"));
    assert_null(strstr(buffer.text, "symph_utilisation_ratio{resource=\"link2."));
    assert_non_null(strstr(buffer.text, "symph_measured{resource=\"link2.down.of.gpu\"} 0\n"));
    assert_null(strstr(buffer.text, "symph_capacity{resource=\"cpu1\""));
    assert_non_null(strstr(buffer.text, "symph_gaps 3\n"));
    assert_null(strstr(buffer.text, "nan"));
    sy_buffer_finish(&buffer);
}

static void json_is_one_line(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 2, 1);
    const struct sy_counters_session session = {.machine = &world.machine};
    struct sy_buffer buffer = {0};
    sy_counters_write_json(&world.view, &session, true, &buffer);
    sy_counters_write_json(&world.view, &session, false, &buffer);
    end(&buffer);
    const char *first = strchr(buffer.text, '\n');
    assert_non_null(first);
    const char *second = strchr(first + 1, '\n');
    assert_true(second && second[1] == 0);
    struct sy_error error = {0};
    struct sy_json json;
    sy_json_init(&json, "", buffer.text, (size_t)(first - buffer.text), &error);
    assert_int_equal(sy_json_skip(&json), 0);
    assert_int_equal(sy_json_end(&json), 0);
    sy_json_finish(&json);
    assert_true(strstr(buffer.text, "\"gaps\"") < first);
    assert_null(strstr(first, "\"gaps\""));
    sy_buffer_finish(&buffer);
}

static void lines_have_seven_words(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 2, 0);
    world.view.all = true;
    struct sy_buffer buffer = {0};
    sy_counters_write_lines_head(&buffer);
    sy_counters_write_lines(&world.view, &buffer);
    end(&buffer);
    uint32_t lines = 0;
    for (char *save, *line = strtok_r(buffer.text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), lines++) {
        uint32_t words = 0;
        char *inner;
        for (char *word = strtok_r(line, " ", &inner); word; word = strtok_r(NULL, " ", &inner)) {
            words++;
        }
        assert_int_equal(words, 7);
    }
    assert_int_equal(lines, 1 + 2 + MORE);
    sy_buffer_finish(&buffer);
}

static void plots_do_not_grow(void **state) {
    (void)state;
    static struct world world;
    fill(&world, 2, 0);
    size_t length[2];
    for (uint32_t round = 0; round < 2; round++) {
        struct sy_counters_plot *plot = sy_counters_plot_create(world.view.item_count);
        assert_non_null(plot);
        for (uint32_t i = 0; i < (round ? 40000u : 3000u); i++) {
            world.view.elapsed_ns = i * 1e8;
            world.items[0].mean = (double)(i % 100) / 100;
            sy_counters_plot_add(plot, &world.view);
        }
        struct sy_buffer buffer = {0};
        sy_counters_plot_write(plot, &world.view, &buffer);
        end(&buffer);
        assert_non_null(strstr(buffer.text, ">cpu0<"));
        assert_null(strstr(buffer.text, ">link2.")); /* never measured */
        assert_null(strstr(buffer.text, "nan"));
        length[round] = buffer.length;
        sy_buffer_finish(&buffer);
        sy_counters_plot_destroy(plot);
    }
    assert_true(length[1] < 2 * length[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_show_the_band),
        cmocka_unit_test(bars_are_as_wide_as_asked),
        cmocka_unit_test(colour_only_on_request),
        cmocka_unit_test(sparks),
        cmocka_unit_test(rates_and_ages),
        cmocka_unit_test(pages_fit_every_window),
        cmocka_unit_test(many_processors_share_a_line),
        cmocka_unit_test(counters_of_one_kind_share_a_line),
        cmocka_unit_test(what_is_watched_comes_first),
        cmocka_unit_test(names_cannot_command_the_terminal),
        cmocka_unit_test(what_is_cut_is_counted),
        cmocka_unit_test(no_bar_without_a_measurement),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(prometheus_leaves_out_what_is_not_measured),
        cmocka_unit_test(json_is_one_line),
        cmocka_unit_test(lines_have_seven_words),
        cmocka_unit_test(plots_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
