// Products of matrices of single precision in eight steps of tuning, C = alpha A B + beta C, row major, without bounds
// checks: the kernels that S. Boehm timed on an RTX A6000 in "How to Optimize a CUDA Matmul Kernel for cuBLAS-like
// Performance" (2022), written anew after its text, with the tile sizes of its table.

// An element of `c`.
template <class Index>
__device__ void element(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c,
                        const Index row, const Index col) {
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
    }
}

// 1: a thread an element, neighbours in x take rows.
extern "C" __global__ void naive(int m, int n, int k, float alpha, const float *a, const float *b, float beta,
                                 float *c) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    element(m, n, k, alpha, a, b, beta, c, row, col);
}

// 2: neighbours take columns.
extern "C" __global__ void coalesced(int m, int n, int k, float alpha, const float *a, const float *b, float beta,
                                     float *c) {
    const int row = blockIdx.x * 32 + threadIdx.x / 32, col = blockIdx.y * 32 + threadIdx.x % 32;
    element(m, n, k, alpha, a, b, beta, c, row, col);
}

// 3: tiles of 32 x 32 in shared memory.
extern "C" __global__ void shared_tiles(int m, int n, int k, float alpha, const float *a, const float *b, float beta,
                                        float *c) {
    const int size = 32;
    __shared__ float as[size * size], bs[size * size];
    const unsigned tile_row = blockIdx.x, tile_col = blockIdx.y;
    const unsigned col = threadIdx.x % size, row = threadIdx.x / size;
    a += tile_row * size * k;
    b += tile_col * size;
    c += tile_row * size * n + tile_col * size;
    float sum = 0.0f;
    for (int from = 0; from < k; from += size) {
        as[row * size + col] = a[row * k + col];
        bs[row * size + col] = b[row * n + col];
        __syncthreads();
        a += size;
        b += size * n;
        for (int i = 0; i < size; ++i) sum += as[row * size + i] * bs[i * size + col];
        __syncthreads();
    }
    c[row * n + col] = alpha * sum + beta * c[row * n + col];
}

