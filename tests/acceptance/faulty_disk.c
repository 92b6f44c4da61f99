/* A disk that refuses or hesitates, for the files below one folder: loaded into a program by
 * LD_PRELOAD. FAULTY_DISK names the folder; FAULTY_DISK_MODE names a file whose text is read at
 * each call: "read-only" lets every change fail as on a file system mounted read-only, "slow N"
 * lets each fsync take N milliseconds longer. Linux refuses to remount a file system read-only
 * while a program has a file open for writing, so a test cannot ask it to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static int below(const char *path) {
    const char *folder = getenv("FAULTY_DISK");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int below_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static void mode(char *text, size_t size) {
    const char *path = getenv("FAULTY_DISK_MODE");
    text[0] = 0;
    int fd = path ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    ssize_t length = read(fd, text, size - 1);
    text[length < 0 ? 0 : length] = 0;
    close(fd);
}

static int read_only(void) {
    char text[32];
    mode(text, sizeof text);
    return strncmp(text, "read-only", 9) == 0;
}

static int refused(int here) {
    if (!here || !read_only()) return 0;
    errno = EROFS;
    return 1;
}

static void hesitate(int fd) {
    char text[32];
    int ms = 0;
    mode(text, sizeof text);
    if (sscanf(text, "slow %d", &ms) != 1 || !below_fd(fd)) return;
    struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t bits = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                    \
        va_end(rest);                                                                              \
        if (changes(flags) && refused(below(path))) return -1;                                     \
        return NEXT(name)(path, flags, bits);                                                      \
    }
OPEN(open)
OPEN(open64)

#define ON_FD(type, name, parameters, arguments)                                                   \
    type name parameters { return refused(below_fd(fd)) ? -1 : NEXT(name) arguments; }
ON_FD(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
ON_FD(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FD(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, (int fd, off64_t size), (fd, size))

#define ON_PATH(name, parameters, arguments)                                                       \
    int name parameters { return refused(below(path)) ? -1 : NEXT(name) arguments; }
ON_PATH(unlink, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t bits), (path, bits))
ON_PATH(rename, (const char *path, const char *to), (path, to))
ON_PATH(link, (const char *path, const char *to), (path, to))

int fsync(int fd) {
    hesitate(fd);
    return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    hesitate(fd);
    return NEXT(fdatasync)(fd);
}

#define STATVFS(name, kind)                                                                        \
    int name(const char *path, struct kind *found) {                                               \
        int result = NEXT(name)(path, found);                                                      \
        if (result == 0 && below(path) && read_only()) found->f_flag |= ST_RDONLY;                 \
        return result;                                                                             \
    }
STATVFS(statvfs, statvfs)
STATVFS(statvfs64, statvfs64)
