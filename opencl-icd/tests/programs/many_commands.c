/* Queues of many commands: microseconds of this process's processor time a command, for each number of them. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int arguments, char **numbers) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    const char *source = "kernel void empty(void) {}";
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "empty", &code);
    size_t items = 64;
    for (int i = 0; i < arguments; i++) {
        int n = i == 0 ? 1000 : atoi(numbers[i]);
        clock_t start = clock();
        for (int k = 0; k < n; k++) clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
        clock_t queued = clock();
        code = clFinish(queue);
        double scale = 1e6 / CLOCKS_PER_SEC / n;
        /* The first ones compile the kernel. */
        if (i > 0) printf("%d %d %.2f %.2f\n", n, code, (queued - start) * scale, (clock() - queued) * scale);
    }
    return 0;
}
