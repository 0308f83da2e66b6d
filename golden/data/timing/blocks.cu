// Blocks that do little: when they start on their SMs, and how long the launch takes by their number (blocks.json).
// nvcc -arch=sm_90a -O3 -o blocks blocks.cu && ./blocks starts.txt
// and under ncu --csv --cache-control none --clock-control none with the metrics gpc__cycles_elapsed.max and
// sm__cycles_active.avg, whose fourth launch of each kind is in blocks.json
#include <cstdio>
#include <vector>
typedef unsigned long long u64;
typedef unsigned u32;
struct Rec { u64 gs, cs, ge, ce; u32 sm, pad; };
__global__ void k(Rec *r, int spin, float *o) {
  u64 gs, cs, ge, ce;
  u32 sm;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cs));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(gs));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  float x = threadIdx.x;
  for (int i = 0; i < spin; i++) x = x * 1.0001f + 0.5f;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(ce) : "f"(x));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ge));
  if (threadIdx.x == 0) r[blockIdx.x] = {gs, cs, ge, ce, sm, 0};
  if (x == 12345.678f) o[0] = x;
}
int main(int, char **v) {
  Rec *d;
  float *o;
  cudaMalloc(&d, sizeof(Rec) * 8192);
  cudaMalloc(&o, 64);
  FILE *f = fopen(v[1], "w");
  for (int t : {32, 64, 128, 256, 1024})
    for (int g : {132, 264, 528, 1056, 2048, 4096})
      for (int spin : {100, 500})
        for (int rep = 0; rep < 4; rep++) {
          k<<<g, t>>>(d, spin, o);
          cudaDeviceSynchronize();
          if (rep < 2) continue;
          std::vector<Rec> h(g);
          cudaMemcpy(h.data(), d, sizeof(Rec) * g, cudaMemcpyDeviceToHost);
          u64 g0 = ~0ull;
          for (auto &r : h) g0 = r.gs < g0 ? r.gs : g0;
          fprintf(f, "= %d %d %d %d\n", t, g, spin, rep);
          for (int i = 0; i < g; i++) {
            const Rec &r = h[i];
            fprintf(f, "%d %u %llu %llu %llu %llu\n", i, r.sm, r.gs - g0, r.ge - g0, r.cs, r.ce - r.cs);
          }
        }
  fclose(f);
}
