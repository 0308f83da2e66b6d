/* Faults put into a process (LD_PRELOAD): FAULT names what fails, FAULT_AT at which call, counted from fault_begin()
 * or, with FAULT_NOW, from the start; FAULT_EVER: and at every later one until fault_end().
 *
 * memory  malloc and its kin have none
 * large   likewise, for 4 KB and more
 * map     mmap has none
 * thread  no thread can be made
 * clock   the time of day jumps by a day, back and forth, at every look
 * kill    the process is killed before it writes to a file, makes it longer or gives it a name
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NONE, MEMORY, LARGE, MAP, THREAD, CLOCK, KILL };
static int kind, ever;
static long at;
static atomic_long calls;
static atomic_int armed;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

__attribute__((constructor)) static void begin(void) {
    static const char *const names[] = {"none", "memory", "large", "map", "thread", "clock", "kill"};
    const char *name = getenv("FAULT"), *number = getenv("FAULT_AT");
    for (int i = 0; name && i < 7; i++)
        if (!strcmp(name, names[i])) kind = i;
    at = number ? atol(number) : 0;
    ever = getenv("FAULT_EVER") != NULL;
    armed = getenv("FAULT_NOW") != NULL;
}
void fault_begin(void) {
    calls = 0;
    armed = 1;
}
/* How many calls there were that might have failed. */
long fault_end(void) {
    armed = 0;
    return calls;
}
static int fails(int of) {
    if (kind != of || !armed) return 0;
    long n = calls++;
    return ever ? n >= at : n == at;
}
static int none(size_t bytes) { return fails(MEMORY) || (bytes >= 4096 && fails(LARGE)) ? errno = ENOMEM : 0; }

void *malloc(size_t n) { return none(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return none(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return none(n) ? NULL : __libc_realloc(old, n); }
void *memalign(size_t align, size_t n) { return none(n) ? NULL : __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return none(n) ? NULL : __libc_memalign(align, n); }
int posix_memalign(void **to, size_t align, size_t n) {
    if (none(n)) return ENOMEM;
    *to = __libc_memalign(align, n);
    return *to ? 0 : ENOMEM;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *mmap(void *to, size_t n, int rights, int flags, int file, off_t from) {
    static __typeof__(&mmap) real;
    if (!real) real = REAL(mmap);
    if (fails(MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(to, n, rights, flags, file, from);
}
void *mmap64(void *to, size_t n, int rights, int flags, int file, off_t from) {
    return mmap(to, n, rights, flags, file, from);
}
int pthread_create(pthread_t *to, const pthread_attr_t *how, void *(*f)(void *), void *with) {
    static __typeof__(&pthread_create) real;
    if (!real) real = REAL(pthread_create);
    return fails(THREAD) ? EAGAIN : real(to, how, f, with);
}
static void *changes(const char *name) {
    if (fails(KILL)) kill(getpid(), SIGKILL);
    return dlsym(RTLD_NEXT, name);
}
ssize_t write(int file, const void *bytes, size_t n) {
    return ((__typeof__(&write))changes("write"))(file, bytes, n);
}
int ftruncate64(int file, off_t n) { return ((__typeof__(&ftruncate))changes("ftruncate"))(file, n); }
int rename(const char *from, const char *to) { return ((__typeof__(&rename))changes("rename"))(from, to); }
int clock_gettime(clockid_t clock, struct timespec *to) {
    static __typeof__(&clock_gettime) real;
    if (!real) real = REAL(clock_gettime);
    int result = real(clock, to);
    if (clock == CLOCK_REALTIME && kind == CLOCK) to->tv_sec += calls++ % 2 ? 86400 : -86400;
    return result;
}
