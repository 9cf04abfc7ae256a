/* Preloaded into a program, this writes down each call that changes a file below a folder, in order: see
 * crash_states.py. CRASH_ROOT is the folder, CRASH_LOG the file with the calls. A call is a line "kind offset length
 * path", for a rename "rename 0 LENGTH path" with the new path behind it, for a write with its bytes behind it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FILES 4096
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static char *names[OPEN_FILES]; /* of open files that are watched */
static int to = -1;

static int watched(const char *path) {
    const char *root = getenv("CRASH_ROOT");
    size_t length = root ? strlen(root) : 0;
    return root && path && strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static void note(const char *kind, off_t offset, const void *bytes, size_t length, const char *path) {
    int before = errno;
    if (to < 0)
        to = REAL(open)(getenv("CRASH_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dprintf(to, "%s %lld %zu %s\n", kind, (long long)offset, length, path);
    if (length && REAL(write)(to, bytes, length) != (ssize_t)length)
        abort();
    errno = before;
}

static const char *name_of(int file) { return file >= 0 && file < OPEN_FILES ? names[file] : NULL; }

static int opened(int file, const char *path, int flags, int was_there) {
    if (file < 0 || file >= OPEN_FILES || !watched(path))
        return file;
    free(names[file]);
    names[file] = strdup(path);
    if (flags & O_CREAT && !was_there)
        note("create", 0, NULL, 0, path);
    else if (flags & O_TRUNC)
        note("truncate", 0, NULL, 0, path);
    return file;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = va_arg(rest, mode_t);                                                                            \
        va_end(rest);                                                                                                  \
        int was_there = watched(path) && access(path, F_OK) == 0;                                                      \
        return opened(REAL(name)(path, flags, mode), path, flags, was_there);                                          \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    if (name_of(file)) {
        free(names[file]);
        names[file] = NULL;
    }
    return REAL(close)(file);
}

ssize_t write(int file, const void *bytes, size_t length) {
    off_t at = name_of(file) ? lseek(file, 0, SEEK_CUR) : 0;
    ssize_t done = REAL(write)(file, bytes, length);
    if (name_of(file) && done > 0)
        note("write", at, bytes, done, names[file]);
    return done;
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int file, const void *bytes, size_t length, offset_type at) {                                         \
        ssize_t done = REAL(name)(file, bytes, length, at);                                                            \
        if (name_of(file) && done > 0)                                                                                 \
            note("write", at, bytes, done, names[file]);                                                               \
        return done;                                                                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, offset_type)                                                                                    \
    int name(int file, offset_type size) {                                                                             \
        int failed = REAL(name)(file, size);                                                                           \
        if (name_of(file) && !failed)                                                                                  \
            note("truncate", size, NULL, 0, names[file]);                                                              \
        return failed;                                                                                                 \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                                                                     \
    int name(int file) {                                                                                               \
        int failed = REAL(name)(file);                                                                                 \
        if (name_of(file) && !failed)                                                                                  \
            note("sync", 0, NULL, 0, names[file]);                                                                     \
        return failed;                                                                                                 \
    }
SYNC(fsync)
SYNC(fdatasync)

#define ON_NAME(name, kind)                                                                                            \
    int name(const char *path) {                                                                                       \
        int failed = REAL(name)(path);                                                                                 \
        if (watched(path) && !failed)                                                                                  \
            note(kind, 0, NULL, 0, path);                                                                              \
        return failed;                                                                                                 \
    }
ON_NAME(unlink, "remove")
ON_NAME(rmdir, "remove")

int mkdir(const char *path, mode_t mode) {
    int failed = REAL(mkdir)(path, mode);
    if (watched(path) && !failed)
        note("folder", 0, NULL, 0, path);
    return failed;
}

int rename(const char *path, const char *other) {
    int failed = REAL(rename)(path, other);
    if (watched(path) && !failed)
        note("rename", 0, other, strlen(other), path);
    return failed;
}
