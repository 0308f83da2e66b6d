// An OpenCL program that makes one object of each kind, two events. `left_opencl kept` releases none of them, `ended`
// all, `late` all in a function that runs after `main`.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_event events[2];
static cl_sampler sampler;
static cl_mem buffer;

static void end(void)
{
    clReleaseMemObject(buffer);
    clReleaseSampler(sampler);
    clReleaseEvent(events[0]);
    clReleaseEvent(events[1]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    const char *text = "kernel void nothing() {}";
    cl_platform_id platform;
    cl_device_id device;
    cl_int codes[9] = { 0 };
    if (!strcmp(mode, "late"))
        atexit(end);
    codes[0] = clGetPlatformIDs(1, &platform, NULL) | clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &codes[1]);
    queue = clCreateCommandQueue(context, device, 0, &codes[2]);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &codes[3]);
    codes[4] = clBuildProgram(program, 1, &device, "", NULL, NULL);
    kernel = clCreateKernel(program, "nothing", &codes[5]);
    sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &codes[6]);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &codes[7]);
    char zeros[64] = { 0 };
    for (int i = 0; i < 2; i++)
        codes[8] |= clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, &events[i]);
    for (int i = 0; i < 9; i++)
        if (codes[i] != CL_SUCCESS) {
            fprintf(stderr, "left_opencl: call %d gave %d\n", i, codes[i]);
            _Exit(9);
        }
    if (!strcmp(mode, "ended"))
        end();
    return 5;
}
