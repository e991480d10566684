/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_file: what a program or shared object says of itself, read from its file. Nothing of it is
 * run.
 *
 * In: a file, or its bytes. Out: its loader, the libraries it needs, where it looks for them, the
 * id that the linker gave its contents. Only files that this machine could load. Invariant: any
 * bytes give an answer or -ENOEXEC; memory stays within a few megabytes.
 */
#ifndef SY_BASE_ELF_FILE_H
#define SY_BASE_ELF_FILE_H

#include "base/base.h"

#define SY_ELF_NEEDED_MAX 256
#define SY_ELF_ID_MAX     64

struct sy_elf {
    char *interpreter; /* NULL: it names no loader */
    char *strings;     /* of the dynamic section, ended by a NUL; NULL: none */
    size_t string_bytes;
    const char *soname, *rpath, *runpath; /* in strings; NULL: none */
    const char *needed[SY_ELF_NEEDED_MAX];
    uint32_t needed_count;
    uint8_t build_id[SY_ELF_ID_MAX];
    uint32_t build_id_length; /* 0: none */
};

/* 0, -ENOEXEC: not an ELF file for this machine, or a damaged one, or another negative errno. */
SY_MUST_CHECK int sy_elf_read_file(const char *path, struct sy_elf *ret_elf);
SY_MUST_CHECK int sy_elf_read_text(const char *text, size_t length, struct sy_elf *ret_elf);
void sy_elf_finish(struct sy_elf *elf);
/* Whether it may define or use a symbol: the name is among its strings. */
bool sy_elf_names(const struct sy_elf *elf, const char *symbol);

/* A number for the contents of a file: from the linker's id, else of all its bytes. Two builds of
 * one source that differ have different numbers. Never 0. */
SY_MUST_CHECK int sy_elf_identity(const char *path, uint64_t *ret_identity);

/* The same number for what this process has loaded at an address, a function's say; 0: it is
 * nothing loaded, or the linker gave it no id. */
uint64_t sy_elf_loaded_identity(const void *address);

/* The next path that the loader's cache (/etc/ld.so.cache) has for a name, from entry *at on, which
 * is set behind it; NULL: no more, or it is no such cache. The path is in text, which ends with a
 * NUL behind its length. */
const char *sy_elf_cache_find(const char *text, size_t length, const char *name, uint32_t *at);

#endif
