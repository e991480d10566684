/* SPDX-License-Identifier: Apache-2.0
 *
 * What an ELF file says of itself. Every number in it is somebody else's: each is checked against
 * the bytes there are before it is used.
 */
#include "base/elf_file.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_MAX  512
#define DYNAMIC_MAX 8192
#define PATH_BYTES  4096
#define STRING_MAX  (UINT64_C(8) << 20)
#define NOTE_MAX    65536u
#define BLOCK_BYTES 65536

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__s390x__)
#define MACHINE EM_S390
#elif defined(__i386__)
#define MACHINE EM_386
#elif defined(__arm__)
#define MACHINE EM_ARM
#endif

/* --- bytes --------------------------------------------------------------------------------------
 */
struct source {
    int fd;           /* -1: in memory */
    const char *text; /* NULL: in the file */
    uint64_t length;
};

/* Exactly so many bytes from there. */
static bool take(const struct source *source, uint64_t offset, uint64_t size, void *to) {
    if (offset > source->length || size > source->length - offset) {
        return false;
    }
    if (source->text) {
        memcpy(to, source->text + offset, size);
        return true;
    }
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(source->fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false; /* it was cut meanwhile */
        }
        done += got > 0 ? (uint64_t)got : 0;
    }
    return true;
}

/* The same in memory of its own, with a NUL behind it. */
static char *take_copy(const struct source *source, uint64_t offset, uint64_t size) {
    char *copy =
        offset <= source->length && size <= source->length - offset ? malloc(size + 1) : NULL;
    if (copy && !take(source, offset, size, copy)) {
        free(copy);
        return NULL;
    }
    if (copy) {
        copy[size] = '\0';
    }
    return copy;
}

/* --- headers ------------------------------------------------------------------------------------
 */
struct parts {
    ElfW(Phdr) headers[HEADER_MAX];
    uint32_t count;
};

