/*
 * Preloaded into a server, notes in one log file, in order, everything that changes a file in one directory and every
 * flush: what power-loss tests rebuild a disk from. It can also let a flush fail (EIO) or the disk be full (ENOSPC).
 * Shared memory beside the database is left out: it need not survive, and is not written through these calls.
 *
 * DISK_DIRECTORY   the directory, as an absolute path without symbolic links
 * DISK_LOG         the log, outside of that directory; disk-log.ts reads it
 * DISK_FLUSH_MS    how long a flush takes; a slow one gives what wrongly does not wait for it the time to show
 * DISK_FAIL_FSYNC  the number of the first flush that fails, counted from 1; so do all after it
 * DISK_FULL_FLAG   a path; while a file is there, every write fails
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { STARTED = 1, FOUND, CREATED, UNLINKED, WRITTEN, TRUNCATED, FLUSHED, FLUSH_FAILED };

/* Little-endian, 24 bytes, followed by `length` bytes: the name of the file, or what was written. */
struct record {
  uint32_t kind;
  uint32_t file;
  uint64_t offset;
  uint32_t length;
  uint32_t unused;
};

#define FDS 4096
#define FILES 256
#define THE_DIRECTORY 0xffffffffu

/* One lock around each call and its record, so that the log has the order of the disk. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static const char *directory;
static size_t directory_length;
static const char *full_flag;
static long flush_ms, flush_to_fail, flushes;
static uint32_t file_of_fd[FDS]; /* 0: none of ours */
static struct stat stat_of_fd[FDS];
static char *name_of_file[FILES]; /* from 1; NULL once it is unlinked */
static uint32_t files;

#define REAL(name) ((__typeof__(&name))real_##name())
#define FIND(name)                                   \
  static void *real_##name(void) {                   \
    static void *found;                              \
    if (!found) found = dlsym(RTLD_NEXT, #name);     \
    return found;                                    \
  }
FIND(open) FIND(close) FIND(write) FIND(pwrite) FIND(writev) FIND(pwritev) FIND(ftruncate)
FIND(fsync) FIND(fdatasync) FIND(unlink) FIND(rename)

static void note(enum kind kind, uint32_t file, uint64_t offset, const void *bytes, uint32_t length) {
  struct record record = {kind, file, offset, length, 0};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)bytes, length}};
  if (REAL(writev)(log_fd, parts, 2) != (ssize_t)(sizeof record + length)) {
    fprintf(stderr, "power-loss-shim: cannot write its log\n");
    _exit(99);
  }
}

__attribute__((constructor)) static void begin(void) {
  directory = getenv("DISK_DIRECTORY");
  const char *path = getenv("DISK_LOG");
  if (!directory || !path) {
    directory = NULL;
    return;
  }
  directory_length = strlen(directory);
  full_flag = getenv("DISK_FULL_FLAG");
  const char *fail = getenv("DISK_FAIL_FSYNC");
  flush_to_fail = fail ? atol(fail) : 0;
  const char *slow = getenv("DISK_FLUSH_MS");
  flush_ms = slow ? atol(slow) : 0;
  log_fd = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) {
    fprintf(stderr, "power-loss-shim: cannot open %s\n", path);
    _exit(99);
  }
  note(STARTED, 0, 0, NULL, 0);
}

/* The name inside of the directory; "" for the directory itself; NULL for what is not recorded. */
static const char *name_of_path(const char *path) {
  if (!directory || !path || strncmp(path, directory, directory_length) != 0) return NULL;
  if (path[directory_length] == '\0') return "";
  if (path[directory_length] != '/') return NULL;
  const char *name = path + directory_length + 1;
  size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, "-shm") == 0) return NULL;
  return name;
}

static uint32_t file_of_name(const char *name) {
  for (uint32_t file = 1; file <= files; file += 1)
    if (name_of_file[file] && strcmp(name_of_file[file], name) == 0) return file;
  return 0;
}

/* Node closes files with the system call itself, so that we do not see it: the number may belong to something else now. */
static uint32_t file_of(int fd) {
  if (!directory || fd < 0 || fd >= FDS || !file_of_fd[fd]) return 0;
  struct stat now;
  const struct stat *then = &stat_of_fd[fd];
  if (fstat(fd, &now) != 0 || now.st_dev != then->st_dev || now.st_ino != then->st_ino) file_of_fd[fd] = 0;
  return file_of_fd[fd];
}

