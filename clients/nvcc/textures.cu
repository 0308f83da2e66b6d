// Texture and surface objects over arrays and linear memory.
#include <vector>
#include "check.h"

__global__ void sample(cudaTextureObject_t texture, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) out[y * width + x] = tex2D<float>(texture, (x + 1.0f) / width, (y + 0.5f) / height);
}
__global__ void fetch(cudaTextureObject_t texture, int *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(texture, n - 1 - i);
}
__global__ void paint(cudaSurfaceObject_t surface) {
    surf2Dwrite<float>(threadIdx.x * 10.0f + threadIdx.y, surface, threadIdx.x * sizeof(float), threadIdx.y);
}

__global__ void at_levels(cudaTextureObject_t texture, const float *levels, float *out) {
    out[threadIdx.x] = tex2DLod<float>(texture, 0.4f, 0.6f, levels[threadIdx.x]);
}

// Three levels of 8 x 8 texels and less, each full of its number times ten.
static void levels() {
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmap;
    CUDA(cudaMallocMipmappedArray(&mipmap, &channel, make_cudaExtent(8, 8, 0), 3));
    for (int level = 0; level < 3; level++) {
        cudaArray_t array;
        CUDA(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        int size = 8 >> level;
        std::vector<float> texels(size * size, level * 10.0f);
        CUDA(cudaMemcpy2DToArray(array, 0, 0, texels.data(), size * 4, size * 4, size, cudaMemcpyHostToDevice));
    }
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    cudaTextureDesc description = {};
    description.filterMode = description.mipmapFilterMode = cudaFilterModeLinear;
    description.normalizedCoords = 1;
    description.maxMipmapLevelClamp = 2;
    cudaTextureObject_t texture;
    CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    const float asked[] = {0, 0.5f, 1, 1.25f, 2, 5}, expected[] = {0, 5, 10, 12.5f, 20, 20};
    float *levels, *out, got[6];
    CUDA(cudaMalloc(&levels, sizeof asked));
    CUDA(cudaMalloc(&out, sizeof got));
    CUDA(cudaMemcpy(levels, asked, sizeof asked, cudaMemcpyHostToDevice));
    at_levels<<<1, 6>>>(texture, levels, out);
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++) EXPECT(got[i] == expected[i]);
    CUDA(cudaDestroyTextureObject(texture));
    CUDA(cudaFreeMipmappedArray(mipmap));
    CUDA(cudaFree(levels));
    CUDA(cudaFree(out));
}

int main() {
    const int width = 16, height = 8;
    std::vector<float> image(width * height), result(width * height);
    for (size_t i = 0; i < image.size(); i++) image[i] = 4.0f * i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CUDA(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, image.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = 1;
    cudaTextureObject_t texture;
    CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    float *out;
    CUDA(cudaMalloc(&out, image.size() * 4));
    sample<<<height, 32>>>(texture, out, width, height);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(result.data(), out, image.size() * 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float right = image[y * width + (x + 1 < width ? x + 1 : x)];
            EXPECT(result[y * width + x] == (image[y * width + x] + right) / 2);
        }
    CUDA(cudaDestroyTextureObject(texture));

    std::vector<int> numbers(20), turned(20);
    for (int i = 0; i < 20; i++) numbers[i] = i * i;
    int *linear, *target;
    CUDA(cudaMalloc(&linear, 80));
    CUDA(cudaMalloc(&target, 80));
    CUDA(cudaMemcpy(linear, numbers.data(), 80, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 80;
    description = {};
    CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    fetch<<<1, 32>>>(texture, target, 20);
    CUDA(cudaMemcpy(turned.data(), target, 80, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 20; i++) EXPECT(turned[i] == numbers[19 - i]);
    CUDA(cudaDestroyTextureObject(texture));

    resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CUDA(cudaCreateSurfaceObject(&surface, &resource));
    paint<<<1, dim3(width, height)>>>(surface);
    CUDA(cudaMemcpy2DFromArray(result.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) EXPECT(result[y * width + x] == x * 10.0f + y);
    CUDA(cudaDestroySurfaceObject(surface));
    CUDA(cudaFreeArray(array));
    CUDA(cudaFree(out));
    levels();
    std::printf("textures: ok\n");
}
