/* A program of the CUDA driver API. Whatever fails on the way says so by its code; what succeeds is right; and when the
 * faults are over, all is as it was. See ../injected.rs for what the first argument may be. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void *H;
int cuInit(unsigned), cuDeviceGet(int *, int), cuCtxCreate_v2(H *, unsigned, int), cuCtxDestroy_v2(H), cuCtxSynchronize(void);
int cuModuleLoadData(H *, const void *), cuModuleUnload(H), cuModuleGetFunction(H *, H, const char *), cuCtxSetCurrent(H);
int cuStreamCreate(H *, unsigned), cuStreamDestroy_v2(H), cuStreamSynchronize(H), cuEventCreate(H *, unsigned);
int cuEventRecord(H, H), cuEventSynchronize(H), cuEventDestroy_v2(H), cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t);
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, H), cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, H);
int cuLaunchKernel(H, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, H, void **, void **);
int cuLaunchHostFunc(H, void (*)(void *), void *);
__attribute__((weak)) void fault_begin(void);
__attribute__((weak)) long fault_end(void);

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry twice(.param .u64 data) { .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
    "mad.lo.u32 %r1, %r3, %r4, %r1; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\n"
    "ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd1], %r2; ret; }\n"
    ".visible .entry wait(.param .u64 data) { .reg .b32 %r<3>; .reg .pred %p; .reg .b64 %rd;\n"
    "ld.param.u64 %rd, [data]; L: ld.volatile.global.u32 %r1, [%rd]; setp.ne.u32 %p, %r1, 77; @%p bra L; ret; }\n";
enum { N = 16384 };

static __thread int code;
static __thread const char *what;
#define TRY(name, ...) do { if ((code = name(__VA_ARGS__)) != 0) { what = #name; goto out; } } while (0)

static void called(void *to) { ++*(int *)to; }

/* Whether all went well; else `what` gave `code`. What is wrong ends the process. */
static int run(void) {
    static __thread uint32_t in[N], back[N]; /* `threads` runs this eight times at once. */
    H context = 0, module = 0, function, stream = 0, event = 0;
    uint64_t data = 0;
    int count = 0, fine = 0;
    for (int i = 0; i < N; i++) in[i] = i * 3;
    memset(back, 0, sizeof back);
    TRY(cuCtxCreate_v2, &context, 0, 0);
    TRY(cuModuleLoadData, &module, text);
    TRY(cuModuleGetFunction, &function, module, "twice");
    TRY(cuStreamCreate, &stream, 1);
    TRY(cuEventCreate, &event, 0);
    TRY(cuMemAlloc_v2, &data, sizeof in);
    void *arguments[] = {&data};
    TRY(cuMemcpyHtoDAsync_v2, data, in, sizeof in, stream);
    for (int i = 0; i < 3; i++) TRY(cuLaunchKernel, function, N / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
    TRY(cuLaunchHostFunc, stream, called, &count);
    TRY(cuMemcpyDtoHAsync_v2, back, data, sizeof in, stream);
    TRY(cuEventRecord, event, stream);
    TRY(cuEventSynchronize, event);
    TRY(cuStreamSynchronize, stream);
    TRY(cuCtxSynchronize);
    for (int i = 0; i < N; i++)
        if (back[i] != in[i] * 8) exit(printf("element %d is %u\n", i, back[i]) * 0 + 3);
    if (count != 1) exit(printf("called %d times\n", count) * 0 + 4);
    fine = 1;
out:
    /* What is there goes, whatever was before. */
    if (data) cuMemFree_v2(data);
    if (event) cuEventDestroy_v2(event);
    if (stream) cuStreamDestroy_v2(stream);
    if (module) cuModuleUnload(module);
    if (context) cuCtxDestroy_v2(context);
    return fine;
}
static int must_run(const char *when) {
    if (run()) return 0;
    return printf("%s: %s gave %d\n", when, what, code) * 0 + 5;
}

static void nothing(int signal) { (void)signal; }
static void *many(void *result) {
    *(int *)result = must_run("in a thread");
    return NULL;
}
/* Ends with work under way, in a context of its own that is current to it. */
static H lost_context, lost_stream;
static int lost_code;
static const char *lost_what;
static uint64_t lost_data;
static uint32_t lost[N];
static void *leaves(void *unused) {
    H module, function;
    (void)unused;
    TRY(cuCtxCreate_v2, &lost_context, 0, 0);
    TRY(cuModuleLoadData, &module, text);
    TRY(cuModuleGetFunction, &function, module, "twice");
    TRY(cuStreamCreate, &lost_stream, 1);
    TRY(cuMemAlloc_v2, &lost_data, sizeof lost);
    TRY(cuMemcpyHtoDAsync_v2, lost_data, lost, sizeof lost, lost_stream);
    void *arguments[] = {&lost_data};
    for (int i = 0; i < 5; i++) TRY(cuLaunchKernel, function, N / 128, 1, 1, 128, 1, 1, 0, lost_stream, arguments, NULL);
    code = 0;
out:
    lost_code = code;
    lost_what = what;
    pthread_exit(NULL);
}
/* Calls for ever, until somebody cancels the thread. */
__attribute__((noreturn)) static void *calls(void *unused) {
    (void)unused;
    for (;;) {
        run();
        pthread_testcancel();
    }
}
int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "plain";
    setvbuf(stdout, NULL, _IOLBF, 0);
    int first = cuInit(0), device;
    if (first || cuDeviceGet(&device, 0)) return printf("cuInit gave %d\n", first) * 0 + 6;
    if (!strcmp(mode, "plain")) return must_run("plain");
    if (!strcmp(mode, "faults")) {
        fault_begin();
        int fine = run();
        long calls = fault_end();
        if (!fine) printf("%s gave %d\n", what, code);
        printf("%ld calls\n", calls);
        return must_run("after the fault");
    }
    if (!strcmp(mode, "fork")) {
        if (must_run("before")) return 5;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            /* Not initialised any more: a code, at once. */
            H context;
            alarm(10);
            uint64_t data;
            int code = cuCtxCreate_v2(&context, 0, 0), other = cuCtxSynchronize();
            if (code != 3 || other != 3 || cuMemAlloc_v2(&data, 4) != 3 || cuStreamSynchronize(NULL) != 3) _exit(7);
            /* With what the library does when a process ends. */
            exit(cuInit(0) == 3 ? 0 : 8);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) return printf("the child ended with %x\n", status) * 0 + 7;
        return must_run("after fork");
    }
    if (!strcmp(mode, "signals")) {
        /* A thousand a second, and calls of the system that begin anew are not asked for. */
        struct sigaction action = {.sa_handler = nothing};
        struct itimerval every = {{0, 1000}, {0, 1000}};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &every, NULL);
        for (int i = 0; i < 20; i++)
            if (must_run("under signals")) return 5;
        return 0;
    }
    if (!strcmp(mode, "threads")) {
        pthread_t all[8];
        int results[8];
        for (int turn = 0; turn < 3; turn++) {
            for (int i = 0; i < 8; i++) pthread_create(&all[i], NULL, many, &results[i]);
            for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
            for (int i = 0; i < 8; i++) if (results[i]) return results[i];
        }
        return 0;
    }
    if (!strcmp(mode, "exit")) {
        /* What a thread began goes on without it. */
        pthread_t thread;
        for (int i = 0; i < N; i++) lost[i] = i;
        pthread_create(&thread, NULL, leaves, NULL);
        pthread_join(thread, NULL);
        if (lost_code) return printf("%s gave %d\n", lost_what, lost_code) * 0 + 8;
        cuCtxSetCurrent(lost_context);
        if (cuMemcpyDtoHAsync_v2(lost, lost_data, sizeof lost, lost_stream) || cuStreamSynchronize(lost_stream)) return 8;
        for (int i = 0; i < N; i++) if (lost[i] != (uint32_t)i * 32) return printf("element %d is %u\n", i, lost[i]) * 0 + 8;
        if (cuCtxDestroy_v2(lost_context)) return 8;
        return must_run("after the thread");
    }
    if (!strcmp(mode, "cancel")) {
        /* Cancelled at any moment, also inside of a call: that call ends first. */
        for (int i = 0; i < 20; i++) {
            pthread_t thread;
            struct timespec moment = {0, (i * 7919 % 23) * 1000000L};
            pthread_create(&thread, NULL, calls, NULL);
            nanosleep(&moment, NULL);
            pthread_cancel(thread);
            pthread_join(thread, NULL);
            if (must_run("after a thread was cancelled")) return 5;
        }
        return 0;
    }
    return printf("%s?\n", mode) * 0 + 9;
}