static bool read_headers(const struct source *source, struct parts *parts) {
    ElfW(Ehdr) header;
    if (!take(source, 0, sizeof header, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_ident[EI_DATA] !=
            (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
        (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
        header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum > HEADER_MAX) {
        return false;
    }
#ifdef MACHINE
    if (header.e_machine != MACHINE) {
        return false;
    }
#endif
    parts->count = header.e_phnum;
    return take(source, header.e_phoff, parts->count * sizeof(ElfW(Phdr)), parts->headers);
}

/* Where in the file an address is loaded from. */
static bool offset_of(const struct parts *parts, uint64_t address, uint64_t *ret_offset) {
    for (uint32_t i = 0; i < parts->count; i++) {
        const ElfW(Phdr) *part = &parts->headers[i];
        if (part->p_type == PT_LOAD && address >= part->p_vaddr &&
            address - part->p_vaddr < part->p_filesz) {
            *ret_offset = part->p_offset + (address - part->p_vaddr);
            return true;
        }
    }
    return false;
}

/* --- the dynamic section ------------------------------------------------------------------------
 */
static const char *string_at(const struct sy_elf *elf, uint64_t offset) {
    return offset < elf->string_bytes ? elf->strings + offset : NULL;
}

static bool read_strings(const struct source *source, const struct parts *parts,
                         const ElfW(Dyn) * entries, uint64_t count, struct sy_elf *elf) {
    uint64_t address = 0, size = 0, offset;
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        address = entries[i].d_tag == DT_STRTAB ? entries[i].d_un.d_ptr : address;
        size = entries[i].d_tag == DT_STRSZ ? entries[i].d_un.d_val : size;
    }
    if (size == 0) {
        return true;
    }
    if (size > STRING_MAX || !offset_of(parts, address, &offset)) {
        return false;
    }
    elf->strings = take_copy(source, offset, size);
    elf->string_bytes = elf->strings ? size : 0;
    return elf->strings;
}

static bool read_dynamic(const struct source *source, const struct parts *parts,
                         const ElfW(Phdr) * part, struct sy_elf *elf) {
    uint64_t count = part->p_filesz / sizeof(ElfW(Dyn));
    ElfW(Dyn) *entries = count <= DYNAMIC_MAX
                             ? (void *)take_copy(source, part->p_offset, count * sizeof(ElfW(Dyn)))
                             : NULL;
    bool fine = entries && read_strings(source, parts, entries, count, elf);
    for (uint64_t i = 0; fine && i < count && entries[i].d_tag != DT_NULL; i++) {
        const char *text = string_at(elf, entries[i].d_un.d_val);
        switch (entries[i].d_tag) {
        case DT_NEEDED:
            fine = text && elf->needed_count < SY_ELF_NEEDED_MAX;
            if (fine) {
                elf->needed[elf->needed_count++] = text;
            }
            break;
        case DT_SONAME:
            elf->soname = text;
            break;
        case DT_RPATH:
            elf->rpath = text;
            break;
        case DT_RUNPATH:
            elf->runpath = text;
            break;
        default:
            break;
        }
    }
    free(entries);
    return fine;
}

/* --- notes --------------------------------------------------------------------------------------
 */
static uint64_t padded(uint64_t size) {
    return (size + 3) & ~UINT64_C(3);
}

/* Notes that make no sense are passed over: the file can be loaded all the same. */
static void read_notes(const struct source *source, const ElfW(Phdr) * part, struct sy_elf *elf) {
    uint64_t size = part->p_filesz < NOTE_MAX ? part->p_filesz : 0, at = 0;
    char *notes = size ? take_copy(source, part->p_offset, size) : NULL;
    while (notes && size - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        uint64_t name = padded(note.n_namesz), data = padded(note.n_descsz);
        if (name > size - at || data > size - at - name) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(notes + at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            elf->build_id_length =
                note.n_descsz < SY_ELF_ID_MAX ? note.n_descsz : (uint32_t)SY_ELF_ID_MAX;
            memcpy(elf->build_id, notes + at + name, elf->build_id_length);
            break;
        }
        at += name + data;
    }
    free(notes);
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static bool read_part(const struct source *source, const struct parts *parts,
                      const ElfW(Phdr) * part, struct sy_elf *elf) {
    switch (part->p_type) {
    case PT_INTERP:
        if (!elf->interpreter && part->p_filesz > 0 && part->p_filesz < PATH_BYTES) {
            elf->interpreter = take_copy(source, part->p_offset, part->p_filesz);
        }
        return elf->interpreter;
    case PT_DYNAMIC:
        return elf->strings || read_dynamic(source, parts, part, elf);
    case PT_NOTE:
        if (elf->build_id_length == 0) {
            read_notes(source, part, elf);
        }
        return true;
    default:
        return true;
    }
}

static int read_elf(const struct source *source, struct sy_elf *ret_elf) {
    struct parts *parts = malloc(sizeof *parts);
    struct sy_elf elf = {0};
    if (!parts) {
        return -ENOMEM;
    }
    bool fine = read_headers(source, parts);
    for (uint32_t i = 0; fine && i < parts->count; i++) {
        fine = read_part(source, parts, &parts->headers[i], &elf);
    }
    free(parts);
    if (!fine) {
        sy_elf_finish(&elf);
        return -ENOEXEC;
    }
    *ret_elf = elf;
    return 0;
}

int sy_elf_read_text(const char *text, size_t length, struct sy_elf *ret_elf) {
    const struct source source = {.fd = -1, .text = text, .length = length};
    return read_elf(&source, ret_elf);
}

/* A plain file: a pipe would make us wait. */
static int open_plain(const char *path, struct source *ret_source) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int code = fd < 0 || fstat(fd, &info) < 0 ? -errno : S_ISREG(info.st_mode) ? 0 : -ENOEXEC;
    if (code) {
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    *ret_source = (struct source){.fd = fd, .length = (uint64_t)info.st_size};
    return 0;
}

int sy_elf_read_file(const char *path, struct sy_elf *ret_elf) {
    struct source source;
    int code = open_plain(path, &source);
    if (!code) {
        code = read_elf(&source, ret_elf);
        close(source.fd);
    }
    return code;
}

void sy_elf_finish(struct sy_elf *elf) {
    free(elf->interpreter);
    free(elf->strings);
    *elf = (struct sy_elf){0};
}

bool sy_elf_names(const struct sy_elf *elf, const char *symbol) {
    return elf->strings && memmem(elf->strings, elf->string_bytes + 1, symbol, strlen(symbol) + 1);
}

/* --- identity -----------------------------------------------------------------------------------
 */
static int hash_file(const char *path, uint64_t *ret_hash) {
    struct source source = {.fd = -1};
    uint64_t hash = 0;
    char *block = malloc(BLOCK_BYTES);
    int code = block ? open_plain(path, &source) : -ENOMEM;
    for (uint64_t at = 0; !code && at < source.length;) {
        uint64_t size = source.length - at < BLOCK_BYTES ? source.length - at : BLOCK_BYTES;
        code = take(&source, at, size, block) ? 0 : -EIO;
        hash = code ? 0 : sy_hash(block, size) ^ hash * UINT64_C(0x9e3779b97f4a7c15);
        at += size;
    }
    if (source.fd >= 0) {
        close(source.fd);
    }
    free(block);
    *ret_hash = hash;
    return code;
}

int sy_elf_identity(const char *path, uint64_t *ret_identity) {
    struct sy_elf elf = {0};
    uint64_t identity = 0;
    int code = sy_elf_read_file(path, &elf);
    if (code == 0 && elf.build_id_length > 0) {
        identity = sy_hash((const char *)elf.build_id, elf.build_id_length);
    } else if (code == 0 || code == -ENOEXEC) {
        code = hash_file(path, &identity);
    }
    sy_elf_finish(&elf);
    if (!code) {
        *ret_identity = identity ? identity : 1;
    }
    return code;
}

struct lookup {
    uintptr_t address;
    uint64_t identity;
};

static int look_at_object(struct dl_phdr_info *object, size_t size, void *argument) {
    struct lookup *lookup = argument;
    struct sy_elf elf = {0};
    bool inside = false;
    (void)size;
    for (uint32_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        inside |= part->p_type == PT_LOAD &&
                  lookup->address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz;
    }
    for (uint32_t i = 0; inside && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && elf.build_id_length == 0) {
            const struct source source = {.fd = -1,
                                          .text = (const char *)(object->dlpi_addr + part->p_vaddr),
                                          .length = part->p_filesz};
            read_notes(&source, &(ElfW(Phdr)){.p_filesz = part->p_filesz}, &elf);
        }
    }
    if (elf.build_id_length > 0) {
        lookup->identity = sy_hash((const char *)elf.build_id, elf.build_id_length);
    }
    return inside;
}

uint64_t sy_elf_loaded_identity(const void *address) {
    struct lookup lookup = {.address = (uintptr_t)address};
    dl_iterate_phdr(look_at_object, &lookup);
    return lookup.identity;
}

/* --- the loader's cache -------------------------------------------------------------------------
 */
/* glibc's, since 2.2; a file of before 2.32 may begin with an older table, which it follows. */
struct cache_header {
    char magic[20];
    uint32_t count, string_bytes;
    uint32_t unused[5];
};

struct cache_entry {
    int32_t flags;
    uint32_t key, value; /* from the header on */
    uint32_t version;
    uint64_t capabilities;
};

static const char cache_magic[] = "glibc-ld.so.cache1.1";

const char *sy_elf_cache_find(const char *text, size_t length, const char *name, uint32_t *at) {
    const char *start = memmem(text, length, cache_magic, sizeof cache_magic - 1);
    size_t left = start ? length - (size_t)(start - text) : 0;
    struct cache_header header;
    if (left < sizeof header) {
        return NULL;
    }
    memcpy(&header, start, sizeof header);
    uint64_t most = (left - sizeof header) / sizeof(struct cache_entry);
    while (*at < header.count && *at < most) {
        struct cache_entry entry;
        memcpy(&entry, start + sizeof header + *at * sizeof entry, sizeof entry);
        ++*at;
        /* The text ends with a NUL, so that what begins inside it ends inside it. */
        if (entry.key < left && entry.value < left && strcmp(start + entry.key, name) == 0) {
            return start + entry.value;
        }
    }
    return NULL;
}
