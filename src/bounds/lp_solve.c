/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds an installed LP solver, hands it the text, reads its dual values.
 *
 * In: an LP. Out: a dual value per row. Never knows: what the rows mean. Files live in a private
 * directory that is removed whatever happens. clp and cbc (dual simplex) took about 0.04 s for
 * 1,000 tasks and 1.1 s for 10,000, glpsol three to seven times as long: hence the order.
 */
#include "base/folder.h"
#include "bounds/lp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define LINE_SIZE 512
#define LOG_SIZE  2048
#define WORD_MAX  5

struct solver {
    const char *name;
    /* Arguments behind the program's path; "<" stands for the model, ">" for the answer. */
    const char *arguments[8];
    int (*read)(FILE *file, struct sy_lp *lp);
};

/* Splits at blanks, in place. */
static uint32_t split(char *line, char **words) {
    uint32_t count = 0;
    char *rest = line;
    for (char *word; count < WORD_MAX && (word = strtok_r(rest, " \t\r\n*", &rest)) != NULL;) {
        words[count++] = word;
    }
    return count;
}

/* Stores a row's dual. False if the words are no row and number. */
static bool take(struct sy_lp *lp, const char *row, const char *value, uint64_t first_row) {
    uint64_t index;
    double dual;
    if (!sy_parse_u64(row, strlen(row), &index) || index < first_row ||
        index - first_row >= lp->row_count || !sy_parse_double(value, strlen(value), &dual)) {
        return false;
    }
    uint32_t slot = lp->row_slot[index - first_row];
    if (slot != SY_NONE) {
        lp->dual[slot] = dual;
    }
    return true;
}

/* "Optimal - objective value ..." and lines "[**] index name activity dual". */
static int read_coin(FILE *file, struct sy_lp *lp) {
    char line[LINE_SIZE], *words[WORD_MAX];
    uint32_t rows = 0;
    if (fgets(line, sizeof(line), file) == NULL) {
        return -EIO;
    }
    if (strncasecmp(line, "optimal", 7) != 0) {
        return strncasecmp(line, "stopped", 7) == 0 ? -ETIME : -EIO;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (split(line, words) == 4 && words[1][0] == 'R') {
            rows += take(lp, words[1] + 1, words[3], 0);
        }
    }
    return rows == lp->row_count ? 0 : -EIO;
}

/* "s bas rows columns f f objective" (both feasible) and lines "i row status activity dual". */
static int read_glpk(FILE *file, struct sy_lp *lp) {
    char line[LINE_SIZE], *words[WORD_MAX];
    uint32_t rows = 0;
    bool optimal = false;
    while (fgets(line, sizeof(line), file) != NULL) {
        optimal |= strncmp(line, "s bas ", 6) == 0 && strstr(line, " f f ") != NULL;
        if (line[0] == 'i' && split(line, words) == 5) {
            rows += take(lp, words[1], words[4], 1);
        }
    }
    return optimal && rows == lp->row_count ? 0 : -EIO;
}

/* In order of preference. */
static const struct solver solvers[] = {
    {"clp", {"<", "-printingOptions", "all", "-dualsimplex", "-solution", ">"}, read_coin},
    {"cbc", {"<", "-printingOptions", "all", "-solve", "-solution", ">"}, read_coin},
    {"glpsol", {"--dual", "--lp", "<", "-w", ">"}, read_glpk},
};

