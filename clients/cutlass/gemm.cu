// D = 2 A B + C / 2 on the tensor cores of sm_100a: a kernel that CUTLASS builds (tiles of 128x128x64 on one SM, or
// with -DPAIRS of 256x128x64 on two; f16 to f32, tensor copies, tcgen05), beside plain sums of the host.
#include <cstdio>
#include <vector>
#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
using namespace cute;
using Half = cutlass::half_t;
#ifdef PAIRS
using BlockTile = Shape<_256, _128, _64>;
using Cluster = Shape<_2, _1, _1>;
using EpilogueSchedule = cutlass::epilogue::TmaWarpSpecialized2Sm;
using MainloopSchedule = cutlass::gemm::KernelTmaWarpSpecialized2SmSm100;
#else
using BlockTile = Shape<_128, _128, _64>;
using Cluster = Shape<_1, _1, _1>;
using EpilogueSchedule = cutlass::epilogue::TmaWarpSpecialized1Sm;
using MainloopSchedule = cutlass::gemm::KernelTmaWarpSpecialized1SmSm100;
#endif
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, BlockTile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto,
    float, float, float, cutlass::layout::RowMajor, 4, float, cutlass::layout::RowMajor, 4,
    EpilogueSchedule>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm100, cutlass::arch::OpClassTensorOp, Half, cutlass::layout::RowMajor, 8, Half,
    cutlass::layout::ColumnMajor, 8, float, BlockTile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    MainloopSchedule>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, void>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
#define CHECK(x) do { auto e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)
int main() {
  int m = 256, n = 128, k = 192;
  std::vector<Half> a(m * k), b(n * k);
  unsigned s = 1;
  auto next = [&] { s = s * 1664525u + 1013904223u; return Half(float(int(s >> 24) % 9 - 4)); };
  for (auto& v : a) v = next();
  for (auto& v : b) v = next();
  std::vector<float> c(m * n, 1.0f), d(m * n);
  Half *da, *db; float *dc, *dd;
  CHECK(cudaMalloc(&da, a.size() * 2)); CHECK(cudaMalloc(&db, b.size() * 2));
  CHECK(cudaMalloc(&dc, c.size() * 4)); CHECK(cudaMalloc(&dd, d.size() * 4));
  CHECK(cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dc, c.data(), c.size() * 4, cudaMemcpyHostToDevice));
  auto sa = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  auto sb = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  auto sc = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  auto sd = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
  typename Gemm::Arguments args{cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k, 1}, {da, sa, db, sb},
                                {{2.0f, 0.5f}, dc, sc, dd, sd}};
  args.hw_info.sm_count = size(Cluster{});
  Gemm gemm;
  auto st = gemm.can_implement(args);
  if (st != cutlass::Status::kSuccess) { printf("cannot implement: %s\n", cutlass::cutlassGetStatusString(st)); return 1; }
  void* ws = nullptr; size_t bytes = Gemm::get_workspace_size(args);
  if (bytes) CHECK(cudaMalloc(&ws, bytes));
  st = gemm.initialize(args, ws);
  if (st != cutlass::Status::kSuccess) { printf("initialize: %s\n", cutlass::cutlassGetStatusString(st)); return 1; }
  st = gemm.run();
  if (st != cutlass::Status::kSuccess) { printf("run: %s\n", cutlass::cutlassGetStatusString(st)); return 1; }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(d.data(), dd, d.size() * 4, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
    float sum = 0;
    for (int t = 0; t < k; t++) sum += float(a[i * k + t]) * float(b[j * k + t]);
    float want = 2.0f * sum + 0.5f * c[i * n + j];
    if (d[i * n + j] != want && wrong++ < 5) printf("D[%d][%d] = %g, not %g\n", i, j, d[i * n + j], want);
  }
  printf("%d of %d wrong\n", wrong, m * n);
  return wrong != 0;
}
