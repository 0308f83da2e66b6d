/* A program of OpenCL. Whatever fails on the way says so by its code; what succeeds is right; and when the faults are
 * over, all is as it was. See ../injected.rs for what the first argument may be. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((weak)) void fault_begin(void);
__attribute__((weak)) long fault_end(void);

enum { N = 16384 };
static cl_device_id device;
static __thread cl_int code;
static __thread const char *what;
#define CHECK(name) do { what = name; if (code != 0) goto out; } while (0)

/* Whether all went well; else `what` gave `code`. What is wrong ends the process. */
static int run(void) {
    static const char *text = "kernel void twice(global uint *a) { a[get_global_id(0)] *= 2; }";
    cl_uint *in = malloc(2 * N * sizeof *in), *back = in + N;
    cl_context context = 0;
    cl_command_queue queue = 0;
    cl_program program = 0;
    cl_kernel kernel = 0;
    cl_mem buffer = 0;
    cl_event last = 0;
    int fine = 0;
    size_t items = N;
    if (!in) return 1;
    for (int i = 0; i < N; i++) in[i] = i * 3, back[i] = 0;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CHECK("clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    CHECK("clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    CHECK("clCreateProgramWithSource");
    code = clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    CHECK("clBuildProgram");
    kernel = clCreateKernel(program, "twice", &code);
    CHECK("clCreateKernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof *in, NULL, &code);
    CHECK("clCreateBuffer");
    code = clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    CHECK("clSetKernelArg");
    code = clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, N * sizeof *in, in, 0, NULL, NULL);
    CHECK("clEnqueueWriteBuffer");
    for (int i = 0; i < 3; i++) {
        code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
        CHECK("clEnqueueNDRangeKernel");
    }
    code = clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, N * sizeof *in, back, 0, NULL, &last);
    CHECK("clEnqueueReadBuffer");
    code = clWaitForEvents(1, &last);
    CHECK("clWaitForEvents");
    for (int i = 0; i < N; i++)
        if (back[i] != in[i] * 8) exit(printf("element %d is %u\n", i, back[i]) * 0 + 3);
    fine = 1;
out:
    if (queue) clFinish(queue);
    if (last) clReleaseEvent(last);
    if (buffer) clReleaseMemObject(buffer);
    if (kernel) clReleaseKernel(kernel);
    if (program) clReleaseProgram(program);
    if (queue) clReleaseCommandQueue(queue);
    if (context) clReleaseContext(context);
    free(in);
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
static void *leaves(void *unused) {
    (void)unused;
    run();
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
    cl_platform_id platform;
    cl_int first = clGetPlatformIDs(1, &platform, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (first || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return printf("no device\n") * 0 + 6;
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
            /* A child has the objects and no threads of the driver: whatever it gets, it gets it soon. */
            alarm(20);
            _exit(run() ? 0 : code == 0 ? 7 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status) return printf("the child ended with %x\n", status) * 0 + 7;
        return must_run("after fork");
    }
    if (!strcmp(mode, "signals")) {
        struct sigaction action = {.sa_handler = nothing};
        struct itimerval every = {{0, 1000}, {0, 1000}};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &every, NULL);
        for (int i = 0; i < 10; i++)
            if (must_run("under signals")) return 5;
        return 0;
    }
    if (!strcmp(mode, "threads")) {
        pthread_t all[8];
        int results[8];
        for (int i = 0; i < 8; i++) pthread_create(&all[i], NULL, many, &results[i]);
        for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
        for (int i = 0; i < 8; i++) if (results[i]) return results[i];
        return 0;
    }
    if (!strcmp(mode, "exit") || !strcmp(mode, "cancel")) {
        for (int i = 0; i < 10; i++) {
            pthread_t thread;
            struct timespec moment = {0, (i * 7919 % 23) * 1000000L};
            pthread_create(&thread, NULL, *mode == 'e' ? leaves : calls, NULL);
            nanosleep(&moment, NULL);
            if (*mode == 'c') pthread_cancel(thread);
            pthread_join(thread, NULL);
            if (must_run("after the thread")) return 5;
        }
        return 0;
    }
    return printf("%s?\n", mode) * 0 + 9;
}