static void opened(int fd, const char *name, int existed) {
  if (fd < 0 || fd >= FDS) return;
  fstat(fd, &stat_of_fd[fd]);
  if (name[0] == '\0') {
    file_of_fd[fd] = THE_DIRECTORY;
    return;
  }
  uint32_t file = file_of_name(name);
  if (!file && files + 1 < FILES) {
    file = ++files;
    name_of_file[file] = strdup(name);
    note(existed ? FOUND : CREATED, file, 0, name, (uint32_t)strlen(name));
  }
  file_of_fd[fd] = file;
}

static int open_file(const char *path, int flags, mode_t mode) {
  const char *name = name_of_path(path);
  if (!name) return REAL(open)(path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat before;
  int existed = stat(path, &before) == 0;
  int fd = REAL(open)(path, flags, mode);
  int error = errno;
  opened(fd, name, existed);
  if (fd >= 0 && existed && (flags & O_TRUNC) && file_of(fd)) note(TRUNCATED, file_of(fd), 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define MODE_ARGUMENT                                                  \
  mode_t mode = 0;                                                     \
  if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {         \
    va_list rest;                                                      \
    va_start(rest, flags);                                             \
    mode = va_arg(rest, mode_t);                                       \
    va_end(rest);                                                      \
  }

int open(const char *path, int flags, ...) {
  MODE_ARGUMENT
  return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE_ARGUMENT
  return open_file(path, flags, mode);
}

int close(int fd) {
  if (file_of(fd)) file_of_fd[fd] = 0;
  return REAL(close)(fd);
}

static int is_full(void) {
  if (!full_flag) return 0;
  struct stat flag;
  return stat(full_flag, &flag) == 0;
}

/* Notes what of the pieces was really written. `offset` below 0: where the file stands. */
static ssize_t write_file(int fd, const struct iovec *parts, int count, off_t offset) {
  pthread_mutex_lock(&lock);
  ssize_t written = -1;
  int error = ENOSPC;
  if (!is_full()) {
    off_t at = offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset;
    written = offset < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev)(fd, parts, count, offset);
    error = errno;
    ssize_t left = written;
    for (int i = 0; i < count && left > 0; i += 1) {
      size_t length = parts[i].iov_len < (size_t)left ? parts[i].iov_len : (size_t)left;
      note(WRITTEN, file_of_fd[fd], (uint64_t)at, parts[i].iov_base, (uint32_t)length);
      at += (off_t)length;
      left -= (ssize_t)length;
    }
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return written;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!file_of(fd)) return REAL(write)(fd, bytes, length);
  struct iovec part = {(void *)bytes, length};
  return write_file(fd, &part, 1, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  if (!file_of(fd)) return REAL(pwrite)(fd, bytes, length, offset);
  struct iovec part = {(void *)bytes, length};
  return write_file(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
  return file_of(fd) ? write_file(fd, parts, count, -1) : REAL(writev)(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return file_of(fd) ? write_file(fd, parts, count, offset) : REAL(pwritev)(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}

int ftruncate(int fd, off_t size) {
  if (!file_of(fd)) return REAL(ftruncate)(fd, size);
  pthread_mutex_lock(&lock);
  int result = REAL(ftruncate)(fd, size);
  int error = errno;
  if (result == 0) note(TRUNCATED, file_of_fd[fd], (uint64_t)size, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int flush(int fd, int (*really)(int)) {
  uint32_t file = file_of(fd);
  if (!file) return really(fd);
  pthread_mutex_lock(&lock);
  if (flush_ms > 0) usleep((useconds_t)flush_ms * 1000);
  int fails = file != THE_DIRECTORY && ++flushes >= flush_to_fail && flush_to_fail > 0;
  int result = fails ? -1 : really(fd);
  int error = fails ? EIO : errno;
  note(result == 0 ? FLUSHED : FLUSH_FAILED, file, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int fsync(int fd) { return flush(fd, REAL(fsync)); }
int fdatasync(int fd) { return flush(fd, REAL(fdatasync)); }

int unlink(const char *path) {
  const char *name = name_of_path(path);
  if (!name) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  int result = REAL(unlink)(path);
  int error = errno;
  uint32_t file = file_of_name(name);
  if (result == 0) note(UNLINKED, file, 0, name, (uint32_t)strlen(name));
  if (result == 0 && file) name_of_file[file] = NULL;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/* Nothing of ours renames a file. Should that change, the log has no way to say it, so it is said loudly. */
int rename(const char *from, const char *to) {
  if (name_of_path(from) || name_of_path(to)) {
    fprintf(stderr, "power-loss-shim: rename of %s is not recorded\n", from);
    _exit(99);
  }
  return REAL(rename)(from, to);
}
