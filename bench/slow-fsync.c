/* Put under a process with LD_PRELOAD: every flush takes SLOW_FSYNC_US longer, as on an ordinary network disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slow(const char *name, int fd)
{
    const char *us = getenv("SLOW_FSYNC_US");
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (us) usleep((useconds_t)atoi(us));
    return real(fd);
}

int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