static bool is_program(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Where PATH has the program; a name with a slash stands for itself. */
static bool find_program(const char *name, char *ret_path) {
    if (strchr(name, '/') != NULL) {
        return snprintf(ret_path, PATH_SIZE, "%s", name) < PATH_SIZE && is_program(ret_path);
    }
    const char *rest = getenv("PATH");
    while (rest != NULL && *rest != '\0') {
        size_t length = strcspn(rest, ":");
        int size = snprintf(ret_path, PATH_SIZE, "%.*s/%s", (int)length, rest, name);
        if (length > 0 && size < PATH_SIZE && is_program(ret_path)) {
            return true;
        }
        rest += length + (rest[length] == ':');
    }
    return false;
}

static int find_named(const char *name, const struct solver **ret_solver, char *ret_path,
                      struct sy_error *error) {
    const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    if (!find_program(name, ret_path)) {
        sy_fail(error, -ENOENT, "LP solver %s, named by SYMPH_LP_SOLVER, is not there", name);
        sy_hint(error, "unset SYMPH_LP_SOLVER to use clp, cbc or glpsol from PATH");
        return -ENOENT;
    }
    for (size_t i = 0; i < SY_COUNT(solvers); i++) {
        if (strncmp(base, solvers[i].name, strlen(solvers[i].name)) == 0) {
            *ret_solver = &solvers[i];
            return 0;
        }
    }
    sy_fail(error, -EINVAL, "LP solver %s: how to call it is not known", name);
    return sy_hint(error, "the program's name must begin with clp, cbc or glpsol");
}

static int find_solver(const struct solver **ret_solver, char *ret_path, struct sy_error *error) {
    const char *named = getenv("SYMPH_LP_SOLVER");
    if (named != NULL && *named != '\0') {
        return find_named(named, ret_solver, ret_path, error);
    }
    for (size_t i = 0; i < SY_COUNT(solvers); i++) {
        if (find_program(solvers[i].name, ret_path)) {
            *ret_solver = &solvers[i];
            return 0;
        }
    }
    sy_fail(error, -ENOENT, "no LP solver is installed");
    sy_hint(error, "install coinor-clp, coinor-cbc or glpk-utils");
    return -ENOENT;
}

static int run_solver(const struct solver *solver, const char *program, const char *model,
                      const char *answer, double time_limit_s, bool (*stop)(void),
                      struct sy_error *error) {
    const char *argv[SY_COUNT(solver->arguments) + 2] = {program};
    char log[LOG_SIZE];
    for (size_t i = 0; i < SY_COUNT(solver->arguments) && solver->arguments[i] != NULL; i++) {
        const char *argument = solver->arguments[i];
        argv[i + 1] = argument[0] == '<' ? model : argument[0] == '>' ? answer : argument;
    }
    int r = sy_lp_process(argv, time_limit_s, stop, log, sizeof(log));
    if (r == -ETIME) {
        return sy_fail(error, r, "%s took longer than %g s", program, time_limit_s);
    }
    if (r == -ECANCELED) {
        return sy_fail(error, r, "%s was stopped", program);
    }
    if (r < 0) {
        size_t length = strlen(log);
        return sy_fail(error, r, "%s failed: %s", program,
                       length > 0 ? log + (length > 160 ? length - 160 : 0) : strerror(-r));
    }
    return 0;
}

static int read_answer(const struct solver *solver, const char *answer, struct sy_lp *lp,
                       struct sy_error *error) {
    FILE *file = fopen(answer, "re");
    if (file == NULL) {
        return sy_fail(error, -EIO, "%s left no answer", solver->name);
    }
    int r = solver->read(file, lp);
    fclose(file);
    return r < 0 ? sy_fail(error, r, "%s did not find the optimum", solver->name) : 0;
}

int sy_lp_solve(struct sy_lp *lp, const struct sy_buffer *text, double time_limit_s,
                bool (*stop)(void), struct sy_error *error) {
    const struct solver *solver = NULL;
    char program[PATH_SIZE], directory[PATH_SIZE], model[PATH_SIZE + 16], answer[PATH_SIZE + 16];
    int r = find_solver(&solver, program, error);
    r = r < 0 ? r : sy_temporary_folder(directory, sizeof(directory), error);
    if (r < 0) {
        return r;
    }
    snprintf(model, sizeof(model), "%s/model.lp", directory);
    snprintf(answer, sizeof(answer), "%s/answer", directory);
    r = sy_write_file(model, text->text, text->length, error);
    if (r == 0) {
        r = run_solver(solver, program, model, answer, time_limit_s, stop, error);
    }
    if (r == 0) {
        r = read_answer(solver, answer, lp, error);
    }
    sy_remove_folder(directory);
    return r;
}
