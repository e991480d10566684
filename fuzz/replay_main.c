/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds every file of a corpus to a fuzz harness, so that the harness is an ordinary test.
 *
 * In: files or folders. Out: how many inputs were fed; failure is a crash, a sanitizer's report, or
 * an empty corpus. Each file is also cut short at several places: truncated input is the commonest
 * of all. Inputs sit in blocks of their exact size, so that ASan sees a read past the end.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CUTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const char *text, size_t length) {
    uint8_t *copy = malloc(length > 0 ? length : 1);
    if (!copy) {
        return -ENOMEM;
    }
    if (length > 0) {
        memcpy(copy, text, length);
    }
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    return 0;
}

static int feed_file(const char *path, size_t size) {
    int code = -EIO;
    FILE *file = fopen(path, "rb");
    char *text = malloc(size > 0 ? size : 1);
    if (file && text && fread(text, 1, size, file) == size) {
        code = 0;
        for (size_t cut = 1; cut <= CUTS && code == 0; cut++) {
            code = feed(text, size * cut / CUTS);
        }
    }
    free(text);
    if (file) {
        fclose(file);
    }
    if (code) {
        fprintf(stderr, "%s: cannot read\n", path);
    }
    return code;
}

static int feed_path(const char *path, unsigned *fed);

static int feed_folder(const char *path, unsigned *fed) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    int code = count < 0 ? -errno : 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t size = strlen(path) + strlen(name) + 2;
        char *child = malloc(size);
        if (child && name[0] != '.' && code == 0) {
            stpcpy(stpcpy(stpcpy(child, path), "/"), name);
            code = feed_path(child, fed);
        }
        free(child);
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
    return code;
}

static int feed_path(const char *path, unsigned *fed) {
    struct stat status;
    if (stat(path, &status) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -errno;
    }
    if (S_ISDIR(status.st_mode)) {
        return feed_folder(path, fed);
    }
    (*fed)++;
    return feed_file(path, (size_t)status.st_size);
}

int main(int argc, char **argv) {
    unsigned fed = 0;
    for (int i = 1; i < argc; i++) {
        if (feed_path(argv[i], &fed)) {
            return 1;
        }
    }
    printf("%u files replayed, each also cut short at %d places\n", fed, CUTS - 1);
    return fed > 0 ? 0 : 1;
}