// 4: a thread eight elements of a column; tiles of 64 x 64, eight deep.
extern "C" __global__ void columns(int m, int n, int k, float alpha, const float *a, const float *b, float beta,
                                   float *c) {
    const int BM = 64, BN = 64, BK = 8, TM = 8;
    __shared__ float as[BM * BK], bs[BK * BN];
    const unsigned tile_row = blockIdx.y, tile_col = blockIdx.x;
    const int col = threadIdx.x % BN, row = threadIdx.x / BN;
    a += tile_row * BM * k;
    b += tile_col * BN;
    c += tile_row * BM * n + tile_col * BN;
    const unsigned a_col = threadIdx.x % BK, a_row = threadIdx.x / BK;
    const unsigned b_col = threadIdx.x % BN, b_row = threadIdx.x / BN;
    float sums[TM] = {0.0f};
    for (unsigned from = 0; from < k; from += BK) {
        as[a_row * BK + a_col] = a[a_row * k + a_col];
        bs[b_row * BN + b_col] = b[b_row * n + b_col];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (unsigned d = 0; d < BK; ++d) {
            const float right = bs[d * BN + col];
            for (unsigned i = 0; i < TM; ++i) sums[i] += as[(row * TM + i) * BK + d] * right;
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < TM; ++i) {
        float *to = &c[(row * TM + i) * n + col];
        *to = alpha * sums[i] + beta * *to;
    }
}

// 5: a thread 8 x 8 elements; tiles of 128 x 128, eight deep.
extern "C" __global__ void __launch_bounds__(256, 1)
    squares(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c) {
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ float as[BM * BK], bs[BK * BN];
    const unsigned tile_row = blockIdx.y, tile_col = blockIdx.x;
    const unsigned threads = BM * BN / (TM * TN);
    const int col = threadIdx.x % (BN / TN), row = threadIdx.x / (BN / TN);
    a += tile_row * BM * k;
    b += tile_col * BN;
    c += tile_row * BM * n + tile_col * BN;
    const unsigned a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const unsigned b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;
    float sums[TM * TN] = {0.0f}, left[TM] = {0.0f}, right[TN] = {0.0f};
    for (unsigned from = 0; from < k; from += BK) {
        for (unsigned o = 0; o < BM; o += threads / BK) as[(a_row + o) * BK + a_col] = a[(a_row + o) * k + a_col];
        for (unsigned o = 0; o < BK; o += threads / BN) bs[(b_row + o) * BN + b_col] = b[(b_row + o) * n + b_col];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (unsigned d = 0; d < BK; ++d) {
            for (unsigned i = 0; i < TM; ++i) left[i] = as[(row * TM + i) * BK + d];
            for (unsigned i = 0; i < TN; ++i) right[i] = bs[d * BN + col * TN + i];
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sums[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < TM; ++i)
        for (unsigned j = 0; j < TN; ++j) {
            float *to = &c[(row * TM + i) * n + col * TN + j];
            *to = alpha * sums[i * TN + j] + beta * *to;
        }
}

// `c`, four elements at once.
__device__ void update(float *at, const float *sums, float alpha, float beta) {
    float4 old = reinterpret_cast<float4 *>(at)[0];
    old.x = alpha * sums[0] + beta * old.x;
    old.y = alpha * sums[1] + beta * old.y;
    old.z = alpha * sums[2] + beta * old.z;
    old.w = alpha * sums[3] + beta * old.w;
    reinterpret_cast<float4 *>(at)[0] = old;
}

// Tiles of both factors by words of four elements, the left one transposed.
template <int BM, int BN, int BK, int THREADS>
__device__ void load(const float *a, const float *b, int n, int k, float *as, float *bs) {
    const unsigned a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4);
    const unsigned b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4);
    for (unsigned o = 0; o + THREADS * 4 / BK <= BM; o += THREADS * 4 / BK) {
        const float4 part = reinterpret_cast<const float4 *>(&a[(a_row + o) * k + a_col * 4])[0];
        as[(a_col * 4 + 0) * BM + a_row + o] = part.x;
        as[(a_col * 4 + 1) * BM + a_row + o] = part.y;
        as[(a_col * 4 + 2) * BM + a_row + o] = part.z;
        as[(a_col * 4 + 3) * BM + a_row + o] = part.w;
    }
    for (unsigned o = 0; o + THREADS / (BN / 4) <= BK; o += THREADS / (BN / 4))
        reinterpret_cast<float4 *>(&bs[(b_row + o) * BN + b_col * 4])[0] =
            reinterpret_cast<const float4 *>(&b[(b_row + o) * n + b_col * 4])[0];
}

// 6: as 5 by words of four elements.
extern "C" __global__ void vectors(int m, int n, int k, float alpha, float *a, float *b, float beta, float *c) {
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ float as[BM * BK], bs[BK * BN];
    const unsigned tile_row = blockIdx.y, tile_col = blockIdx.x;
    const int col = threadIdx.x % (BN / TN), row = threadIdx.x / (BN / TN);
    a += tile_row * BM * k;
    b += tile_col * BN;
    c += tile_row * BM * n + tile_col * BN;
    float sums[TM * TN] = {0.0f}, left[TM] = {0.0f}, right[TN] = {0.0f};
    for (unsigned from = 0; from < k; from += BK) {
        load<BM, BN, BK, 256>(a, b, n, k, as, bs);
        __syncthreads();
        a += BK;
        b += BK * n;
        for (unsigned d = 0; d < BK; ++d) {
            for (unsigned i = 0; i < TM; ++i) left[i] = as[d * BM + row * TM + i];
            for (unsigned i = 0; i < TN; ++i) right[i] = bs[d * BN + col * TN + i];
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sums[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < TM; ++i)
        for (unsigned j = 0; j < TN; j += 4)
            update(&c[(row * TM + i) * n + col * TN + j], &sums[i * TN + j], alpha, beta);
}

// 9: as 6 with tiles 16 deep, and where the next ones are is computed behind the barrier.
extern "C" __global__ void __launch_bounds__(256)
    deeper(int m, int n, int k, float alpha, float *a, float *b, float beta, float *c) {
    const int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
    __shared__ float as[BM * BK], bs[BK * BN];
    const unsigned tile_row = blockIdx.y, tile_col = blockIdx.x;
    const int col = threadIdx.x % 16, row = threadIdx.x / 16;
    a += tile_row * BM * k;
    b += tile_col * BN;
    c += tile_row * BM * n + tile_col * BN;
    float sums[TM * TN] = {0.0f}, left[TM] = {0.0f}, right[TN] = {0.0f};
    for (unsigned from = 0; from < k; from += BK) {
        load<BM, BN, BK, 256>(a, b, n, k, as, bs);
        __syncthreads();
        for (unsigned d = 0; d < BK; ++d) {
            for (unsigned i = 0; i < TM; ++i) left[i] = as[d * BM + row * TM + i];
            for (unsigned i = 0; i < TN; ++i) right[i] = bs[d * BN + col * TN + i];
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sums[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
        a += BK;
        b += BK * n;
    }
    for (unsigned i = 0; i < TM; ++i)
        for (unsigned j = 0; j < TN; j += 4)
            update(&c[(row * TM + i) * n + col * TN + j], &sums[i * TN + j], alpha, beta);
}

// 10: each of four warps a tile of 64 x 64 in four parts of 64 x 16; a thread 8 x 4 elements of each.
extern "C" __global__ void __launch_bounds__(128)
    warps(int m, int n, int k, float alpha, float *a, float *b, float beta, float *c) {
    const int BM = 128, BN = 128, BK = 16, WM = 64, WN = 64, PARTS = 4, TM = 8, TN = 4;
    const int WIDTH = WN / PARTS;
    __shared__ float as[BM * BK], bs[BK * BN];
    const unsigned tile_row = blockIdx.y, tile_col = blockIdx.x;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned warp_col = warp % (BN / WN), warp_row = warp / (BN / WN);
    const unsigned col = lane % (WIDTH / TN), row = lane / (WIDTH / TN);
    a += tile_row * BM * k;
    b += tile_col * BN;
    c += (tile_row * BM + warp_row * WM) * n + tile_col * BN + warp_col * WN;
    float sums[TM * PARTS * TN] = {0.0f}, left[TM] = {0.0f}, right[PARTS * TN] = {0.0f};
    for (unsigned from = 0; from < k; from += BK) {
        load<BM, BN, BK, 128>(a, b, n, k, as, bs);
        __syncthreads();
        for (unsigned d = 0; d < BK; ++d) {
            for (unsigned i = 0; i < TM; ++i) left[i] = as[d * BM + warp_row * WM + row * TM + i];
            for (unsigned p = 0; p < PARTS; ++p)
                for (unsigned j = 0; j < TN; ++j)
                    right[p * TN + j] = bs[d * BN + warp_col * WN + p * WIDTH + col * TN + j];
            for (unsigned p = 0; p < PARTS; ++p)
                for (unsigned i = 0; i < TM; ++i)
                    for (unsigned j = 0; j < TN; ++j)
                        sums[i * (PARTS * TN) + p * TN + j] += left[i] * right[p * TN + j];
        }
        a += BK;
        b += BK * n;
        __syncthreads();
    }
    for (unsigned p = 0; p < PARTS; ++p)
        for (unsigned i = 0; i < TM; ++i)
            update(&c[p * WIDTH + (row * TM + i) * n + col * TN], &sums[i * (PARTS * TN) + p * TN], alpha, beta);
}
