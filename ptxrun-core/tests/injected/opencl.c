/* A program of OpenCL. Whatever fails on the way says so by its code; what succeeds is right; and when the faults are
 * over, all is as it was. See ../injected.rs for what the first argument may be. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
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

static const char *text = "kernel void twice(global uint *a) { a[get_global_id(0)] *= 2; }";

static void built(cl_program program, void *to) { (void)program, ++*(atomic_int *)to; }
static void ended(cl_event event, cl_int status, void *to) { (void)event, (void)status, ++*(atomic_int *)to; }
/* Waits for a callback, at no point where threads are cancelled: what it writes to must stay. */
static void await(atomic_int *called, const char *which) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!*called) {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > start.tv_sec + 60) exit(printf("nobody calls: %s\n", which) * 0 + 4);
    }
}

/* Whether all went well; else `what` gave `code`. What is wrong ends the process. */
static int run(void) {
    cl_uint *in = malloc(2 * N * sizeof *in), *back = in + N;
    atomic_int done = 0, last_done = 0;
    cl_build_status built_as;
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
    code = clBuildProgram(program, 0, NULL, NULL, built, &done);
    CHECK("clBuildProgram");
    await(&done, "clBuildProgram");
    code = clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof built_as, &built_as, NULL);
    CHECK("clGetProgramBuildInfo");
    code = built_as;
    CHECK("the build");
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
    code = clSetEventCallback(last, CL_COMPLETE, ended, &last_done);
    CHECK("clSetEventCallback");
    code = clWaitForEvents(1, &last);
    await(&last_done, "clSetEventCallback");
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
/* Ends with work under way. */
static cl_command_queue lost_queue;
static cl_mem lost_buffer;
static cl_uint lost[N];
static cl_int lost_code;
static void *leaves(void *unused) {
    size_t items = N;
    (void)unused;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    lost_queue = clCreateCommandQueue(context, device, 0, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "twice", &code);
    lost_buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof lost, NULL, &code);
    code |= clSetKernelArg(kernel, 0, sizeof lost_buffer, &lost_buffer);
    code |= clEnqueueWriteBuffer(lost_queue, lost_buffer, CL_FALSE, 0, sizeof lost, lost, 0, NULL, NULL);
    for (int i = 0; i < 5; i++) code |= clEnqueueNDRangeKernel(lost_queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    lost_code = code | clFlush(lost_queue);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseContext(context);
    pthread_exit(NULL);
}
/* Commands that are flushed and never waited for, as programs with a loop of their own do: they end by themselves. */
static int ends_by_itself(cl_context context, cl_command_queue queue, cl_kernel kernel) {
    cl_uint zero = 0, value = 7;
    cl_int status = 1;
    cl_event event;
    size_t one = 1;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof value, &value, &code);
    code |= clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    code |= clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof zero, &zero, 0, NULL, &event);
    code |= clFlush(queue);
    while (!code && status > 0) {
        usleep(1000);
        code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    }
    return !code && status == 0 && zero == 14;
}
/* Forks with a queue whose threads work, and with one whose threads sleep: 0, or the process that failed. */
static int forks_at_work(void) {
    size_t items = N, long_items = 1 << 24;
    for (int busy = 0; busy < 2; busy++) {
        cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
        cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
        cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
        clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
        cl_kernel kernel = clCreateKernel(program, "twice", &code);
        if (code || !ends_by_itself(context, queue, kernel)) return 8;
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, long_items * sizeof(cl_uint), NULL, &code);
        code |= clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
        for (int i = 0; i < 30 * busy; i++)
            code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, i % 2 ? &items : &long_items, NULL, 0, NULL, NULL);
        code |= clFlush(queue);
        for (int i = 0; i < 5; i++) {
            usleep(300 * i);
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                alarm(30);
                if (busy && clFinish(queue)) _exit(8);
                if (!ends_by_itself(context, queue, kernel)) _exit(9);
                clReleaseCommandQueue(queue);
                clReleaseContext(context);
                exit(run() ? 0 : 10);
            }
            int status;
            waitpid(child, &status, 0);
            if (status) return status;
        }
        if (code || clFinish(queue)) return 11;
        clReleaseMemObject(buffer);
        clReleaseKernel(kernel);
        clReleaseProgram(program);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
    }
    return 0;
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
        if ((status = forks_at_work())) return printf("a child at work ended with %x\n", status) * 0 + 8;
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
    if (!strcmp(mode, "exit")) {
        /* What a thread began goes on without it. */
        pthread_t thread;
        for (int i = 0; i < N; i++) lost[i] = i;
        pthread_create(&thread, NULL, leaves, NULL);
        pthread_join(thread, NULL);
        if (lost_code) return printf("the thread got %d\n", lost_code) * 0 + 8;
        if (clEnqueueReadBuffer(lost_queue, lost_buffer, CL_TRUE, 0, sizeof lost, lost, 0, NULL, NULL)) return 8;
        for (int i = 0; i < N; i++) if (lost[i] != (cl_uint)i * 32) return printf("element %d is %u\n", i, lost[i]) * 0 + 8;
        if (clReleaseMemObject(lost_buffer) || clReleaseCommandQueue(lost_queue)) return 8;
        return must_run("after the thread");
    }
    if (!strcmp(mode, "cancel")) {
        for (int i = 0; i < 10; i++) {
            pthread_t thread;
            struct timespec moment = {0, (i * 7919 % 23) * 1000000L};
            pthread_create(&thread, NULL, calls, NULL);
            nanosleep(&moment, NULL);
            pthread_cancel(thread);
            pthread_join(thread, NULL);
            if (must_run("after the thread")) return 5;
        }
        return 0;
    }
    return printf("%s?\n", mode) * 0 + 9;
}
