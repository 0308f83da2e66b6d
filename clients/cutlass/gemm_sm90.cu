// D = A B + C / 2 by kernels that CUTLASS builds for sm_90a: tensor copies (with multicast in clusters), mbarrier
// pipelines, wgmma, warp-specialised schedules. Each line is the hash of a result, of numbers that are no integers: the
// order of sums counts. `gemm_sm90.recorded` has the lines of an H200.
#include <cstdint>
#include <cstdio>
#include <vector>
#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
using namespace cute;
#define MUST(x, fine, text) do { auto e = (x); if (e != fine) printf("%s: %s\n", #x, text(e)), exit(1); } while (0)
#define CHECK(x) MUST(x, cudaSuccess, cudaGetErrorString)
#define CAN(x) MUST(x, cutlass::Status::kSuccess, cutlass::cutlassGetStatusString)

static uint32_t state = 1;
static float next() {
  state = state * 1664525u + 1013904223u;
  return (int(state >> 8) - (1 << 23)) * (1.0f / (1 << 21));
}
template <class T> static T *filled(size_t count, bool whole) {
  std::vector<T> host(count);
  for (auto &v : host) v = T(whole ? float(int(next() * 20)) : next());
  T *device;
  CHECK(cudaMalloc(&device, count * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <class In, class Sum, class Out, class Tile, class Cluster, class Schedule, class Tail, class Tiles>
static void multiply(const char *name, int m, int n, int k) {
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, Sum, float, Out, cutlass::layout::RowMajor, 16 / sizeof(Out), Out,
      cutlass::layout::RowMajor, 16 / sizeof(Out),
      Tail>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, cutlass::layout::RowMajor, 16 / sizeof(In), In,
      cutlass::layout::ColumnMajor, 16 / sizeof(In), Sum, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, Tiles>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
  bool whole = std::is_same<In, int8_t>::value;
  In *a = filled<In>(size_t(m) * k, whole), *b = filled<In>(size_t(n) * k, whole);
  Out *c = filled<Out>(size_t(m) * n, whole), *d = filled<Out>(size_t(m) * n, true);
  auto sa = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  auto sb = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  auto sc = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  auto sd = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
  typename Gemm::Arguments args{cutlass::gemm::GemmUniversalMode::kGemm, {m, n, k, 1}, {a, sa, b, sb},
                                {{1.0f, 0.5f}, c, sc, d, sd}};
  args.hw_info.sm_count = 4;
  Gemm op;
  CAN(op.can_implement(args));
  void *space = nullptr;
  size_t bytes = Gemm::get_workspace_size(args);
  if (bytes) CHECK(cudaMalloc(&space, bytes));
  CAN(op.initialize(args, space));
  CAN(op.run());
  CHECK(cudaDeviceSynchronize());
  std::vector<uint8_t> result(size_t(m) * n * sizeof(Out));
  CHECK(cudaMemcpy(result.data(), d, result.size(), cudaMemcpyDeviceToHost));
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t byte : result) hash = (hash ^ byte) * 0x100000001b3;
  printf("%-44s %dx%dx%d %016llx\n", name, m, n, k, (unsigned long long)hash);
  fflush(stdout);
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d), cudaFree(space);
}
using One = Shape<_1, _1, _1>;
using Two = Shape<_2, _1, _1>;
using Four = Shape<_2, _2, _1>;
using Plain = cutlass::gemm::KernelTma;
using Special = cutlass::gemm::KernelTmaWarpSpecialized;
using Pingpong = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using Cooperative = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using Fast = cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum;
using Direct = cutlass::epilogue::NoSmemWarpSpecialized;
using Tail = cutlass::epilogue::TmaWarpSpecialized;
using TailCooperative = cutlass::epilogue::TmaWarpSpecializedCooperative;
int main() {
  using H = cutlass::half_t;
  using B = cutlass::bfloat16_t;
  multiply<H, float, float, Shape<_64, _128, _64>, One, Plain, Direct, void>(
      "f16, no specialisation", 192, 256, 320);
  multiply<H, float, float, Shape<_128, _128, _64>, One, Special, Tail, void>(
      "f16, specialised", 256, 256, 320);
  multiply<H, H, H, Shape<_128, _64, _64>, One, Special, Tail, void>(
      "f16, sums f16", 256, 128, 192);
  multiply<H, float, H, Shape<_64, _128, _64>, Two, Pingpong, Tail, void>(
      "f16, pingpong, cluster 2x1", 256, 256, 256);
  multiply<B, float, float, Shape<_128, _128, _64>, Four, Cooperative, TailCooperative, void>(
      "bf16, cooperative, cluster 2x2", 256, 256, 256);
  multiply<B, float, float, Shape<_128, _128, _64>, Two, Cooperative, TailCooperative,
           cutlass::gemm::StreamKScheduler>(
      "bf16, stream-K, cluster 2x1", 256, 384, 1024);
  multiply<cutlass::tfloat32_t, float, float, Shape<_128, _128, _32>, One, Cooperative, TailCooperative, void>(
      "tf32, cooperative", 256, 128, 96);
  multiply<cutlass::float_e4m3_t, float, float, Shape<_128, _128, _128>, One, Cooperative, TailCooperative, void>(
      "e4m3, cooperative", 256, 128, 384);
  multiply<cutlass::float_e4m3_t, float, float, Shape<_128, _128, _128>, Two, Fast, TailCooperative, void>(
      "e4m3, fast sums, cluster 2x1", 256, 128, 384);
  multiply<int8_t, int32_t, int32_t, Shape<_128, _128, _128>, One, Special, Tail, void>(
      "s8, specialised", 256, 128, 256);
}
